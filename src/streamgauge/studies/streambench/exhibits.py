"""Throughput and latency of each program, by the number of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamgauge.report.bars import Bar, BarSeries, bars
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, unusable, verdict_words
from streamgauge.report.published import marks_table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.text import NONE, number, rounded
from streamgauge.studies.streambench.numbers import LATENCY, THROUGHPUT

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
            _fastest_words(engine, of_engine),
        )
        for engine in context.reproduction.engines
        if (of_engine := [one for one in measured if one.engine == engine and one.value(THROUGHPUT) is not None])
    ]
    saturated = [saturated_words(result) for result in measured if is_saturated(result)]
    finding = f"Beyond the saturate volume: {'; '.join(saturated)}." if saturated else ""
    tables = [_throughput_table(measured)] if measured else []
    return [Panel(finding=finding, plots=plots, tables=[*tables, *marks_table(context.exhibit.marks)])]


def is_saturated(result: ExperimentResult) -> bool:
    """Whether the engine could not cope with so many records: it failed, or was not done by the deadline."""
    return result.verdict == "FAILED" or (result.usable and result.value(PER_S) is None)


def saturated_words(result: ExperimentResult) -> str:
    """Which run it is, and why."""
    return f"{result.title} ({result.why or 'not done by the deadline'})"


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


def _fastest_words(engine: str, results: Sequence[ExperimentResult]) -> str:
    by_speed = sorted((result for result in results if result.usable), key=lambda result: result.value(PER_S) or 0.0)
    if not by_speed:
        return f"{engine}: no VALID run."
    slowest, fastest = by_speed[0], by_speed[-1]
    return (
        f"{engine}: fastest {_named(fastest)} with {rounded(fastest.value(PER_S))} records/s, "
        f"slowest {_named(slowest)} with {rounded(slowest.value(PER_S))} records/s. The fainter, the fewer records."
    )


def _named(result: ExperimentResult) -> str:
    return " ".join(result.dimensions.values())


def nodes(result: ExperimentResult) -> int:
    """In how many processes the engine runs."""
    options: Mapping[str, Any] = {} if result.manifest is None else result.manifest.engine.options
    count = options.get(_NODES.get(result.engine, ""))
    return count if isinstance(count, int) and count > 0 else 1


def _throughput_table(results: Sequence[ExperimentResult]) -> Table:
    head = ["program", "scale", "engine", "records", "records/s", "MB/s", "nodes", "records/s per node"]
    head += ["mean latency, ms: includes the wait in the broker", "written, records/s", "served, records/s", "verdict"]
    rows = []
    for result in results:
        per_s, count = result.value(PER_S), nodes(result)
        rows.append(
            Row(
                [
                    result.dimensions["program"],
                    result.dimensions["scale"],
                    result.engine,
                    number(result.value("processing.records")),
                    "saturated" if is_saturated(result) else number(per_s),
                    number(result.value(THROUGHPUT), 2),
                    str(count),
                    NONE if per_s is None else number(per_s / count),
                    number(result.value(LATENCY)),
                    number(result.value("processing.generated_per_s")),
                    number(result.value("processing.served_per_s")),
                    result.verdict,
                ],
                muted=not result.usable,
            )
        )
    note = (
        "All input was in the broker before the engine started. Written: how fast the generator filled the broker. "
        "Served: how fast a plain reader got the input out of it after the run; where that is hardly more than the "
        "engine took, the broker may be the limit."
    )
    return Table("Throughput of each run", head, rows, frozenset({3, 4, 5, 6, 7, 8, 9, 10}), note)


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
    tables = [latency_table(measured, ["program"], half_of)] if measured else []
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
        f"The rate is half of {throughput}, or a quarter of what the generator can write, whichever is less. Mean "
        "latency: from the arrival of each record until its result can be read, mean over all records; percentiles are "
        "over results."
    )
    first = len(dimensions) + 1
    return Table("Latency of each run", head, rows, frozenset(range(first, first + 4)), note)
