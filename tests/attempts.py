"""Repeats runs that the machine invalidated, and counts them: with many INVALID runs, passing tests show little."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

ATTEMPTS = 3
MOST_INVALID = 0.5
"""The share of runs that may be repeated in a session."""
FEW = 4
"""Always allowed: in a handful of runs, one exceeds the share."""
LOCK = Path(__file__)
"""A file that all workers share."""

T = TypeVar("T")


@dataclass
class Runs:
    """The runs of this session, and the tests that had to repeat one."""

    total: int = 0
    invalid: list[str] = field(default_factory=list)

    def summary(self) -> str:
        if not self.invalid:
            return f"{self.total} runs, none was INVALID"
        tests = ", ".join(sorted(set(self.invalid)))
        return f"{self.total} runs, {len(self.invalid)} of them INVALID and repeated: {tests}"

    def problem(self) -> str | None:
        """Why the session must fail, if at all."""
        if len(self.invalid) <= FEW or len(self.invalid) <= MOST_INVALID * self.total:
            return None
        return (
            f"more than {MOST_INVALID:.0%} of the runs were INVALID: "
            "run the tests with nothing else on the machine; if they still are, look for what became slower"
        )


RUNS = Runs()
"""The runs of this session."""


def until_valid(
    run: Callable[[int], T], is_invalid: Callable[[T], bool], attempts: int = ATTEMPTS, runs: Runs = RUNS
) -> T:
    """The result of ``run``, called with 0, 1, … until it is not INVALID; the last one if all were.

    While a run is repeated, other workers start none.

    With a single attempt, the test is about an INVALID run.
    """
    for attempt in range(attempts):
        runs.total += 1
        with _machine(alone=attempt > 0):
            returned = run(attempt)
        if attempts == 1 or not is_invalid(returned):
            break
        runs.invalid.append(os.environ.get("PYTEST_CURRENT_TEST", "?").partition(" ")[0].rpartition("::")[2])
    return returned


@contextmanager
def _machine(*, alone: bool) -> Iterator[None]:
    """Hold the machine, alone or shared with the runs of other workers."""
    with LOCK.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
