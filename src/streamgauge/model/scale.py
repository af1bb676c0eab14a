"""``scale.json``: one capacity search for each value of an option of the engine, and what they show together.

Format history
--------------
1   first
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from streamgauge.model.capacity import Searched, SearchedValue, SearchRow, Settings
from streamgauge.stored import CAMPAIGN_HINT, Number, Stored, parse, read_format, write_json

FORMAT = 1
NAME = "scale.json"

ENGINE, RANGE = "engine", "range"
"""What was the limit of a search, beside the *generator* and the server of a transport, by its name."""

Ends = tuple[Number, Number]


class ScalePoint(SearchRow):
    """The search at one value of the option."""

    value: SearchedValue
    limited_by: str | None
    """None while that is not known."""
    efficiency: Number | None
    """Of each unit of the option, against that at the smallest value: 1 where twice as much sustains twice as much."""

    @property
    def best(self) -> float | None:
        return self.interval[0]

    @property
    def is_edge(self) -> bool:
        """Whether the best value is the engine's own limit, and not only a bound."""
        return self.best is not None and self.limited_by == ENGINE

    @property
    def failed(self) -> bool:
        """Whether the system under test failed: such a search stays unfinished."""
        return self.outcome is None and bool(self.note)


class Regression(Stored):
    """The line through the points at which the engine was the limit; intervals from three points on, at 95 %."""

    points: int
    slope: Number
    intercept: Number
    slope_interval: Ends | None
    intercept_interval: Ends | None
    r_squared: Number


class Scale(Searched):
    """All searches."""

    against: str
    """The option of the engine."""
    values: Sequence[SearchedValue]
    state: Literal["finished", "unfinished"]
    points: Sequence[ScalePoint]
    """In the order of the values; those of searches that have begun."""
    regression: Regression | None
    notes: Sequence[str]
    seconds: Number
    settings: Settings


def typed_value(value: float) -> str:
    """A value of the option as it is typed, without losing digits."""
    return str(int(value)) if value == int(value) else repr(value)


def read(path: Path) -> Scale:
    """Raises UsageError if it is damaged or of another format, and FileNotFoundError."""
    read_format(path, FORMAT, CAMPAIGN_HINT)
    return parse(path, path.read_bytes(), Scale, CAMPAIGN_HINT)


def write(path: Path, content: Scale) -> None:
    write_json(path, content.as_json())
