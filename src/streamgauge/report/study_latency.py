"""The figure of latency by stage: a violin per stage, variant and engine, and the table beneath it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from streamgauge.report.draw import Figure, figure, label, linear, logarithmic
from streamgauge.report.figures import WIDE
from streamgauge.report.study_parts import (
    FLOOR_MS,
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
    verdict_words,
)
from streamgauge.report.text import number, rounded
from streamgauge.studies.description import Mark

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
        _violins(context, measured),
        _violin_caption(measured, kind),
        height_rem=8 + 3.1 * len(measured),
    )
    tables = [_stage_table(measured, kind), *marks_table(context.exhibit.marks)]
    return [Panel(finding=_ranking_found(context, measured), plots=[plot], tables=tables)]


def _ranking_found(context: Context, measured: Sequence[Measured]) -> str:
    """Whether the order of medians that the paper found is found here, with the numbers; empty where it found none."""
    ranking = context.exhibit.ranking
    if ranking is None:
        return ""
    here = {
        m.taken.engine: m.found.level(50)
        for m in measured
        if (m.taken.stage, m.taken.variant, m.taken.usable) == (ranking.stage, ranking.variant, True)
    }
    theirs = {
        mark.engine: mark.value
        for mark in context.exhibit.marks
        if (mark.stage, mark.variant, mark.what) == (ranking.stage, ranking.variant, MEDIAN)
    }

    def said(values: Mapping[str, float], names: Sequence[str]) -> str:
        return ", ".join(f"{name} {rounded(values[name])} ms" for name in names if name in values)

    engines = context.study.engines
    lower, higher = ([engines[name] for name in side if name in engines] for side in (ranking.lower, ranking.higher))
    about = (
        f"The paper's order of the median latencies of {ranking.stage}, {ranking.words} "
        f"({said(theirs, ranking.lower)}; {said(theirs, ranking.higher)}),"
    )
    for side in (lower, higher):
        if not any(engine in here for engine in side):
            return f"{about} cannot be told here: no VALID run of {' or '.join(side)}."
    top = max((engine for engine in lower if engine in here), key=lambda engine: here[engine])
    bottom = min((engine for engine in higher if engine in here), key=lambda engine: here[engine])
    found = here[top] < here[bottom]
    absent = [engine for engine in dict.fromkeys((*lower, *higher)) if engine not in here]
    without = f" Without {' and '.join(absent)}: no VALID run." if absent else ""
    return (
        f"{about} is {'found' if found else 'not found'} here: {said(here, lower)}; {said(here, higher)}. "
        f"{top} ({rounded(here[top])} ms) is {'' if found else 'not '}below {bottom} ({rounded(here[bottom])} ms)."
        f"{without}"
    )


def _violins(context: Context, measured: Sequence[Measured]) -> Figure:
    kind = context.study.latency
    rows = dict(enumerate(reversed(measured)))
    marked = [
        (mark, mark.value, float(place))
        for mark in context.exhibit.marks
        if mark.what == MEDIAN and (place := _row_of(context, mark, rows)) is not None
    ]
    levels = [m.found.level(p) for m in measured for p in (0.1, 99.9)] + [value for _, value, _ in marked]
    positive = [max(value, FLOOR_MS) for value in levels]
    wide = max(positive) / min(positive) > WIDE
    traces: list[Figure] = []
    named: set[str] = set()
    for place, m in sorted(rows.items(), reverse=True):
        name = context.name(m.taken)
        traces += _violin(m, place, context.color(m.taken), name, wide, first=name not in named)
        named.add(name)
    traces += paper_marks(context, [(mark, max(x, FLOOR_MS) if wide else x, y) for mark, x, y in marked])
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


def _row_of(context: Context, mark: Mark, rows: Mapping[int, Measured]) -> int | None:
    """The row of its engine; where that was not measured, the first one of its stage and variant."""
    fitting = {
        m.taken.engine: place
        for place, m in rows.items()
        if (mark.stage, mark.variant) == (m.taken.stage, m.taken.variant)
    }
    return fitting.get(context.counterpart(mark) or "", max(fitting.values(), default=None))


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
        "p99; thick line: p25 to p75; ring: median. Open symbols are the paper's medians, on the paper's machines, in "
        "the colour and row of the engine that they belong to, or grey in the first row where it was not measured; "
        f"on a logarithmic axis less than {FLOOR_MS:g} ms is drawn at {FLOOR_MS:g} ms."
    )


def _stage_table(measured: Sequence[Measured], kind: str) -> Table:
    head = ["stage", "variant", "engine", "verdict", "count", *(f"p{p}" for p in SPREAD), "p99.999", "p99 − p1"]
    several = any(m.taken.runs_ms(kind) for m in measured)
    head += ["p50 of every run"] if several else []
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
                    *([" / ".join(number(value, 1) for value in m.taken.runs_ms(kind))] if several else []),
                ],
                muted=not m.taken.usable,
            )
        )
    return Table(
        "Latency by stage, in ms",
        head,
        rows,
        frozenset(range(4, len(head))),
        f"– : not shown. A percentile needs at least 10 samples above it."
        f"{' The other columns are those of the median run.' if several else ''}{_not_to_use(measured)}",
    )


def _not_to_use(measured: Sequence[Measured]) -> str:
    return "" if all(m.taken.usable for m in measured) else " Grey rows are INVALID or FAILED: do not use them."
