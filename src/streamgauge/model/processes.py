"""What to start, when it is usable, and how to stop it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

Group = Literal["engine", "broker", "load", "evaluate"]
TRANSPORT_GROUP: Final = "broker"
"""The group of the transport's servers, as named in the files of a run."""


@dataclass(frozen=True)
class Ready:
    """The event that makes a started process *usable*.

    ``event``: the process prints a JSON line with that ``event`` on stdout; ``log``: a log line matches the regular
    expression; ``port``: ``host:port`` accepts a connection; ``http``: the URL answers 200; ``file``: the file exists
    and is not empty; ``started``: nothing to wait for.
    """

    kind: Literal["started", "event", "log", "port", "http", "file"] = "started"
    value: str = ""
    timeout_s: float = 60.0


@dataclass(frozen=True)
class Stop:
    """How a process is asked to end before it is killed: a signal, or the end of its standard input."""

    kind: Literal["terminate", "stdin"] = "terminate"
    grace_s: float = 15.0
    exit_codes: tuple[int, ...] = (0,)
    """The exit codes of a clean stop; 143 if the signal itself ends it, as with a JVM without a handler."""


@dataclass(frozen=True)
class Member:
    """A role below a started process, for processes that the system under test starts itself.

    It consists of the descendants that have ``argument`` on their command line, and all descendants of those. ``logs``
    is a pattern for the files that they write; these become the log of the role.
    """

    role: str
    argument: str
    logs: str = ""


@dataclass(frozen=True)
class ProcessSpec:
    """One process to start. ``role`` is unique in a run; resource usage is summed by ``group``.

    ``files`` (path → text) are written with mode 0600 before the start. ``once`` marks a process that must end with
    code 0 before the next one starts (formatting, submitting). ``watches`` marks a process that only observes the
    system under test: its failure is not a failure of the system. ``keeps_environment`` marks a user's program, which
    gets the environment unchanged; for others see ``streamgauge.environment``. ``members`` are sampled separately, and
    a fault can act on one of them alone. ``part_of`` is a role that several processes have in common: a fault of that
    role acts on all of them, and starts them again in the plan's order. ``ready_again`` replaces ``ready`` after a
    restart: other processes are usable then that were not at the first start. ``side_by_side`` marks a process that is
    not awaited before the next one starts: they are awaited together. ``node`` marks a process that, with its members,
    is one of the nodes over which the system under test spreads its work. ``memory_max_mb`` limits the memory of the
    process and its descendants, where the system permits it; 0: no limit.
    """

    role: str
    group: Group
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[Path, str] = field(default_factory=dict)
    ready: Ready = Ready()
    stop: Stop = Stop()
    once: bool = False
    watches: bool = False
    keeps_environment: bool = False
    members: tuple[Member, ...] = ()
    part_of: str = ""
    ready_again: Ready | None = None
    side_by_side: bool = False
    node: bool = False
    memory_max_mb: int = 0

    @property
    def own_roles(self) -> tuple[str, ...]:
        """Its own role and those of its members: every process of its session has one of these."""
        return (self.role, *(member.role for member in self.members))

    @property
    def roles(self) -> tuple[str, ...]:
        """The roles that a fault may name for it."""
        return (*self.own_roles, self.part_of) if self.part_of else self.own_roles
