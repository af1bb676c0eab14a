"""The tables of latency statistics, and latency over time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from streamgauge.report.distributions import Distribution
from streamgauge.report.draw import linear
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, unusable, verdict_words
from streamgauge.report.published import marks_table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.source import Source
from streamgauge.report.text import NONE, number
from streamgauge.report.timeline import (
    Point,
    Series,
    latency_axis,
    lines,
    measured_interval,
    over_seconds,
    since_measured,
)
from streamgauge.studies.sustainable.numbers import STATISTICS
from streamgauge.studies.sustainable.throughput import load_words, nodes

EVENT_TIME, PROCESSING_TIME = "total", "processing_time"
SINCE = "seconds since the start of the measured interval"


def statistics(context: Context) -> list[Panel]:
    """Event-time latency of every run in the paper's statistics, in seconds."""
    shown = [result for result in context.results if result.has_result]
    head = ["cluster", "nodes", "load", "engine", "rate, records/s", *STATISTICS.values(), "verdict"]
    rows = []
    for result in shown:
        found = latency_statistics(result)
        cells = [result.dimensions["cluster"], number(nodes(result))]
        cells += [load_words(context.reproduction, result), result.engine]
        cells += [number(result.value("rate_per_s.offered")), *(_seconds(found.get(name)) for name in STATISTICS)]
        rows.append(Row([*cells, verdict_words(result)], muted=not result.usable))
    note = (
        "Event-time latency of every result, in seconds: from the event time of the latest record of its window (of a "
        "join: of all records of the window) to its arrival at the collector. Load: of the sustainable throughput on "
        f"that cluster; of a bound where the engine was not the limit of the search, so that it sustains more. "
        f"{NONE}: too few results."
    )
    first = head.index("rate, records/s")
    numbers = frozenset({1, *range(first, first + 1 + len(STATISTICS))})
    tables = [Table("Event-time latency, s", head, rows, numbers, note)] if rows else []
    return [*unusable(shown), Panel(tables=[*tables, *marks_table(context.exhibit.marks)])]


def latency_statistics(result: ExperimentResult, kind: str = EVENT_TIME) -> dict[str, float]:
    """In ms, by the names in ``STATISTICS``; what too few results, or missing ones, leave unknown is left out."""
    source = result.source
    if source is None or kind not in source.latency:
        return {}
    values = Distribution(*source.latency[kind])
    found = {name: values.percentile(float(name[1:])) for name in STATISTICS if name.startswith("p")}
    if values.count:
        found["min"] = values.level(0)
    for name in ("mean", "max"):
        found[name] = result.value(f"latency_ms.{kind}.{name}")
    return {name: value for name, value in found.items() if value is not None}


def _seconds(milliseconds: float | None) -> str:
    return NONE if milliseconds is None else number(milliseconds / 1000, 3)


def over_time(context: Context) -> list[Panel]:
    """Event-time latency over time: a figure for each cluster and load."""
    pairs = dict.fromkeys((one.dimensions["load"], one.dimensions["cluster"]) for one in context.exhibit.experiments)
    plots = []
    for load, size in pairs:
        chosen = [
            result
            for result in context.results
            if (result.dimensions["load"], result.dimensions["cluster"]) == (load, size)
        ]
        title = f"Cluster {size}, {load} of the sustainable throughput"
        plots += latency_plot(context, chosen, f"{size.removesuffix('×')}x-{load.split()[0]}", title, wide=False)
    return [Panel(plots=plots)] if plots else []


def latency_plot(
    context: Context,
    results: Sequence[ExperimentResult],
    name: str,
    title: str,
    kinds: Mapping[str, str] | None = None,
    *,
    wide: bool = True,
) -> list[Plot]:
    """The median and the highest latency of each second; or the medians of several kinds, by what they are called."""
    if kinds is None:
        series: Series = {"p50": (reader(f"{EVENT_TIME}_p50"), "solid"), "max": (reader(f"{EVENT_TIME}_max"), "dot")}
    else:
        dashes = ("solid", "dash", "dot")
        series = {
            words: (reader(f"{kind}_p50"), dash) for (kind, words), dash in zip(kinds.items(), dashes, strict=False)
        }
    return timeline(context, results, name, title, series, "ms", wide=wide)


def timeline(
    context: Context,
    results: Sequence[ExperimentResult],
    name: str,
    title: str,
    series: Series,
    unit: str,
    *,
    wide: bool = True,
) -> list[Plot]:
    """Series of these runs in their measured intervals; nothing where no run has a value."""
    timed = [result for result in results if measured_interval(result) is not None]
    lengths = (to_s - from_s for from_s, to_s in filter(None, map(measured_interval, timed)))
    length_s = max(lengths, default=0.0)
    traces, words = lines(context, timed, series, unit, lambda _: (0.0, length_s))
    if not traces:
        return []
    axis = latency_axis(traces) if unit == "ms" else linear(unit)
    drawn = over_seconds(traces, SINCE, axis)
    return [Plot(f"{context.id}-{name}", title, drawn, words, 21.0 if wide else 17.0, wide)]


def reader(column: str) -> Callable[[Source], list[Point]]:
    """A column of each second since the start of the measured interval, without the seconds that have none."""

    def read(source: Source) -> list[Point]:
        return [(second, value) for second, value in since_measured(source, column) if value is not None]

    return read
