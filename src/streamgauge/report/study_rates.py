"""The figure of sustainable throughput: latency, CPU and heap of every probe against its rate, engines side by side."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from streamgauge.model.capacity import Capacity, CapacityProbe
from streamgauge.report.capacity import headline, unsustainable
from streamgauge.report.draw import Figure, figure, label, line, linear, logarithmic
from streamgauge.report.source import Source
from streamgauge.report.study_parts import (
    RATE,
    Context,
    Panel,
    Plot,
    Point,
    Row,
    Table,
    engine_cpu,
    engine_heap_mb,
    extent,
    marks_table,
    paper_marks,
    within,
)
from streamgauge.report.study_source import ExperimentResult
from streamgauge.report.text import NONE, number, rounded
from streamgauge.studies.description import Mark

JUDGED = ("sustained", "not sustained", "undecided")

_DASHES: tuple[tuple[Literal["p50", "p99"], str], ...] = (("p50", "solid"), ("p99", "dash"))

Levels = tuple[float, float, float]
"""Lowest, mean and highest."""
Used = Mapping[str, Levels | None]
"""``cpu`` and ``heap`` in the measured interval of a probe."""


@dataclass(frozen=True)
class Search:
    """The search of one engine."""

    taken: ExperimentResult
    capacity: Capacity
    probes: Sequence[CapacityProbe]
    """Those that say something about their rate."""
    used: Mapping[str, Used]
    """By the probe's directory."""

    @classmethod
    def of(cls, taken: ExperimentResult, capacity: Capacity) -> Search:
        probes = [probe for probe in capacity.probes if probe.verdict in JUDGED]
        return cls(taken, capacity, probes, {probe.directory: _used(taken.probe_source(probe)) for probe in probes})

    @property
    def by_rate(self) -> list[CapacityProbe]:
        """Of several probes at one rate the last: the repeated one, or the confirming run."""
        found = {probe.value: probe for probe in self.probes}
        return [found[value] for value in sorted(found)]

    @property
    def timed(self) -> list[CapacityProbe]:
        return [probe for probe in self.by_rate if (probe.total_p50 or 0) > 0]

    def levels(self, name: str) -> list[tuple[CapacityProbe, Levels]]:
        found = ((probe, self.used[probe.directory][name]) for probe in self.by_rate)
        return [(probe, levels) for probe, levels in found if levels is not None]


def rate_sweep(context: Context) -> list[Panel]:
    """Latency, CPU and heap against the rate; what each engine sustained; then every probe of each."""
    searches = [Search.of(taken, taken.capacity) for taken in context.taken if taken.has_result and taken.capacity]
    plots = _latency_plot(context, [search for search in searches if search.timed])
    for name, title, digits in (("cpu", "CPU of the engine (cores)", 2), ("heap", "Heap in use (MB)", 0)):
        known = [search for search in searches if search.levels(name)]
        if known:
            drawn, words = _levels(context, known, name, title), _level_words(known, name, title, digits)
            plots.append(Plot(f"{context.id}-{name}", title, drawn, words, 17.0, wide=False))
    together = [Panel(plots=plots, tables=[_capacity_table(searches)])] if searches else []
    own = [_panel(search) for search in searches]
    return [*together, *own, Panel(tables=marks_table(context.exhibit.marks))]


def _panel(search: Search) -> Panel:
    taken = search.taken
    return Panel(
        title=f"{taken.title}: {headline(search.capacity)[1]}",
        verdict=taken.verdict,
        why=taken.why,
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


def _latency_plot(context: Context, searches: Sequence[Search]) -> list[Plot]:
    if not searches:
        return []
    traces = []
    for search in searches:
        color, probes = context.color(search.taken), search.timed
        rates = [probe.value for probe in probes]
        for name, dash in _DASHES:
            latencies = [probe.total(name) for probe in probes]
            drawn = line(f"{context.name(search.taken)} {name}", rates, latencies, color, "ms", dash=dash)
            marker = {"color": color, "size": 9, "symbol": _symbols(probes)}
            traces.append({**drawn, "mode": "lines+markers", "marker": marker})
    y_axis = logarithmic("total latency (ms)", [value for trace in traces for value in trace["y"]])
    low, high = y_axis["range"]
    # The paper's rates stand along the foot of the figure.
    theirs: list[tuple[Mark, float | str, float]] = [
        (mark, mark.value, 10 ** (low + 0.05 * (high - low)))
        for mark in context.exhibit.marks
        if mark.what.startswith(RATE) and mark.variant in {search.taken.variant for search in searches}
    ]
    probed = [probe.value for search in searches for probe in search.probes]
    x_axis = logarithmic(_unit(searches), [*probed, *(mark.value for mark, _, _ in theirs)])
    shapes, notes = _zones(context, searches, x_axis["range"])
    return [
        Plot(
            f"{context.id}-latency",
            "Latency",
            figure(
                [*traces, *paper_marks(context, theirs)],
                x_axis,
                y_axis,
                shapes=shapes,
                annotations=notes,
                hovermode="closest",
            ),
            _latency_words(searches),
            24.0,
        )
    ]


def _symbols(probes: Iterable[CapacityProbe]) -> list[str]:
    return ["circle" if probe.verdict == "sustained" else "x" for probe in probes]


def _unit(searches: Sequence[Search]) -> str:
    return next((search.capacity.unit for search in searches), "records/s")


def _zones(context: Context, searches: Sequence[Search], x_range: Sequence[float]) -> tuple[list[Figure], list[Figure]]:
    """Where each engine no longer sustains the rate: shaded in its colour from there on, with its name at the edge."""
    shapes, notes = [], []
    for place, search in enumerate(searches):
        color = context.color(search.taken)
        for zone in unsustainable(search.capacity, search.probes, x_range)[0]:
            shapes.append({**zone, "fillcolor": color, "opacity": 0.1})
            notes.append(
                {
                    "x": math.log10(zone["x0"]),
                    "xanchor": "left",
                    "yref": "paper",
                    # One below the other: the edges of two engines may lie close together.
                    "y": 0.99 - 0.06 * place,
                    "yanchor": "top",
                    "text": label(f"{search.taken.engine}: not sustained"),
                    "showarrow": False,
                    "font": {"size": 11, "color": color},
                }
            )
    return shapes, notes


def _levels(context: Context, searches: Sequence[Search], name: str, title: str) -> Figure:
    """The mean of each probe, with a whisker from its lowest to its highest second."""
    traces = []
    for search in searches:
        color, points = context.color(search.taken), search.levels(name)
        rates = [probe.value for probe, _ in points]
        means = [round(mean, 3) for _, (_, mean, _) in points]
        traces.append(
            {
                **line(context.name(search.taken), rates, means, color, ""),
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
    x_axis = logarithmic(_unit(searches), [rate for trace in traces for rate in trace["x"]])
    shapes, _ = _zones(context, searches, x_axis["range"])
    return figure(traces, x_axis, linear(title), shapes=shapes, hovermode="closest")


def _latency_words(searches: Sequence[Search]) -> str:
    said = []
    for search in searches:
        taken = search.taken
        sustained = [probe for probe in search.timed if probe.verdict == "sustained"]
        words = f"{taken.engine}: {headline(search.capacity)[1]}"
        if sustained:
            best = sustained[-1]
            words += f", there p50 {rounded(best.total_p50)} ms and p99 {rounded(best.total_p99)} ms"
        said.append(words + ("" if taken.usable else f" ({taken.verdict}, do not use)"))
    return (
        f"{'; '.join(said)}. One marker per probe, of several at one rate the last; a cross was not sustained. Shaded "
        "from an engine's edge on: not sustained. Open symbols at the foot are the rates that the paper's systems "
        "sustained on the paper's machines."
    )


def _level_words(searches: Sequence[Search], name: str, title: str, digits: int) -> str:
    said = []
    for search in searches:
        points = search.levels(name)
        ends = dict.fromkeys(
            f"{number(levels[1], digits)} at {number(probe.value)}" for probe, levels in (points[0], points[-1])
        )
        said.append(f"{search.taken.engine} {' and '.join(ends)}")
    return f"{title}: mean of {'; '.join(said)}. Whiskers: lowest and highest second of the probe."


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
        taken, found = search.taken, search.capacity
        best, beyond = found.interval
        rows.append(
            Row(
                [
                    taken.engine,
                    number(best),
                    number(beyond),
                    "yes" if found.confirmed else "no",
                    number(len(found.probes)),
                    number(found.seconds),
                    found.rule or NONE,
                    taken.verdict,
                ],
                muted=not taken.usable,
            )
        )
    note = (
        "The capacity lies between the highest rate that was sustained and the lowest that was not; – : the "
        "search did not come to that edge. Seconds are those of all probes together."
    )
    return Table("Capacity of each engine", head, rows, frozenset({1, 2, 4, 5}), note)


def _probe_table(search: Search) -> Table:
    taken = search.taken
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
                muted=probe.verdict not in JUDGED or not taken.usable,
            )
        )
    return Table("Probes, in the order in which they ran (total latency)", head, rows, frozenset({0, 3, 4, 5, 6}))


def _three(levels: Levels | None, digits: int) -> str:
    return number(None) if levels is None else " / ".join(number(level, digits) for level in levels)
