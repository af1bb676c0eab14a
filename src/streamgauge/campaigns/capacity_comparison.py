"""Capacities against each other: by their searches, as latencies are compared by their runs.

The value of a search is its best sustained one, which was measured and confirmed. Its bracket is the resolution
of the search, not the variation of the capacity: the interval comes from several searches, and fewer than three a side
are not enough.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge import identity
from streamgauge.campaigns.capacity_file import completed
from streamgauge.campaigns.comparison import DECIMALS, IGNORED, check_alike, script_notes
from streamgauge.errors import UsageError
from streamgauge.evaluate import comparison
from streamgauge.identity import Ignored
from streamgauge.model import capacity
from streamgauge.model.capacity import NAME, Capacity
from streamgauge.model.comparison import FORMAT, ComparedSearches, Comparison
from streamgauge.rundir import RunDir
from streamgauge.search_axis import SearchAxis

IGNORED_OF_PROBES: Ignored = {**IGNORED, "scenario.load": "a search chooses rates and lengths itself"}
IGNORED_SETTINGS: Ignored = {
    "engine": "engines and their options are what one compares",
    "options": "as above",
    "program": "is the engine",
    "program_files": "as above",
    "script": "another script in the workload's place may be compared with it",
    "profile": "only presets values, which are compared themselves",
    "start": "is the searched value of the scenario",
    "from": "only bounds the search",
    "to": "as above",
    "bootstrap": "the transport is compared by what its probes ran on",
    "load_master": "where the load came from does not matter, as long as it was in time",
    "streamgauge": "versions may be compared",
    **{f"machine.{key}": "is compared by what the probes ran on" for key in identity.MACHINE},
}


@dataclass(frozen=True)
class Search:
    """One finished search."""

    path: Path
    content: Capacity

    @property
    def axis(self) -> SearchAxis:
        return SearchAxis.of_file(self.content)

    @property
    def best(self) -> float:
        return float(self.content.interval[0] or 0)

    @property
    def is_open(self) -> bool:
        """Whether the edge lies beyond what could be probed."""
        return self.content.interval[1] is None

    @property
    def settings(self) -> dict[str, Any]:
        """Everything that was asked for, and the unit."""
        content = self.content
        beside = {"unit": content.unit, "over": content.over, "rule": content.rule, "slo": list(content.slo)}
        return completed({**beside, "resolution": content.resolution, **content.settings})


def is_capacity(path: Path) -> bool:
    """Whether a search, or a set of them, lies there."""
    return (path / NAME).is_file()


def compare_capacities(a: Path, b: Path, seed: int = comparison.SEED) -> Comparison:
    """B against A: two searches, or sets of them.

    Returns ratio, interval (of at least three searches a side, else unknown), word and every value. Raises UsageError
    for searches that are unfinished, unconfirmed, unvalidated, INVALID, without a sustained value, or not made alike.
    """
    left, right = read_searches(a), read_searches(b)
    _refuse_unusable([*left, *right])
    _check_searched_alike([*left, *right])
    runs = [_any_run(search.path) for search in (*left, *right)]
    known = [run for run in runs if run is not None]
    if known:
        axis = left[0].axis.name
        check_alike(known[0], known[1:], [*IGNORED_OF_PROBES, f"scenario.{axis}", f"scenario.parameters.{axis}"])
    of_a, of_b = ([search.best for search in side] for side in (left, right))
    # To sustain more of what is harder is the lower cost.
    costs = (of_b, of_a) if left[0].axis.more_is_harder else (of_a, of_b)
    searches = min(len(of_a), len(of_b))
    low, high = math.nan, math.nan
    if searches >= comparison.RUNS_MIN:
        low, high = comparison.ratio_interval(*costs, seed, resolution=0)
        low = 0.0 if any(search.is_open for search in right) else low
        high = math.inf if any(search.is_open for search in left) else high
    word = comparison.word(low, high, searches)
    return Comparison(
        format=FORMAT,
        measure=f"capacity, {left[0].content.unit}",
        word=word,
        ratio=round(comparison.ratio(*costs, resolution=0), DECIMALS),
        interval=(_rounded(low), _rounded(high)),
        seed=seed,
        runs_needed=_searches_needed(costs, low, high, seed) if word == "cannot tell" else None,
        notes=_notes(left, right),
        a=_described(a, left),
        b=_described(b, right),
    )


def read_searches(path: Path) -> list[Search]:
    """The searches of a set, or the one search that the directory is. Raises UsageError when it is unfinished."""
    content = capacity.read(path / NAME)
    if isinstance(content, Capacity):
        return [Search(path, content)]
    names = [str(number) for number in range(1, content.runs + 1)]
    if missing := [name for name in names if not (path / name / NAME).is_file()]:
        raise UsageError(
            "the set of searches is not finished",
            where=path,
            got=f"no search {', '.join(missing)}",
            hint="pass the same --out to resume it",
        )
    return [search for name in names for search in read_searches(path / name)]


def _refuse_unusable(searches: Sequence[Search]) -> None:
    bad = [f"{search.path}: {why}" for search in searches if (why := _why_unusable(search))]
    if bad:
        raise UsageError(
            "these capacities cannot be compared",
            got="; ".join(bad),
            expected="finished searches whose answer was confirmed, and whose results were checked",
            hint="streamgauge capacity … --runs 3 with another --out",
        )


def _why_unusable(search: Search) -> str:
    content = search.content
    outcome, note = content.outcome, content.note
    if outcome is None:
        return f"FAILED: {note}" if note else "unfinished (pass the same --out to resume it)"
    if outcome == "invalid":
        return f"INVALID: {note}"
    if outcome == "missed" or not content.interval[0]:
        return "nothing was sustained"
    if not content.confirmed:
        return f"unconfirmed: {note or 'no confirming run'} (try a longer --for)"
    return "" if _is_validated(search) else "unvalidated: the script has no reference"


def _is_validated(search: Search) -> bool:
    """A file of an earlier version lacks it: then its script decides, or the summary of a probe."""
    known = search.content.validated
    if known is None:
        if search.settings.get("script") is None:
            return True
        run = _any_run(search.path)
        known = run is not None and run.summary().validated
    return bool(known)


def _check_searched_alike(searches: Sequence[Search]) -> None:
    first, *others = searches
    left = _comparable(first)
    for other in others:
        right = _comparable(other)
        # What only one of the two has was not known to the version that made the other.
        differing = [key for key in left if key in right and left[key] != right[key]]
        if differing:
            raise UsageError(
                "the capacities were not measured alike",
                where=f"{first.path} and {other.path}",
                got="; ".join(f"{key}: {left.get(key)!r} and {right.get(key)!r}" for key in differing),
                expected="the same values on both sides",
            )


def _comparable(search: Search) -> dict[str, Any]:
    """The settings that must agree: not the value that was searched, whose start does not matter."""
    settings = search.settings
    named = {**settings, **settings["parameters"]}
    return {
        key: value for key, value in named.items() if key not in {*IGNORED_SETTINGS, "parameters", search.axis.name}
    }


def _searches_needed(costs: tuple[list[float], list[float]], low: float, high: float, seed: int) -> int | None:
    if math.isnan(low):
        return comparison.RUNS_MIN
    if not low or math.isinf(high):
        # More searches do not show what lies beyond a ceiling.
        return None
    return comparison.runs_needed(*costs, seed, resolution=0)


def _notes(left: Sequence[Search], right: Sequence[Search]) -> list[str]:
    runs = [_any_run(side[0].path) for side in (left, right)]
    notes = script_notes(*(run.summary() for run in runs if run is not None)) if None not in runs else []
    open_ended = [search for search in (*left, *right) if search.is_open]
    return notes + [f"{search.path}: the capacity may lie beyond {search.best:,.0f}" for search in open_ended]


def _described(path: Path, side: Sequence[Search]) -> ComparedSearches:
    values = [search.best for search in side]
    run = _any_run(side[0].path)
    return ComparedSearches(
        path=str(path),
        engine=None if run is None else run.manifest().engine,
        searches=[str(search.path) for search in side],
        values=values,
        median=statistics.median(values),
        brackets=[search.content.interval for search in side],
    )


def _rounded(end: float) -> float | None:
    return round(end, DECIMALS) if math.isfinite(end) else None


def _any_run(path: Path) -> RunDir | None:
    """A probe of the search, not one that was cut off: they differ in nothing but the load."""
    summaries = sorted(path.glob("probes/*/summary.json"))
    return RunDir.open(summaries[0].parent) if summaries else None
