"""Capacity searches against the number that was searched: latency, CPU and heap of every probe, by engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from streamgauge.model.capacity import Capacity, CapacityProbe
from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.report.capacity import headline, unsustainable
from streamgauge.report.draw import Figure, figure, key, line, linear, logarithmic
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table
from streamgauge.report.published import mark_traces, marks_table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.source import Source
from streamgauge.report.text import NONE, number, rounded
from streamgauge.report.timeline import Point, engine_cpu, engine_heap_mb, extent, within
from streamgauge.search_axis import SearchAxis
from streamgauge.study import Mark

JUDGED = ("sustained", "not sustained", "undecided")

_DASHES: tuple[tuple[Literal["p50", "p99"], str], ...] = (("p50", "solid"), ("p99", "dash"))

Levels = tuple[float, float, float]
"""Lowest, mean and highest."""
Used = Mapping[str, Levels | None]
"""``cpu`` and ``heap`` in the measured interval of a probe."""


@dataclass(frozen=True)
class Search:
    """The search of one engine."""

    result: ExperimentResult
    capacity: Capacity
    probes: Sequence[CapacityProbe]
    """Those that say something about their value."""
    used: Mapping[str, Used]
    """By the probe's directory."""

    @classmethod
    def of(cls, result: ExperimentResult, capacity: Capacity) -> Search:
        probes = [probe for probe in capacity.probes if probe.verdict in JUDGED]
        return cls(result, capacity, probes, {probe.directory: _used(result.probe_source(probe)) for probe in probes})

    @property
    def by_value(self) -> list[CapacityProbe]:
        """Of several probes at one value the last: the repeated one, or the confirming run."""
        last = {probe.value: probe for probe in self.probes}
        return [last[value] for value in sorted(last)]

    @property
    def timed(self) -> list[CapacityProbe]:
        return [probe for probe in self.by_value if (probe.total_p50 or 0) > 0]

    def levels(self, name: str) -> list[tuple[CapacityProbe, Levels]]:
        used = ((probe, self.used[probe.directory][name]) for probe in self.by_value)
        return [(probe, levels) for probe, levels in used if levels is not None]


def sweep(context: Context, marks: Sequence[Mark]) -> list[Panel]:
    """Latency, CPU and heap against what was searched; what each engine sustained; then every probe of each.

    ``marks`` are what the paper's systems sustained: they stand along the foot of the figure of latency.
    """
    measured = [result for result in context.results if result.has_result]
    searches = [Search.of(result, result.capacity) for result in measured if result.capacity is not None]
    plots = _latency_plot(context, [search for search in searches if search.timed], marks)
    for name, title, digits in (("cpu", "CPU of the engine (cores)", 2), ("heap", "Heap in use (MB)", 0)):
        known = [search for search in searches if search.levels(name)]
        if known:
            drawn, words = _levels(context, known, name, title), _level_words(known, name, title, digits)
            plots.append(Plot(f"{context.id}-{name}", title, drawn, words, 17.0, wide=False))
    together = [Panel(plots=plots, tables=[_capacity_table(searches)])] if searches else []
    own = [search_panel(search) for search in searches]
    return [*together, *own, Panel(tables=marks_table(context.exhibit.marks))]


def search_panel(search: Search) -> Panel:
    """One search with its probes."""
    result = search.result
    return Panel(
        title=f"{result.title}: {headline(search.capacity)[1]}",
        verdict=result.verdict,
        why=result.why,
        tables=[_probe_table(search)] if search.capacity.probes else [],
    )


def _used(source: Source | None) -> Used:
    if source is None:
        return {"cpu": None, "heap": None}
    return {"cpu": _extent(source, engine_cpu), "heap": _extent(source, engine_heap_mb)}


def _extent(source: Source, series: Callable[[Source, int], list[Point]]) -> Levels | None:
    measured = next((phase for phase in source.phases if phase.name == "measured"), None)
    start_ns = source.outcome.load_start_ns
    if measured is None or start_ns is None:
        return None
    return extent(within(series(source, start_ns), measured.from_s, measured.to_s))


def _latency_plot(context: Context, searches: Sequence[Search], marks: Sequence[Mark]) -> list[Plot]:
    if not searches:
        return []
    traces = []
    for search in searches:
        color, probes = context.color(search.result), search.timed
        values = [probe.value for probe in probes]
        for name, dash in _DASHES:
            latencies = [probe.total(name) for probe in probes]
            drawn = line(f"{context.name(search.result)} {name}", values, latencies, color, "ms", dash=dash)
            marker = {"color": color, "size": 9, "symbol": _symbols(probes)}
            traces.append({**drawn, "mode": "lines+markers", "marker": marker})
    y_axis = logarithmic(f"{LATENCY_NAMES['total']} (ms)", [value for trace in traces for value in trace["y"]])
    low, high = y_axis["range"]
    theirs: list[tuple[Mark, float | str, float]] = [
        (mark, mark.value, 10 ** (low + 0.05 * (high - low))) for mark in marks
    ]
    probed = [probe.value for search in searches for probe in search.probes]
    x_axis = logarithmic(_unit(searches), [*probed, *(mark.value for mark, _, _ in theirs)])
    shapes, keys = _zones(context, searches, x_axis["range"])
    return [
        Plot(
            f"{context.id}-latency",
            "Latency",
            figure(
                [*traces, *keys, *mark_traces(context, theirs)],
                x_axis,
                y_axis,
                shapes=shapes,
                hovermode="closest",
            ),
            _latency_words(searches, marks),
            24.0,
        )
    ]


def _symbols(probes: Iterable[CapacityProbe]) -> list[str]:
    return ["circle" if probe.verdict == "sustained" else "x" for probe in probes]


def _unit(searches: Sequence[Search]) -> str:
    return next((search.capacity.unit for search in searches), "records/s")


def _zones(context: Context, searches: Sequence[Search], x_range: Sequence[float]) -> tuple[list[Figure], list[Figure]]:
    """Where each engine no longer keeps up, shaded in its colour, and what the legend calls that."""
    shapes, keys = [], []
    for search in searches:
        color = context.color(search.result)
        for zone in unsustainable(search.capacity, search.probes, x_range):
            shapes.append({**zone, "fillcolor": color, "opacity": 0.1})
            keys.append(key(f"{search.result.engine}: not sustained", color, "square", opacity=0.25))
    return shapes, keys


def _levels(context: Context, searches: Sequence[Search], name: str, title: str) -> Figure:
    """The mean of each probe, with a whisker from its lowest to its highest second."""
    traces = []
    for search in searches:
        color, points = context.color(search.result), search.levels(name)
        values = [probe.value for probe, _ in points]
        means = [round(mean, 3) for _, (_, mean, _) in points]
        traces.append(
            {
                **line(context.name(search.result), values, means, color, ""),
                "mode": "lines+markers",
                "error_y": {
                    "type": "data",
                    "symmetric": False,
                    "array": [round(high - mean, 3) for _, (_, mean, high) in points],
                    "arrayminus": [round(mean - low, 3) for _, (low, mean, _) in points],
                    "color": color,
                    "thickness": 1.2,
                },
                "marker": {"color": color, "size": 9, "symbol": _symbols(probe for probe, _ in points)},
                "hovertemplate": "%{y:,.5~g} at %{x:,}",
            }
        )
    x_axis = logarithmic(_unit(searches), [value for trace in traces for value in trace["x"]])
    shapes, _ = _zones(context, searches, x_axis["range"])
    return figure(traces, x_axis, linear(title), shapes=shapes, hovermode="closest")


_MARKS_WORDS = " Open symbols at the foot are what the paper's systems sustained on the paper's machines."


def _latency_words(searches: Sequence[Search], marks: Sequence[Mark]) -> str:
    parts = []
    for search in searches:
        result = search.result
        sustained = [probe for probe in search.timed if probe.verdict == "sustained"]
        words = f"{result.engine}: {headline(search.capacity)[1]}"
        if sustained:
            best = sustained[-1 if SearchAxis.of_file(search.capacity).more_is_harder else 0]
            words += f", there p50 {rounded(best.total_p50)} ms and p99 {rounded(best.total_p99)} ms"
        parts.append(words + ("" if result.usable else f" ({result.verdict}, do not use)"))
    return (
        f"{'; '.join(parts)}. One marker per probe, of several at one value the last; a cross was not sustained. "
        f"Shaded from an engine's edge on: not sustained.{_MARKS_WORDS if marks else ''}"
    )


def _level_words(searches: Sequence[Search], name: str, title: str, digits: int) -> str:
    parts = []
    for search in searches:
        points = search.levels(name)
        ends = dict.fromkeys(
            f"{number(levels[1], digits)} at {number(probe.value)}" for probe, levels in (points[0], points[-1])
        )
        parts.append(f"{search.result.engine} {' and '.join(ends)}")
    return f"{title}: mean of {'; '.join(parts)}. Whiskers: lowest and highest second of the probe."


def _capacity_table(searches: Sequence[Search]) -> Table:
    """What each engine sustained, side by side."""
    unit = _unit(searches)
    head = [
        "engine",
        f"sustained, {unit}",
        f"not sustained, {unit}",
        "confirmed",
        "probes",
        "seconds",
        "rule",
        "verdict",
    ]
    rows = []
    for search in searches:
        result, capacity = search.result, search.capacity
        best, beyond = capacity.interval
        rows.append(
            Row(
                [
                    result.engine,
                    number(best),
                    number(beyond),
                    "yes" if capacity.confirmed else "no",
                    number(len(capacity.probes)),
                    number(capacity.seconds),
                    capacity.rule or NONE,
                    result.verdict,
                ],
                muted=not result.usable,
            )
        )
    note = (
        "The capacity lies between the hardest value that was sustained and the easiest that was not; – : the "
        "search did not come to that edge. Seconds are those of all probes together."
    )
    return Table("Capacity of each engine", head, rows, frozenset({1, 2, 4, 5}), note)


def _probe_table(search: Search) -> Table:
    result = search.result
    head = [search.capacity.unit, "purpose", "verdict", "p50, ms", "p99, ms"]
    head += ["CPU, cores: min / mean / max", "heap, MB: min / mean / max", "reason"]
    rows = []
    for probe in search.capacity.probes:
        used = search.used.get(probe.directory, {})
        rows.append(
            Row(
                [
                    number(probe.value),
                    probe.purpose,
                    probe.verdict + (" (weak)" if probe.weak else ""),
                    number(probe.total_p50, 1),
                    number(probe.total_p99, 1),
                    _three(used.get("cpu"), 2),
                    _three(used.get("heap"), 0),
                    probe.reason,
                ],
                muted=probe.verdict not in JUDGED or not result.usable,
            )
        )
    return Table("Probes, in the order in which they ran (end-to-end latency)", head, rows, frozenset({0, 3, 4, 5, 6}))


def _three(levels: Levels | None, digits: int) -> str:
    return number(None) if levels is None else " / ".join(number(level, digits) for level in levels)
