"""``streamgauge compare --json``: two measurements of the same thing against each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from streamgauge.model.capacity import Interval
from streamgauge.model.manifest import EngineDescription
from streamgauge.model.summary import EngineUsed
from streamgauge.stored import AtLeastOne, Number, Stored

FORMAT = 1

Word = Literal["faster", "slower", "same", "cannot tell"]


class ComparedRuns(Stored):
    """One of the two sides."""

    path: str
    engine: EngineUsed
    runs: Sequence[str]
    values: Sequence[Number]
    median: Number


class ComparedSearches(Stored):
    """One of the two sides, where capacities are compared."""

    path: str
    engine: EngineDescription | None
    """None where no probe was kept that tells."""
    searches: Sequence[str]
    values: Sequence[Number]
    """The best sustained value of each search."""
    median: Number
    brackets: Sequence[Interval]


class Comparison(Stored):
    """B against A."""

    format: int = FORMAT
    measure: str
    word: Word
    ratio: Number
    """B's cost divided by A's: above 1, B is worse."""
    interval: tuple[Number | None, Number | None]
    """Of the ratio, 95 %; None where an end is not known."""
    seed: int
    runs_needed: AtLeastOne | None
    """About how many runs or searches a side would decide; None where none would, or where these do."""
    notes: Sequence[str]
    a: ComparedRuns | ComparedSearches
    b: ComparedRuns | ComparedSearches
