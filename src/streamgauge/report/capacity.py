"""The page of a capacity search: the answer first, latency against rate, every probe. That of a set: every search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from streamgauge.errors import UsageError
from streamgauge.model.capacity import NAME, Capacity, CapacityProbe, CapacitySet, Searched, SearchRow, read
from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.report import text
from streamgauge.report.draw import Figure, figure, key, line, logarithmic
from streamgauge.report.layout import Head, build, write_whole
from streamgauge.report.tables import measured_on
from streamgauge.rundir import RunDir
from streamgauge.search_axis import SearchAxis

_STYLES = {"found": "valid", "ceiling": "valid", "missed": "failed", "invalid": "invalid", None: "invalid"}
_PERCENTILES: tuple[tuple[Literal["p50", "p99"], str], ...] = (("p50", "--s1"), ("p99", "--s2"))


def write_capacity(out: Path) -> Path:
    """Write ``report.html`` beside ``capacity.json``, whole or not at all, and return its path."""
    capacity = read(out / NAME)
    return write_whole(out / "report.html", render(capacity, measured_where(out, capacity)))


def render(capacity: Capacity | CapacitySet, measured: str = "") -> str:
    """The whole page; ``measured`` says when and on which machine. The same search gives the same bytes."""
    verdict, sentence = headline(capacity)
    head = Head(
        kind=f"capacity, {capacity.runs} searches" if isinstance(capacity, CapacitySet) else "capacity",
        title=f"{verdict} · capacity of {capacity.engine} · {capacity.scenario}",
        heading=capacity.engine,
        word=verdict,
        meaning=f"{sentence}.",
        style="failed" if verdict == "FAILED" else _STYLES.get(capacity.outcome, "invalid"),
        footer=f"capacity.json format {capacity.format}",
    )
    drawn = None if isinstance(capacity, CapacitySet) else latency_against_value(capacity)
    more: dict[str, Any] = {}
    if isinstance(capacity, CapacitySet):
        more["searches"] = [(search, bracket(search, capacity)) for search in capacity.searches]
    return build(
        "capacity.html.j2",
        head,
        {} if drawn is None else {"latency": drawn},
        capacity=capacity,
        latency_name=LATENCY_NAMES["total"],
        measured_on=measured,
        **more,
    )


def measured_where(out: Path, capacity: Capacity | CapacitySet) -> str:
    """By the first probe that was kept; empty where none was."""
    if isinstance(capacity, CapacitySet):
        first = next(iter(capacity.searches), None)
        found = out / first.directory / NAME if first is not None else None
        return "" if found is None or not found.is_file() else measured_where(found.parent, read(found))
    for probe in capacity.probes:
        try:
            run = RunDir.open(out / probe.directory)
            return measured_on(run.manifest(), run.outcome() if run.outcome_path.is_file() else None)
        except (UsageError, OSError):
            continue
    return ""


def headline(capacity: Capacity | CapacitySet) -> tuple[str, str]:
    """One word and one sentence, of a search or of a set of them."""
    outcome = capacity.outcome
    if outcome in ("found", "ceiling"):
        return "FOUND", _median(capacity) if isinstance(capacity, CapacitySet) else bracket(capacity, capacity)
    if isinstance(capacity, CapacitySet):
        return _of_unusable_set(capacity)
    if outcome == "missed":
        return "MISSED", f"nothing is sustained, not even {capacity.interval[1]:,} {capacity.unit}"
    if outcome == "invalid":
        return "INVALID", "the measurements cannot be trusted"
    if capacity.note:
        return "FAILED", "the system under test failed"
    return "UNFINISHED", "the search has not come to its end"


def bracket(search: Capacity | SearchRow, capacity: Searched) -> str:
    """What a search found, by its file or by its row in that of several. ``capacity`` says what was searched."""
    best, beyond = search.interval
    if best is None:
        unfinished = "FAILED" if search.note else "not finished"
        return {"missed": "nothing is sustained", "invalid": "INVALID"}.get(search.outcome or "", unfinished)
    if beyond is not None:
        return f"{best:,} {capacity.unit} sustained, {beyond:,} not ({_checked(search)})"
    return f"{_at_least(capacity)} {best:,} {capacity.unit} sustained ({_checked(search)}), the edge was not reached"


def _median(capacity: CapacitySet) -> str:
    """Of a set whose searches all found something."""
    of_edge = "" if capacity.outcome == "found" else f"{_at_least(capacity)} "
    ends = capacity.interval.best
    interval = f", 95 % interval {text.rounded(ends[0])} to {text.rounded(ends[1])}" if ends else ""
    searches = f"median of {len(capacity.searches)} searches{interval}"
    best = text.rounded(capacity.median)
    return f"{of_edge}{best} {capacity.unit} sustained, {searches} ({_checked(capacity)})"


def _of_unusable_set(capacity: CapacitySet) -> tuple[str, str]:
    outcome, listed = capacity.outcome, capacity.searches
    if outcome is None:
        done = sum(search.outcome is not None for search in listed)
        return "UNFINISHED", f"{done} of {capacity.runs} searches have come to their end"
    bad = ", ".join(search.directory for search in listed if search.outcome == outcome)
    if outcome == "missed":
        return "MISSED", f"nothing is sustained in search {bad}"
    return "INVALID", f"the measurements of search {bad} cannot be trusted"


def _at_least(capacity: Searched) -> str:
    return "at least" if SearchAxis.of_file(capacity).more_is_harder else "at most"


def _checked(capacity: Capacity | CapacitySet | SearchRow) -> str:
    """Whether the answer was confirmed, and whether the results were checked, where that is known."""
    confirmed, validated = "confirmed" if capacity.confirmed else "not confirmed", capacity.validated
    if validated is None:
        return confirmed
    return f"{confirmed}, {'validated' if validated else 'unvalidated: no reference'}"


def latency_against_value(capacity: Capacity) -> Figure | None:
    """p50 and p99 of every probe that has them, and the zone shaded in which nothing is sustained."""
    shown = [p for p in capacity.probes if p.verdict in ("sustained", "not sustained", "undecided")]
    # Of several probes at one value the last: the repeated one, or the confirming run.
    last = {p.value: p for p in shown if (p.total_p50 or 0) > 0}
    timed = [last[value] for value in sorted(last)]
    if not timed:
        return None
    values = [p.value for p in timed]
    traces = []
    for name, color in _PERCENTILES:
        latencies = [p.total(name) for p in timed]
        symbols = ["circle" if p.verdict == "sustained" else "x" for p in timed]
        trace = line(name, values, latencies, color, "ms")
        traces.append({**trace, "mode": "lines+markers", "marker": {"color": color, "size": 9, "symbol": symbols}})
    unit = capacity.unit
    x_axis = logarithmic(unit, [p.value for p in shown])
    # The searched range is mostly narrower than from one round number to the next.
    wanted = [
        *x_axis["tickvals"],
        max(p.value for p in shown),
        values[0],
        values[-1],
        capacity.interval[0] or values[0],
    ]
    ticks = _apart(wanted, x_axis["range"])
    x_axis |= {"tickvals": ticks, "ticktext": [f"{tick:,.10g}" for tick in ticks], "tickangle": 0}
    zones = unsustainable(capacity, shown, x_axis["range"])
    y_axis = logarithmic(f"{LATENCY_NAMES['total']} (ms)", [v for trace in traces for v in trace["y"]])
    named = [key("not sustained", "--band", "square") for _ in zones]
    return figure([*traces, *named], x_axis, y_axis, shapes=zones, hovermode="closest")


def _apart(values: Sequence[float], x_range: Sequence[float]) -> list[float]:
    """Those that leave room for their labels, later ones before earlier ones; sorted."""
    least = 0.18 * (x_range[1] - x_range[0])
    shown: list[float] = []
    for value in reversed(values):
        if all(abs(math.log10(value) - math.log10(other)) >= least for other in shown):
            shown.append(value)
    return sorted(shown)


def unsustainable(capacity: Capacity, shown: Sequence[CapacityProbe], x_range: Sequence[float]) -> list[Figure]:
    """The zone beyond the edge as a shape; nothing while no probe has failed."""
    failed = [p.value for p in shown if p.verdict != "sustained"]
    beyond = capacity.interval[1]
    if beyond is None and not failed:
        return []
    upwards = SearchAxis.of_file(capacity).more_is_harder
    edge = beyond if beyond is not None else min(failed) if upwards else max(failed)
    ends = (edge, 10 ** x_range[1]) if upwards else (10 ** x_range[0], edge)
    zone = {
        "type": "rect",
        "layer": "below",
        "yref": "paper",
        "x0": ends[0],
        "x1": ends[1],
        "y0": 0,
        "y1": 1,
        "fillcolor": "--band",
        "line": {"width": 0},
    }
    return [zone]
