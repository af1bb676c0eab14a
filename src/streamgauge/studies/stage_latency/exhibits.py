"""The figure of the cost of each stage: the latency with it minus the latency without it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.report.bars import Bar, BarSeries, bars
from streamgauge.report.distributions import BOX, NOT_SHOWN, MeasuredLatency, boxes, measured_latencies
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, verdict_words
from streamgauge.report.published import marks_table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.text import NONE, number, rounded
from streamgauge.studies.stages import STAGE
from streamgauge.study import Mark

MEDIAN, ADDED = "latency.average.p50", "added.latency.average.p50"


def stage_cost(context: Context) -> list[Panel]:
    """Cumulative latency after each stage, and the difference to the previous stage."""
    measured = measured_latencies(context)
    if not measured:
        return [Panel(tables=marks_table(context.exhibit.marks))]
    kind = context.study.latency
    series: dict[str, list[MeasuredLatency]] = {}
    for one in measured:
        series.setdefault(one.system, []).append(one)
    stages = context.order(STAGE)
    added = {name: _added(stages, of_series) for name, of_series in series.items()}
    medians = [(mark.dimensions[STAGE], mark) for mark in context.marks(MEDIAN)]
    plots = [
        Plot(
            f"{context.id}-cumulative",
            f"Cumulative {LATENCY_NAMES[kind]} after each stage",
            boxes(context, series, _stage, medians),
            "Whiskers p5 and p95, box p25 to p75, line p50; open symbols are the paper's medians. "
            + _cumulative_caption(series),
        ),
        Plot(
            f"{context.id}-added",
            "Median latency added by each stage",
            bars(
                context,
                {name: BarSeries(of[0].result.engine, _bars(added[name])) for name, of in series.items()},
                _increments(context, stages[0]),
                "added latency, p50 (ms)",
                "ms",
            ),
            "The median with a stage minus the median without it; the first bar is the baseline itself. Faint bars "
            "are based on a run that must not be used. " + _added_caption(added),
        ),
    ]
    return [Panel(plots=plots, tables=[*_cost_tables(series, added), *marks_table(context.exhibit.marks)])]


Added = list[tuple[str, dict[int, float] | None, bool]]
"""Per stage: what it adds at each percentile (None if the previous stage is missing), and whether it may be used."""


def _stage(result: ExperimentResult) -> str:
    return result.dimensions[STAGE]


def _added(stages: Sequence[str], of_series: Sequence[MeasuredLatency]) -> Added:
    by_stage = {_stage(one.result): one for one in of_series}
    added: Added = []
    for before, stage in pairwise([None, *stages]):
        one, earlier = by_stage.get(str(stage)), by_stage.get(str(before))
        if one is None:
            continue
        levels = {p: one.latency.level(p) for p in BOX}
        if before is None:
            added.append((_stage(one.result), levels, one.result.usable))
        elif earlier is None:
            added.append((_stage(one.result), None, one.result.usable))
        else:
            grown = {p: levels[p] - earlier.latency.level(p) for p in BOX}
            added.append((_stage(one.result), grown, one.result.usable and earlier.result.usable))
    return added


def _bars(added: Added) -> list[Bar]:
    known = [(stage, grown[50], usable) for stage, grown, usable in added if grown is not None]
    return [
        Bar(stage, value, f"{value:+,.0f}" if n else f"{value:,.0f}", usable)
        for n, (stage, value, usable) in enumerate(known)
    ]


def _increments(context: Context, baseline: str) -> list[tuple[str, Mark]]:
    """What each stage adds in the paper, and the median of the first one."""
    return [
        (mark.dimensions[STAGE], mark)
        for mark in context.exhibit.marks
        if mark.metric == ADDED or (mark.dimensions[STAGE], mark.metric) == (baseline, MEDIAN)
    ]


def _cumulative_caption(series: dict[str, list[MeasuredLatency]]) -> str:
    return " ".join(
        f"Median, {name}: "
        + ", ".join(
            f"{_stage(one.result)} {rounded(one.latency.level(50))} ms"
            + ("" if one.result.usable else f" ({one.result.verdict})")
            for one in of_series
        )
        + "."
        for name, of_series in series.items()
    )


def _added_caption(added: dict[str, Added]) -> str:
    return " ".join(
        f"{name}: "
        + ", ".join(
            f"{stage} {NONE if grown is None else rounded(grown[50])} ms" + ("" if usable else " (do not use)")
            for stage, grown, usable in of_series
        )
        + "."
        for name, of_series in added.items()
    )


def _cost_tables(series: dict[str, list[MeasuredLatency]], added: dict[str, Added]) -> list[Table]:
    head = ["stage", "system", "verdict"]
    levels, adds = [], []
    for name, of_series in series.items():
        for one, (_, grown, usable) in zip(of_series, added[name], strict=True):
            about = [_stage(one.result), name, verdict_words(one.result)]
            percentiles = [number(one.latency.percentile(p), 1) for p in BOX]
            levels.append(Row([*about, number(one.latency.count), *percentiles], muted=not one.result.usable))
            grew = [NONE if grown is None else number(grown[p], 1) for p in BOX]
            adds.append(Row([*about, *grew], muted=not usable))
    names = [f"p{p}" for p in BOX]
    return [
        Table(
            "Latency after each stage, in ms",
            [*head, "count", *names],
            levels,
            frozenset(range(3, 9)),
            NOT_SHOWN,
        ),
        Table(
            "Latency added by each stage, in ms",
            [*head, *names],
            adds,
            frozenset(range(3, 8)),
            "The difference of the same percentile after and before the stage; the first stage is the baseline. "
            "–: the previous stage has no result. Grey: one of the two runs must not be used.",
        ),
    ]
