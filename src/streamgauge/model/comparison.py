"""``streamgauge compare --json``: a comparison of two measurements of the same thing."""

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
    """One of the two sides of a comparison of capacities."""

    path: str
    engine: EngineDescription | None
    """None if no stored probe shows it."""
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
    """95 % confidence interval of the ratio; None if an end is unknown."""
    seed: int
    runs_needed: AtLeastOne | None
    """About how many runs or searches per side would be decisive; None if no number would, or these already are."""
    notes: Sequence[str]
    a: ComparedRuns | ComparedSearches
    b: ComparedRuns | ComparedSearches
