"""Every error that reaches a user, one exit code per branch.

::

    StreamgaugeError
    ├── UsageError          2    the command line or a scenario is wrong
    │   └── Unsupported     2    the engine does not run what is asked for
    ├── InvalidMeasurement  3    the run cannot be trusted
    ├── EngineFailed        4    the system under test died or gave wrong answers
    ├── EnvironmentProblem  5    Java, ports, memory, disk, jars, a server that does not answer
    │   └── PortTaken       5    another program took a port between its choice and its use
    └── Interrupted         130  Ctrl-C or SIGTERM

Any other exception is a bug: exit code 70, with the traceback in a file. A closed pipe ends a command silently, with
141.

A message says what happened and, where it helps, where, what was found, what was expected and which command to
try next. The command line prints it without a traceback.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Self

QUOTED_LOG = "\n  last lines of the log:\n"
EXIT_OK = 0
EXIT_MISSED = 1
EXIT_BUG = 70
EXIT_CLOSED_PIPE = 141
"""As of a program that SIGPIPE ends, which Python ignores."""


class StreamgaugeError(Exception):
    """Base of all errors that are meant for the user."""

    exit_code = 5
    got_label = "got"
    role = ""
    """The process that failed, where it was one."""

    def __init__(
        self,
        what: str,
        *,
        where: object = None,
        got: object = None,
        expected: object = None,
        hint: str | None = None,
        log_tail: str | None = None,
    ) -> None:
        self.what = what
        self.where = where
        self.got = got
        self.expected = expected
        self.hint = hint
        self.log_tail = log_tail
        super().__init__(self.message())

    def about(self, subject: object) -> Self:
        """The same error, with what it is about in front."""
        return type(self)(
            f"{subject}: {self.what}",
            where=self.where,
            got=self.got,
            expected=self.expected,
            hint=self.hint,
            log_tail=self.log_tail,
        )

    def message(self) -> str:
        """The whole message, one fact a line."""
        lines = [self.what]
        for name, value in (("where", self.where), (self.got_label, self.got), ("expected", self.expected)):
            if value is not None:
                lines.append(f"  {name}: {value}")
        if self.log_tail:
            lines.append(QUOTED_LOG.strip("\n"))
            lines.extend(f"    {line}" for line in self.log_tail.splitlines())
        if self.hint:
            lines.append(f"  try: {self.hint}")
        return "\n".join(lines)


class UsageError(StreamgaugeError):
    """The command line, a scenario or an option is wrong."""

    exit_code = 2


class Unsupported(UsageError):
    """The engine does not run this workload, or not with these options; ``got`` is its reason."""

    got_label = "because"


class InvalidMeasurement(StreamgaugeError):
    """The run cannot be trusted."""

    exit_code = 3


class EngineFailed(StreamgaugeError):
    """The system under test died, or did not start, or gave wrong answers."""

    exit_code = 4


class EnvironmentProblem(StreamgaugeError):
    """The machine lacks something: Java, a port, memory, disk, a jar, a server that answers."""

    exit_code = 5


class PortTaken(EnvironmentProblem):
    """Another program took a port before the process that it was chosen for."""


class Interrupted(StreamgaugeError):
    """Ctrl-C or SIGTERM."""

    exit_code = 130


def invalid(typed: str, expected: str, hint: str | None = None) -> UsageError:
    """The error for an option with a value that it does not take; ``typed`` is both, as the user typed them."""
    return UsageError(f"invalid {typed}: expected {expected}", hint=hint)


def one_of(names: Iterable[str]) -> str:
    """What a message expects: *one of a, b*, or the only one."""
    listed = [*names]
    return f"one of {', '.join(listed)}" if len(listed) != 1 else listed[0]


def nearest(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Known names that are similar to this one, best first; if there are none, those that contain it."""
    by_lower, name = {one.lower(): one for one in known}, name.lower()
    near = difflib.get_close_matches(name, by_lower, n=most, cutoff=0.5)
    near = near or [one for one in by_lower if len(name) > 1 and name in one][:most]
    return [by_lower[one] for one in near]
