"""Throughput and latency of each program, by the number of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamgauge.report.bars import Bar, BarSeries, bars
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, unusable, verdict_words
from streamgauge.report.published import marks_table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.text import NONE, bounded, number, rounded
from streamgauge.studies.streambench.numbers import FIG_2_RATIOS, FIG_3_RATIOS, LATENCY, THROUGHPUT
from streamgauge.studies.streambench.ratios import ratios_table

PER_S = "processing.records_per_s"
_OPACITIES = (0.3, 0.5, 0.7, 0.95)
_NODES = {"spark": "workers", "flink": "taskmanagers", "kafka-streams": "instances"}
"""The option that says how many nodes each engine has; one process is one node."""


def throughput(context: Context) -> list[Panel]:
    """MB/s of each program by scale, a figure for each engine as in the paper, and all numbers in a table."""
    measured = [result for result in context.results if result.has_result]
    plots = [
        Plot(
            f"{context.id}-{engine}",
            f"Throughput of {engine}",
            bars(context, _by_scale(context, of_engine), (), "MB/s", "MB/s"),
            _fastest_words(context, engine, of_engine),
        )
        for engine in context.reproduction.engines
        if (of_engine := [one for one in measured if one.engine == engine and has_bar(one)])
    ]
    note = (
        "Of the throughput in MB/s, from VALID runs at the same scale. The records of statistics are larger than those "
        "of the others."
    )
    tables = []
    if measured:
        tables = [_throughput_table(measured), ratios_table(context, measured, FIG_2_RATIOS, THROUGHPUT, note)]
    return [
        *unusable([result for result in measured if not is_saturated(result)]),
        Panel(finding=saturation(measured), plots=plots, tables=[*tables, *marks_table(context.exhibit.marks)]),
    ]


def is_saturated(result: ExperimentResult) -> bool:
    """Whether the engine could not cope with so many records: it ended, or was not done by the deadline.

    A run that FAILED with wrong results does not show that, nor one that lost some although it was done, nor one whose
    engine did not start.
    """
    if result.source is not None and result.source.outcome.engine_ready_ns is None:
        return False
    results = {} if result.summary is None else result.summary.results
    if result.verdict not in ("VALID", "FAILED") or results.get("wrong") or results.get("unexpected"):
        return False
    if results.get("lost") and not results.get("unfinished") and not _engine_ended(result):
        return False
    gave_out, unknown = bool(results.get("unfinished")) or _engine_ended(result), result.value(PER_S) is None
    return (gave_out and (unknown or not result.usable)) or (unknown and result.verdict == "FAILED")


def _engine_ended(result: ExperimentResult) -> bool:
    return result.source is not None and any(ended.group == "engine" for ended in result.source.outcome.ended)


def has_bar(result: ExperimentResult) -> bool:
    return result.value(THROUGHPUT) is not None and not is_saturated(result)


def saturation(results: Sequence[ExperimentResult]) -> str:
    """A sentence about the runs that were beyond the saturate volume; empty if none was."""
    words = [f"{one.title} ({one.why or 'not done by the deadline'})" for one in results if is_saturated(one)]
    return f"Beyond the saturate volume: {'; '.join(words)}." if words else ""


def throughput_cells(result: ExperimentResult) -> list[str]:
    """In records/s and MB/s, of all nodes and of each; a run beyond the saturate volume has none."""
    if is_saturated(result):
        return ["saturated", NONE, number(nodes(result)), NONE, NONE]
    return [
        NONE if result.summary is None else bounded(result.summary.processing, "records_per_s", number),
        number(result.value(THROUGHPUT), 2),
        number(nodes(result)),
        per_node(result, PER_S),
        per_node(result, THROUGHPUT, 2),
    ]


def speed_cells(result: ExperimentResult) -> list[str]:
    """How fast the generator wrote the input, and how fast the broker serves it."""
    return [number(result.value(f"processing.{name}")) for name in ("generated_per_s", "served_per_s")]


def _by_scale(context: Context, results: Sequence[ExperimentResult]) -> dict[str, BarSeries]:
    series = {}
    for scale, opacity in zip(context.order("scale"), _OPACITIES, strict=False):
        of_scale = [result for result in results if result.dimensions["scale"] == scale]
        if of_scale:
            series[f"{of_scale[0].engine} {scale}"] = BarSeries(
                of_scale[0].engine, [bar(result, THROUGHPUT, "MB/s") for result in of_scale], opacity
            )
    return series


def bar(result: ExperimentResult, metric: str, unit: str) -> Bar:
    """A result that has this metric, at its program."""
    value = result.value(metric)
    assert value is not None
    return Bar(result.dimensions["program"], value, f"{rounded(value)} {unit}", result.usable)


def _fastest_words(context: Context, engine: str, results: Sequence[ExperimentResult]) -> str:
    usable = [result for result in results if result.usable]
    if not usable:
        return f"{engine}: no VALID run."
    largest = max((result.dimensions["scale"] for result in usable), key=context.order("scale").index)
    alike = [result for result in usable if result.dimensions["scale"] == largest]
    slowest, fastest = (pick(alike, key=lambda result: result.value(THROUGHPUT) or 0.0) for pick in (min, max))
    if slowest is fastest:
        return f"{engine}, {largest}: only {_named_with_rate(fastest)}."
    return (
        f"{engine}, {largest}: fastest {_named_with_rate(fastest)}, slowest {_named_with_rate(slowest)}. The fainter, "
        "the fewer records."
    )


def _named_with_rate(result: ExperimentResult) -> str:
    return f"{result.dimensions['program']} with {rounded(result.value(THROUGHPUT))} MB/s"


def nodes(result: ExperimentResult) -> int | None:
    """In how many processes the engine runs; None on a cluster of the user's, whose nodes are not known."""
    options: Mapping[str, Any] = {} if result.manifest is None else result.manifest.engine.options
    if options.get("master"):
        return None
    count = options.get(_NODES.get(result.engine, ""))
    return count if isinstance(count, int) and count > 0 else 1


def per_node(result: ExperimentResult, metric: str, digits: int = 0) -> str:
    value, count = result.value(metric), nodes(result)
    return number(None if value is None or count is None else value / count, digits)


def _throughput_table(results: Sequence[ExperimentResult]) -> Table:
    head = ["program", "scale", "engine", "records", "records/s", "MB/s", "nodes", "records/s per node"]
    head += ["MB/s per node", "mean latency, ms: includes the wait in the broker"]
    head += ["written, records/s", "served, records/s", "verdict"]
    rows = [
        Row(
            [
                result.dimensions["program"],
                result.dimensions["scale"],
                result.engine,
                number(result.value("processing.records")),
                *throughput_cells(result),
                number(result.value(LATENCY)),
                *speed_cells(result),
                result.verdict,
            ],
            muted=not result.usable,
        )
        for result in results
    ]
    note = (
        "All input was in the broker before the engine started. Written: how fast the generator filled the broker. "
        "Served: how fast a plain reader got the input out of it after the run; where that is hardly more than the "
        "engine took, the broker may be the limit. A range of records/s: not every record has a result, and the engine "
        "reports late that it has consumed all; MB/s and ratios are by the lower bound."
    )
    return Table("Throughput of each run", head, rows, frozenset(range(3, 12)), note)


def latency(context: Context) -> list[Panel]:
    """The mean latency of each program at half of its throughput, by engine."""
    measured = [result for result in context.results if result.has_result and result.value(LATENCY) is not None]
    series = {}
    for engine in context.reproduction.engines:
        if of_engine := [bar(result, LATENCY, "ms") for result in measured if result.engine == engine]:
            series[engine] = BarSeries(engine, of_engine)
    title = "Mean latency at half of the throughput"
    words = "; ".join(
        f"{engine}: " + ", ".join(f"{bar.category} {bar.text}" for bar in of_engine.bars)
        for engine, of_engine in series.items()
    )
    plots = [Plot(f"{context.id}-latency", title, bars(context, series, (), "ms", "ms"), f"{words}.")] if series else []
    half_of = "the throughput of the same program with preloaded input at scale 4×"
    note = "Of the mean latency at half of the throughput of each program."
    tables = []
    if measured:
        tables = [
            latency_table(measured, ["program"], half_of),
            ratios_table(context, measured, FIG_3_RATIOS, LATENCY, note),
        ]
    return [*unusable(measured), Panel(plots=plots, tables=[*tables, *marks_table(context.exhibit.marks)])]


def latency_table(results: Sequence[ExperimentResult], dimensions: Sequence[str], throughput: str) -> Table:
    """Of runs that these dimensions tell apart. ``throughput``: what the rate is half of."""
    head = [*dimensions, "engine", "rate, records/s", "mean latency, ms", "p50, ms", "p99, ms", "verdict"]
    rows = [
        Row(
            [
                *(result.dimensions[dimension] for dimension in dimensions),
                result.engine,
                number(result.value("rate_per_s.offered")),
                number(result.value(LATENCY), 1),
                number(result.value("latency.latest.p50"), 1),
                number(result.value("latency.latest.p99"), 1),
                verdict_words(result),
            ],
            muted=not result.usable,
        )
        for result in results
    ]
    note = (
        f"The rate is half of {throughput}, or a sixth of what the generator can write, whichever is less. Mean "
        "latency: from the arrival of each record until its result can be read, mean over all records; percentiles are "
        "over results."
    )
    first = len(dimensions) + 1
    return Table("Latency of each run", head, rows, frozenset(range(first, first + 4)), note)
