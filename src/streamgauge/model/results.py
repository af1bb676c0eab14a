"""The verdict on a measurement, and what makes a result correct."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """Whether a measurement can be trusted; the value is what the summary prints."""

    VALID = "VALID"
    INVALID = "INVALID"
    FAILED = "FAILED"


class ResultKind(Enum):
    """What makes a result correct, and which inputs it covers (docs/reference/workloads.md)."""

    ONE_TO_ONE = "one-to-one"
    """Each record has one result."""
    FILTER = "filter"
    """Some records have one result, the others none."""
    FINAL_PER_KEY = "final-per-key"
    """The last result of a key counts."""
    RUNNING = "running"
    """Each result of a key covers more records than the one before."""
    NONE = "none"
    """There are no results: every record must be consumed."""

    @property
    def stateful(self) -> bool:
        """Whether a result needs more than one record, so that an engine must keep state."""
        return self in (ResultKind.FINAL_PER_KEY, ResultKind.RUNNING)
