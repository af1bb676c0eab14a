"""The figure of latency by stage: a violin per stage, variant and engine, and the table beneath it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from streamgauge.report.draw import SERIES, Figure, figure, label, linear, logarithmic
from streamgauge.report.figures import WIDE
from streamgauge.report.study_parts import (
    MEDIAN,
    Context,
    Distribution,
    Measured,
    Panel,
    Plot,
    Row,
    Table,
    marks_table,
    measured_latencies,
    paper_marks,
    paper_symbols,
    system,
    verdict_words,
)
from streamgauge.report.text import number, rounded
from streamgauge.studies.description import Mark

FLOOR_MS = 0.5
"""Stamps are whole milliseconds, and a logarithmic axis has no zero: less than this is drawn here."""
HALF_HEIGHT = 0.42
OUTLINE_POINTS = 120
SPREAD = (1, 25, 50, 75, 99)


def latency_by_stage(context: Context) -> list[Panel]:
    """One violin per stage, variant and engine, and beneath it the numbers."""
    measured = measured_latencies(context)
    if not measured:
        return [Panel(tables=marks_table(context.exhibit.marks))]
    kind = context.study.latency
    plot = Plot(
        f"{context.id}-stages",
        f"Distribution of the {kind} latency by stage",
        _violins(measured, kind, context.exhibit.marks),
        _violin_caption(measured, kind),
        height_rem=8 + 3.1 * len(measured),
    )
    return [Panel(plots=[plot], tables=[_stage_table(measured), *marks_table(context.exhibit.marks)])]


def _violins(measured: Sequence[Measured], kind: str, marks: Sequence[Mark]) -> Figure:
    medians = [mark for mark in marks if mark.what == MEDIAN]
    rows = dict(enumerate(reversed(measured)))
    marked = [
        (mark, mark.value, float(place))
        for mark in medians
        for place, m in rows.items()
        if (mark.stage, mark.variant) == (m.taken.stage, m.taken.variant)
    ]
    levels = [m.found.level(p) for m in measured for p in (0.1, 99.9)] + [value for _, value, _ in marked]
    positive = [max(value, FLOOR_MS) for value in levels]
    wide = max(positive) / min(positive) > WIDE
    looks = {look: SERIES[n % len(SERIES)] for n, look in enumerate(dict.fromkeys(system(m) for m in measured))}
    traces: list[Figure] = []
    named: set[str] = set()
    for place, m in sorted(rows.items(), reverse=True):
        color = looks[system(m)] if m.taken.usable else "--muted"
        name = system(m) if m.taken.usable else f"{m.taken.verdict}, do not use"
        traces += _violin(m, place, color, name, wide, first=name not in named)
        named.add(name)
    traces += paper_marks([(mark, max(x, FLOOR_MS) if wide else x, y) for mark, x, y in marked], paper_symbols(medians))
    title = f"{kind} latency (ms)"
    several = len({m.taken.engine for m in measured}) > 1
    return figure(
        traces,
        logarithmic(title, positive) if wide else linear(title),
        {
            "tickvals": list(rows),
            "ticktext": [_row_name(m, several) for m in rows.values()],
            "range": [-0.6, len(rows) - 0.4],
            "zeroline": False,
            "showgrid": False,
        },
        hovermode="closest",
    )


def _row_name(m: Measured, several: bool) -> str:
    said = f"<b>{label(m.taken.stage)}</b><br>{label(m.taken.variant)}"
    return said + (f", {label(m.taken.engine)}" if several else "")


def _violin(m: Measured, place: int, color: str, name: str, wide: bool, first: bool) -> list[Figure]:
    x, density = _outline(m.found, wide)
    p1, p25, p50, p75, p99 = (max(m.found.level(p), FLOOR_MS) if wide else m.found.level(p) for p in SPREAD)
    said = " · ".join(f"p{p} {rounded(m.found.level(p))}" for p in SPREAD)
    hover = f"{label(m.taken.title)} ({m.taken.verdict})<br>{said} ms<extra></extra>"
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


def _outline(found: Distribution, wide: bool) -> tuple[list[float], list[float]]:
    """Where results lie, smoothed: a Gaussian kernel of Silverman's width over p0.1 to p99.9, scaled to the row."""
    values = np.log10(np.maximum(found.values, FLOOR_MS)) if wide else found.values
    shares = found.counts / found.count
    low, high = (math.log10(max(v, FLOOR_MS)) if wide else v for v in (found.level(0.1), found.level(99.9)))
    deviation = math.sqrt(float(np.cov(values, aweights=found.counts, ddof=0))) if len(values) > 1 else 0.0
    width = max(0.9 * deviation * found.count**-0.2, (high - low) / 60, 0.01 if wide else 0.25)
    grid = np.linspace(low - width, high + width, OUTLINE_POINTS)
    # A run may have very many distinct values; the kernel is ten times as wide as a bin, which changes nothing to see.
    bins = np.linspace(low - 3 * width, high + 3 * width, 800)
    weights, edges = np.histogram(values, bins=bins, weights=shares)
    middles = (edges[1:] + edges[:-1]) / 2
    density = (np.exp(-0.5 * ((grid[:, None] - middles[None, :]) / width) ** 2) * weights).sum(axis=1)
    density *= HALF_HEIGHT / density.max()
    x = 10**grid if wide else grid
    return [float(f"{v:.5g}") for v in x], [round(float(d), 4) for d in density]


def _violin_caption(measured: Sequence[Measured], kind: str) -> str:
    said = [
        f"{m.taken.stage} ({m.taken.variant}, {m.taken.engine}) {rounded(m.found.level(50))} ms"
        + ("" if m.taken.usable else f", {m.taken.verdict}")
        for m in measured
    ]
    return (
        f"Median {kind} latency: {'; '.join(said)}. Outline: where the results lie, p0.1 to p99.9. Thin line: p1 to "
        "p99; thick line: p25 to p75; ring: median. Open symbols are the paper's medians, on the paper's machines; "
        f"on a logarithmic axis less than {FLOOR_MS:g} ms is drawn at {FLOOR_MS:g} ms."
    )


def _stage_table(measured: Sequence[Measured]) -> Table:
    head = ["stage", "variant", "engine", "verdict", "count", *(f"p{p}" for p in SPREAD), "p99.999", "p99 − p1"]
    rows = []
    for m in measured:
        shown = [m.found.percentile(p) for p in (*SPREAD, 99.999)]
        spread = None if shown[4] is None or shown[0] is None else shown[4] - shown[0]
        rows.append(
            Row(
                [
                    m.taken.stage,
                    m.taken.variant,
                    m.taken.engine,
                    verdict_words(m.taken),
                    number(m.found.count),
                    *(number(value, 1) for value in (*shown, spread)),
                ],
                muted=not m.taken.usable,
            )
        )
    return Table(
        "Latency by stage, in ms",
        head,
        rows,
        frozenset(range(4, len(head))),
        f"– : not shown. A percentile needs at least 10 samples above it.{_not_to_use(measured)}",
    )


def _not_to_use(measured: Sequence[Measured]) -> str:
    return "" if all(m.taken.usable for m in measured) else " Grey rows are INVALID or FAILED: do not use them."
