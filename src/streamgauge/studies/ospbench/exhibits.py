"""The figures of latency per stage and of sustainable throughput."""

from __future__ import annotations

from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.report.distributions import latency_table, measured_latencies, violin_words, violins
from streamgauge.report.exhibit import Context, Panel, Plot, fits
from streamgauge.report.published import marks_table, ranking_finding
from streamgauge.report.reproduction import CAPACITY
from streamgauge.report.sweep import sweep
from streamgauge.studies.stages import VARIANT


def latency_by_stage(context: Context) -> list[Panel]:
    """One violin per stage, variant and engine, and a table of the numbers."""
    measured = measured_latencies(context)
    if not measured:
        return [Panel(tables=marks_table(context.exhibit.marks))]
    kind, ranking = context.study.latency, context.exhibit.ranking
    medians = context.marks(f"latency.{kind}.p50")
    plot = Plot(
        f"{context.id}-stages",
        f"Distribution of the {LATENCY_NAMES[kind]} per stage",
        violins(context, measured, medians),
        violin_words(measured, kind, medians),
        height_rem=8 + 3.1 * len(measured),
    )
    ranked = {
        one.result.engine: one.latency.level(50)
        for one in measured
        if ranking is not None and one.result.usable and fits(ranking.dimensions, one.result.dimensions)
    }
    tables = [latency_table("Latency per stage, in ms", measured, kind), *marks_table(context.exhibit.marks)]
    return [Panel(finding=ranking_finding(context, ranked), plots=[plot], tables=tables)]


def rate_sweep(context: Context) -> list[Panel]:
    """Latency, CPU and heap of every probe against its rate, and the rates of the paper's systems of this variant."""
    variants = context.order(VARIANT)
    return sweep(context, [mark for mark in context.marks(CAPACITY) if mark.dimensions.get(VARIANT) in variants])
