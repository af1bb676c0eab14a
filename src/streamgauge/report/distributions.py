"""Distributions of latency side by side: a violin for each experiment and engine, or boxes by category."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamgauge.report.draw import WIDE, Figure, figure, label, linear, logarithmic
from streamgauge.report.exhibit import Context, Row, Table, fits, verdict_words
from streamgauge.report.latencies import latency_name
from streamgauge.report.published import mark_traces
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.text import number, rounded
from streamgauge.study import Mark

if TYPE_CHECKING:
    import numpy as np

SAMPLES_ABOVE = 10
"""A percentile is shown when at least this many samples lie above it."""
NOT_SHOWN = f"– : not shown. A percentile needs at least {SAMPLES_ABOVE} samples above it."
FLOOR_MS = 0.5
"""Stamps are whole milliseconds, and a logarithmic axis has no zero: less than this is drawn here."""
HALF_HEIGHT = 0.42
OUTLINE_POINTS = 120
SPREAD = (1, 25, 50, 75, 99)
"""The percentiles that a violin marks."""
BOX = (5, 25, 50, 75, 95)
"""The percentiles of a box and its whiskers."""


@dataclass(frozen=True)
class Distribution:
    """Samples as distinct values, rising, with their counts."""

    values: np.ndarray
    counts: np.ndarray

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    def percentile(self, percent: float, above: int = SAMPLES_ABOVE) -> float | None:
        """Interpolated between the two nearest samples; None unless ``above`` samples lie above it."""
        import numpy as np  # `list` reads every study and draws none

        last = self.count - 1
        place = max(last, 0) * percent / 100
        lower = int(place)
        if last < 0 or last - lower < above:
            return None
        ends = np.cumsum(self.counts)
        low, high = self.values[np.searchsorted(ends, [lower, min(lower + 1, last)], side="right")]
        return float(low + (high - low) * (place - lower))

    def level(self, percent: float) -> float:
        """For drawing, where a few samples are drawn as they are."""
        level = self.percentile(percent, above=0)
        assert level is not None
        return level


@dataclass(frozen=True)
class MeasuredLatency:
    """An experiment that has latencies, whatever its verdict."""

    result: ExperimentResult
    latency: Distribution

    @property
    def system(self) -> str:
        """The engine, and in which of its variants where the study has several dimensions."""
        return ", ".join([self.result.engine, *list(self.result.dimensions.values())[1:]])


def measured_latencies(context: Context) -> list[MeasuredLatency]:
    """Of the study's kind, in the order of each dimension of the exhibit's experiments, then of the engines."""
    kind = context.study.latency
    engines = context.reproduction.engines
    names = list(dict.fromkeys(name for one in context.exhibit.experiments for name in one.dimensions))
    order = {name: context.order(name) for name in names}

    def place(result: ExperimentResult) -> list[int]:
        of_dimensions = [(order[name], result.dimensions.get(name)) for name in names]
        return [values.index(value) if value in values else len(values) for values, value in of_dimensions]

    measured = [
        MeasuredLatency(result, Distribution(*result.source.latency[kind]))
        for result in context.results
        if result.has_result and result.source is not None and kind in result.source.latency
    ]
    return sorted(measured, key=lambda one: (place(one.result), engines.index(one.result.engine)))


def violins(context: Context, measured: Sequence[MeasuredLatency], marks: Sequence[Mark]) -> Figure:
    """A row for each experiment and engine, and the paper's numbers in the rows that they belong to."""
    rows = dict(enumerate(reversed(measured)))
    marked = [(mark, mark.value, float(place)) for mark in marks if (place := _row_of(context, mark, rows)) is not None]
    levels = [one.latency.level(p) for one in measured for p in (0.1, 99.9)] + [value for _, value, _ in marked]
    positive = [max(value, FLOOR_MS) for value in levels]
    wide = max(positive) / min(positive) > WIDE
    traces: list[Figure] = []
    named: set[str] = set()
    for place, one in sorted(rows.items(), reverse=True):
        name = context.name(one.result)
        traces += _violin(one, place, context.color(one.result), name, wide, first=name not in named)
        named.add(name)
    traces += mark_traces(context, [(mark, max(x, FLOOR_MS) if wide else x, y) for mark, x, y in marked])
    title = f"{latency_name(context.study.latency)} (ms)"
    several = len({one.result.engine for one in measured}) > 1
    return figure(
        traces,
        logarithmic(title, positive) if wide else linear(title),
        {
            "tickvals": list(rows),
            "ticktext": [_row_name(one.result, several) for one in rows.values()],
            "range": [-0.6, len(rows) - 0.4],
            "zeroline": False,
            "showgrid": False,
        },
        hovermode="closest",
    )


def _row_of(context: Context, mark: Mark, rows: Mapping[int, MeasuredLatency]) -> int | None:
    """The row of its engine; where that was not measured, the first one of its experiment."""
    fitting = {one.result.engine: place for place, one in rows.items() if fits(mark.dimensions, one.result.dimensions)}
    return fitting.get(context.counterpart(mark) or "", max(fitting.values(), default=None))


def _row_name(result: ExperimentResult, several: bool) -> str:
    first, *rest = result.dimensions.values() or [result.name]
    below = [*rest, result.engine] if several else rest
    return f"<b>{label(first)}</b>" + (f"<br>{label(', '.join(below))}" if below else "")


def _violin(one: MeasuredLatency, place: int, color: str, name: str, wide: bool, first: bool) -> list[Figure]:
    x, density = _outline(one.latency, wide)
    levels = [one.latency.level(p) for p in SPREAD]
    p1, p25, p50, p75, p99 = (max(level, FLOOR_MS) if wide else level for level in levels)
    words = " · ".join(f"p{p} {rounded(level)}" for p, level in zip(SPREAD, levels, strict=True))
    hover = f"{label(one.result.title)} ({one.result.verdict})<br>{words} ms<extra></extra>"
    common = {"type": "scatter", "legendgroup": name, "showlegend": False, "hovertemplate": hover}
    outline = {
        **common,
        "mode": "lines",
        "name": label(name),
        "showlegend": first,
        "x": [*x, *reversed(x)],
        "y": [*(place + d for d in density), *(place - d for d in reversed(density))],
        "fill": "toself",
        "opacity": 0.45,
        "fillcolor": color,
        "line": {"color": color, "width": 1},
        "hoveron": "fills+points",
    }

    def bar(low: float, high: float, width: float) -> Figure:
        line = {"color": color, "width": width}
        return {**common, "mode": "lines", "x": [low, high], "y": [place, place], "line": line}

    marker = {"color": "--surface", "size": 9, "line": {"color": color, "width": 2.5}}
    median = {**common, "mode": "markers", "x": [p50], "y": [place], "marker": marker}
    return [outline, bar(p1, p99, 1.5), bar(p25, p75, 7), median]


def _outline(latency: Distribution, wide: bool) -> tuple[list[float], list[float]]:
    """Where results lie, smoothed: a Gaussian kernel of Silverman's width over p0.1 to p99.9, scaled to the row."""
    import numpy as np  # as above

    values = np.log10(np.maximum(latency.values, FLOOR_MS)) if wide else latency.values
    shares = latency.counts / latency.count
    low, high = (math.log10(max(v, FLOOR_MS)) if wide else v for v in (latency.level(0.1), latency.level(99.9)))
    deviation = math.sqrt(float(np.cov(values, aweights=latency.counts, ddof=0))) if len(values) > 1 else 0.0
    width = max(0.9 * deviation * latency.count**-0.2, (high - low) / 60, 0.01 if wide else 0.25)
    grid = np.linspace(low - width, high + width, OUTLINE_POINTS)
    # A run may have very many distinct values; the kernel is ten times as wide as a bin, which changes nothing to see.
    bins = np.linspace(low - 3 * width, high + 3 * width, 800)
    weights, edges = np.histogram(values, bins=bins, weights=shares)
    middles = (edges[1:] + edges[:-1]) / 2
    density = (np.exp(-0.5 * ((grid[:, None] - middles[None, :]) / width) ** 2) * weights).sum(axis=1)
    density *= HALF_HEIGHT / density.max()
    x = 10**grid if wide else grid
    return [float(f"{v:.5g}") for v in x], [round(float(d), 4) for d in density]


def violin_words(measured: Sequence[MeasuredLatency], kind: str, marks: Sequence[Mark]) -> str:
    """The caption of ``violins``: every median, and how to read the figure."""
    medians = []
    for one in measured:
        first, *rest = one.result.dimensions.values() or [one.result.name]
        bad = "" if one.result.usable else f", {one.result.verdict}"
        medians.append(f"{first} ({', '.join([*rest, one.result.engine])}) {rounded(one.latency.level(50))} ms{bad}")
    return (
        f"Median {latency_name(kind)}: {'; '.join(medians)}. Outline: where the results lie, p0.1 to p99.9. "
        f"Thin line: p1 to p99; thick line: p25 to p75; ring: median. {_MARKS_WORDS if marks else 'On'} a logarithmic "
        f"axis less than {FLOOR_MS:g} ms is drawn at {FLOOR_MS:g} ms."
    )


_MARKS_WORDS = (
    "Open symbols are the paper's medians, on the paper's machines, in the colour and row of the engine that they "
    "belong to, or grey in the first row where it was not measured; on"
)


def latency_table(title: str, measured: Sequence[MeasuredLatency], kind: str) -> Table:
    """The percentiles of each experiment and engine, and the median of every run where there are several."""
    names = list(dict.fromkeys(name for one in measured for name in one.result.dimensions))
    head = [*names, "engine", "verdict", "count", *(f"p{p}" for p in SPREAD), "p99.999", "p99 − p1"]
    several = any(one.result.runs_ms(kind) for one in measured)
    head += ["p50 of every run"] if several else []
    rows = []
    for one in measured:
        shown = [one.latency.percentile(p) for p in (*SPREAD, 99.999)]
        spread = None if shown[4] is None or shown[0] is None else shown[4] - shown[0]
        rows.append(
            Row(
                [
                    *(one.result.dimensions.get(name, "") for name in names),
                    one.result.engine,
                    verdict_words(one.result),
                    number(one.latency.count),
                    *(number(value, 1) for value in (*shown, spread)),
                    *([" / ".join(number(value, 1) for value in one.result.runs_ms(kind))] if several else []),
                ],
                muted=not one.result.usable,
            )
        )
    bad = any(not one.result.usable for one in measured)
    return Table(
        title,
        head,
        rows,
        frozenset(range(len(names) + 2, len(head))),
        f"{NOT_SHOWN}{' The other columns are those of the median run.' if several else ''}"
        f"{' Grey rows are INVALID or FAILED: do not use them.' if bad else ''}",
    )


def boxes(
    context: Context,
    series: Mapping[str, Sequence[MeasuredLatency]],
    category: Callable[[ExperimentResult], str],
    marks: Sequence[tuple[str, Mark]],
) -> Figure:
    """A box for each category and series, p25 to p75 with whiskers to p5 and p95; marks have their category."""
    traces: list[Figure] = []
    for name, of_series in series.items():
        for usable in (True, False):
            shown = [one for one in of_series if one.result.usable is usable]
            if not shown:
                continue
            p5, p25, p50, p75, p95 = ([round(one.latency.level(p), 3) for one in shown] for p in BOX)
            traces.append(
                {
                    "type": "box",
                    "name": label(name if usable else f"{name}: INVALID or FAILED, do not use"),
                    "x": [label(category(one.result)) for one in shown],
                    "lowerfence": p5,
                    "q1": p25,
                    "median": p50,
                    "q3": p75,
                    "upperfence": p95,
                    "line": {"color": context.color(shown[0].result)},
                    "fillcolor": "--shade",
                    "whiskerwidth": 0.5,
                }
            )
    order = list(dict.fromkeys(category(one.result) for of_series in series.values() for one in of_series))
    theirs: list[tuple[Mark, float | str, float]] = [(mark, label(at), mark.value) for at, mark in marks if at in order]
    traces += mark_traces(context, theirs)
    x_axis = {"type": "category", "categoryorder": "array", "categoryarray": [label(one) for one in order]}
    mode: dict[str, Any] = {"boxmode": "group"} if len(series) > 1 else {}
    y_axis = linear(f"{latency_name(context.study.latency)} (ms)")
    return figure(traces, x_axis, y_axis, hovermode="closest", showlegend=True, **mode)
