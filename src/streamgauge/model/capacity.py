"""``capacity.json``: the results of a capacity search or a set of them so far, and everything needed to resume it.

Format history
--------------
1   first; ``validated`` of a search and of a probe, ``rate`` and ``rule`` of a probe and ``harder`` were added later
    and may be missing; later a searched value may be a fraction; ``script`` in the settings replaced ``job``. A file
    with ``searches`` combines several searches
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator

from streamgauge.stored import CAMPAIGN_HINT, AtLeastOne, Number, Stored, parse, read_format, write_json

FORMAT = 1
NAME = "capacity.json"

SearchOutcome = Literal["found", "ceiling", "missed", "invalid"]
Purpose = Literal["bracket", "bisect", "repeat", "confirm"]


def _above_zero(value: float) -> float:
    if value <= 0:
        raise ValueError("expected a number above 0")
    return value


SearchedValue = Annotated[Number, AfterValidator(_above_zero)]
Interval = tuple[SearchedValue | None, SearchedValue | None]
"""The best sustained value, and the nearest value that was not sustained."""


def _with_script(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"script" if name == "job" else name: value for name, value in settings.items()}


Settings = Annotated[Mapping[str, Any], AfterValidator(_with_script)]
"""The requested settings. Early files call the script ``job``."""


class CapacityProbe(Stored):
    """One run of a search."""

    value: SearchedValue
    rate: AtLeastOne | None = None
    purpose: Purpose
    verdict: str
    reason: str
    weak: bool
    """Judged by the point estimate, because the rule was inconclusive."""
    rule: str | None = None
    """The rule that decided in the place of the search's own; None: its own."""
    validated: bool | None = None
    seconds: Number
    seconds_saved: Number
    directory: str
    total_p50: Number | None
    total_p99: Number | None

    def total(self, name: Literal["p50", "p99"]) -> float | None:
        return self.total_p50 if name == "p50" else self.total_p99


class BestLatency(Stored):
    p50: Number | None
    p99: Number | None


class Searched(Stored):
    """Shared by a search and a set of searches."""

    format: int = FORMAT
    scenario: str
    engine: str
    rule: str | None
    slo: Sequence[str]
    resolution: Number
    over: str
    """The name of the searched value; see search_axis.py."""
    harder: Literal["more", "less"] | None = None
    """In which direction it becomes harder to sustain; None in early files."""
    unit: str


class Capacity(Searched):
    """One search."""

    outcome: SearchOutcome | None
    """None until the search is finished."""
    interval: Interval
    confirmed: bool
    validated: bool | None = None
    note: str
    best_latency_ms: BestLatency | None
    guess: SearchedValue | None
    probes: Sequence[CapacityProbe]
    seconds: Number
    seconds_saved: Number
    settings: Settings

    @property
    def is_edge(self) -> bool:
        """Whether the engine itself was the limit: no value between the two that were found was INVALID."""
        best, beyond = self.interval
        if self.outcome != "found" or best is None or beyond is None:
            return False
        between = (one for one in self.probes if min(best, beyond) < one.value < max(best, beyond))
        return not any(one.verdict == "invalid" for one in between)


class SearchRow(Stored):
    """A search in the list of its set."""

    directory: str
    outcome: SearchOutcome | None
    interval: Interval
    confirmed: bool
    validated: bool | None = None
    note: str
    best_latency_ms: BestLatency | None = None
    guess: SearchedValue | None = None
    seconds: Number


class MedianInterval(Stored):
    best: tuple[Number, Number] | None
    seed: int | None = None


class CapacitySet(Searched):
    """Several searches for the same capacity."""

    runs: AtLeastOne
    outcome: SearchOutcome | None
    median: Number | None
    interval: MedianInterval
    confirmed: bool
    validated: bool | None = None
    note: str
    searches: Sequence[SearchRow]
    seconds: Number
    settings: Settings


def read(path: Path) -> Capacity | CapacitySet:
    """Raises UsageError if it is damaged or of another format, and FileNotFoundError."""
    if "searches" in read_format(path, FORMAT, CAMPAIGN_HINT):
        return parse(path, path.read_bytes(), CapacitySet, CAMPAIGN_HINT)
    return parse(path, path.read_bytes(), Capacity, CAMPAIGN_HINT)


def write(path: Path, content: Capacity | CapacitySet) -> None:
    write_json(path, content.as_json())
