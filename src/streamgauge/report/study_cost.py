"""The figure of what each stage costs: the latency with it minus the latency without it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from streamgauge.report.draw import Figure, figure, label, linear
from streamgauge.report.study_parts import (
    ADDED,
    MEDIAN,
    Context,
    Measured,
    Panel,
    Plot,
    Row,
    Table,
    mark_text,
    marks_table,
    measured_latencies,
    number_short,
    paper_marks,
    system,
    verdict_words,
)
from streamgauge.report.text import NONE, number, rounded
from streamgauge.studies.description import Mark

COST = (5, 25, 50, 75, 95)


def stage_cost(context: Context) -> list[Panel]:
    """Cumulative latency after each stage, and the difference to the stage before."""
    measured = measured_latencies(context)
    if not measured:
        return [Panel(tables=marks_table(context.exhibit.marks))]
    kind, marks = context.study.latency, context.exhibit.marks
    series: dict[str, list[Measured]] = {}
    for m in measured:
        series.setdefault(system(m), []).append(m)
    stages = list(dict.fromkeys(one.stage for one in context.exhibit.experiments))
    added = {name: _added(stages, of_series) for name, of_series in series.items()}
    plots = [
        Plot(
            f"{context.id}-cumulative",
            f"Cumulative {kind} latency after each stage",
            _boxes(context, series),
            "Whiskers p5 and p95, box p25 to p75, line p50; open symbols are the paper's medians. "
            + _cumulative_words(series),
        ),
        Plot(
            f"{context.id}-added",
            "Median latency that each stage adds",
            _bars(context, series, added, stages[0]),
            "The median with a stage minus the median without it; the first bar is the baseline itself. Faint bars "
            "rest on a run that must not be used. " + _added_words(added),
        ),
    ]
    return [Panel(plots=plots, tables=[*_cost_tables(series, added), *marks_table(marks)])]


Added = list[tuple[str, dict[int, float] | None, bool]]
"""Per stage: what it adds at each percentile (None: the stage before is missing), and whether that may be used."""


def _added(stages: Sequence[str], of_series: Sequence[Measured]) -> Added:
    by_stage = {m.taken.stage: m for m in of_series}
    found: Added = []
    for before, stage in pairwise([None, *stages]):
        m, earlier = by_stage.get(str(stage)), by_stage.get(str(before))
        if m is None:
            continue
        levels = {p: m.found.level(p) for p in COST}
        if before is None:
            found.append((m.taken.stage, levels, m.taken.usable))
        elif earlier is None:
            found.append((m.taken.stage, None, m.taken.usable))
        else:
            grown = {p: levels[p] - earlier.found.level(p) for p in COST}
            found.append((m.taken.stage, grown, m.taken.usable and earlier.taken.usable))
    return found


def _boxes(context: Context, series: dict[str, list[Measured]]) -> Figure:
    traces: list[Figure] = []
    for name, of_series in series.items():
        for usable in (True, False):
            shown = [m for m in of_series if m.taken.usable is usable]
            if not shown:
                continue
            p5, p25, p50, p75, p95 = ([round(m.found.level(p), 3) for m in shown] for p in COST)
            traces.append(
                {
                    "type": "box",
                    "name": label(name if usable else f"{name}: INVALID or FAILED, do not use"),
                    "x": [label(m.taken.stage) for m in shown],
                    "lowerfence": p5,
                    "q1": p25,
                    "median": p50,
                    "q3": p75,
                    "upperfence": p95,
                    "line": {"color": context.color(shown[0].taken)},
                    "fillcolor": "--shade",
                    "whiskerwidth": 0.5,
                }
            )
    order = list(dict.fromkeys(label(m.taken.stage) for of_series in series.values() for m in of_series))
    theirs: list[tuple[Mark, float | str, float]] = [
        (mark, mark.stage, mark.value) for mark in context.exhibit.marks if mark.what == MEDIAN and mark.stage in order
    ]
    traces += paper_marks(context, theirs)
    x_axis = {"type": "category", "categoryorder": "array", "categoryarray": order}
    mode = {"boxmode": "group"} if len(series) > 1 else {}
    y_axis = linear(f"{context.study.latency} latency (ms)")
    return figure(traces, x_axis, y_axis, hovermode="closest", showlegend=True, **mode)


def _bars(context: Context, series: dict[str, list[Measured]], added: dict[str, Added], baseline: str) -> Figure:
    marks = context.exhibit.marks
    increments = [mark for mark in marks if mark.what == ADDED or (mark.stage, mark.what) == (baseline, MEDIAN)]
    traces = []
    for name, of_series in added.items():
        known = [(stage, grown[50], usable) for stage, grown, usable in of_series if grown is not None]
        color = context.engine_color(series[name][0].taken.engine)
        traces.append(
            {
                "type": "bar",
                "name": label(name),
                "x": [label(stage) for stage, _, _ in known],
                "y": [round(value, 3) for _, value, _ in known],
                "marker": {"color": color, "opacity": [0.85 if usable else 0.25 for _, _, usable in known]},
                "text": [f"{value:+,.0f}" if n else f"{value:,.0f}" for n, (_, value, _) in enumerate(known)],
                "hovertemplate": "%{y:,.5~g} ms",
            }
        )
    for engine in dict.fromkeys(mark.engine for mark in increments):
        theirs = [mark for mark in increments if mark.engine == engine]
        ours = context.counterpart(theirs[0])
        traces.append(
            {
                "type": "bar",
                "name": label(f"paper: {engine}"),
                "x": [label(mark.stage) for mark in theirs],
                "y": [mark.value for mark in theirs],
                "marker": {
                    "color": "--offered",
                    "line": {"color": "--muted" if ours is None else context.engine_color(ours), "width": 1},
                },
                "text": [number_short(mark.value) for mark in theirs],
                "hovertext": [label(mark_text(mark)) for mark in theirs],
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
        )
    return figure(traces, {"type": "category"}, linear("added latency, p50 (ms)"), hovermode="closest", showlegend=True)


def _cumulative_words(series: dict[str, list[Measured]]) -> str:
    return " ".join(
        f"Median, {name}: "
        + ", ".join(
            f"{m.taken.stage} {rounded(m.found.level(50))} ms" + ("" if m.taken.usable else f" ({m.taken.verdict})")
            for m in of_series
        )
        + "."
        for name, of_series in series.items()
    )


def _added_words(added: dict[str, Added]) -> str:
    return " ".join(
        f"{name}: "
        + ", ".join(
            f"{stage} {NONE if grown is None else rounded(grown[50])} ms" + ("" if usable else " (do not use)")
            for stage, grown, usable in of_series
        )
        + "."
        for name, of_series in added.items()
    )


def _cost_tables(series: dict[str, list[Measured]], added: dict[str, Added]) -> list[Table]:
    head = ["stage", "system", "verdict"]
    levels, adds = [], []
    for name, of_series in series.items():
        for m, (_, grown, usable) in zip(of_series, added[name], strict=True):
            about = [m.taken.stage, name, verdict_words(m.taken)]
            found = [number(m.found.percentile(p), 1) for p in COST]
            levels.append(Row([*about, number(m.found.count), *found], muted=not m.taken.usable))
            grew = [NONE if grown is None else number(grown[p], 1) for p in COST]
            adds.append(Row([*about, *grew], muted=not usable))
    percentiles = [f"p{p}" for p in COST]
    return [
        Table(
            "Latency after each stage, in ms",
            [*head, "count", *percentiles],
            levels,
            frozenset(range(3, 9)),
            "– : not shown. A percentile needs at least 10 samples above it.",
        ),
        Table(
            "What each stage adds, in ms",
            [*head, *percentiles],
            adds,
            frozenset(range(3, 8)),
            "The difference of the same percentile after and before the stage; the first stage is the baseline. "
            "– : the stage before has no result. Grey: one of the two runs must not be used.",
        ),
    ]
