"""Behaviour over time: a fluctuating load, event time against processing time, queues, throughput, nodes, scheduler."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

from streamgauge.model.samples import BatchSample
from streamgauge.report.draw import line, linear, series_look
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, unusable, verdict_words
from streamgauge.report.published import marks_table
from streamgauge.report.reproduction import ExperimentResult, Reproduction
from streamgauge.report.source import Source
from streamgauge.report.text import NONE, number, rounded
from streamgauge.report.timeline import Point, measured_interval, over_seconds, within
from streamgauge.studies.sustainable.latency import (
    EVENT_TIME,
    PROCESSING_TIME,
    SINCE,
    latency_plot,
    latency_statistics,
    reader,
    timeline,
)
from streamgauge.studies.sustainable.throughput import load_is_bound, load_words

BOTH = {EVENT_TIME: "event time", PROCESSING_TIME: "processing time"}


def fluctuating(context: Context) -> list[Panel]:
    """Latency and throughput at the queues of each program while the load falls and rises."""
    shown = [result for result in context.results if result.has_result]
    plots = []
    for program in context.order("program"):
        chosen = [result for result in shown if result.dimensions["program"] == program]
        plots += latency_plot(context, chosen, f"{program}-latency", f"Event-time latency, {program}", wide=False)
        rates = {"offered": (reader("offered"), "dot"), "taken": (reader("ingested"), "solid")}
        plots += timeline(
            context, chosen, f"{program}-rates", f"At the queues, {program}", rates, "records/s", wide=False
        )
    return [*unusable(shown), Panel(plots=plots, tables=[*_statistics(shown), *marks_table(context.exhibit.marks)])]


def event_and_processing_time(context: Context) -> list[Panel]:
    """Both latencies of the same results over time."""
    shown = [result for result in context.results if result.has_result]
    plots = latency_plot(context, shown, "both", "Median latency: event time and processing time", BOTH)
    finding = " ".join(filter(None, (_growth_words(context.reproduction, result) for result in shown if result.usable)))
    return [*unusable(shown), Panel(finding=finding, plots=plots, tables=_statistics(shown))] if shown else []


def _growth_words(reproduction: Reproduction, result: ExperimentResult) -> str:
    """Both kinds at the beginning and at the end of the measured interval."""
    interval = measured_interval(result)
    if result.source is None or interval is None:
        return ""
    parts = []
    for kind, words in BOTH.items():
        points = within(reader(f"{kind}_p50")(result.source), 0.0, interval[1] - interval[0])
        values = [value for _, value in points if value is not None]
        if len(values) > 1:
            parts.append(f"{words} {' → '.join(rounded(value) for value in quarters(values))} ms")
    state = "" if result.summary is None or result.summary.sustained is not False else ", not sustained"
    if load_is_bound(reproduction, result):
        state += ", of a bound of what it sustains"
    return f"{result.title}{state}: {', '.join(parts)} (first → last quarter)." if parts else ""


def quarters(values: Sequence[float]) -> tuple[float, float]:
    """The medians of the first and the last quarter: the points of a single window differ."""
    count = max(len(values) // 4, 1)
    return median(values[:count]), median(values[-count:])


def _statistics(shown: Sequence[ExperimentResult]) -> list[Table]:
    head = ["run", "rate, records/s", "latency", "avg, ms", "p50, ms", "p99, ms", "max, ms", "verdict"]
    rows = []
    for result in shown:
        for kind, words in BOTH.items():
            found = latency_statistics(result, kind)
            if found:
                cells = [result.title, number(result.value("rate_per_s.offered")), words]
                cells += [number(found.get("mean")), number(result.value(f"latency_ms.{kind}.p50"))]
                cells += [number(found.get("p99")), number(found.get("max")), verdict_words(result)]
                rows.append(Row(cells, muted=not result.usable))
    note = (
        "Event time: from the event time of the latest record of a result to its arrival at the collector. Processing "
        "time: from the moment when the last of its records was handed to the engine; the wait in the queues is not in "
        "it."
    )
    return [Table("Latencies", head, rows, frozenset({1, 3, 4, 5, 6}), note)] if rows else []


def backpressure(context: Context) -> list[Panel]:
    """Records in the queues over time, and how full they were."""
    shown = [result for result in context.results if result.has_result and _queued(result)]
    plots = []
    for program in context.order("program"):
        for size in context.order("cluster"):
            chosen = [
                result
                for result in shown
                if (result.dimensions["program"], result.dimensions["cluster"]) == (program, size)
            ]
            title, name = f"{program.capitalize()}, cluster {size}", f"{program}-{size.removesuffix('×')}x"
            plots += timeline(context, chosen, name, title, {"": (reader("queued"), "solid")}, "records", wide=False)
    rows = []
    for result in shown:
        values = [value for _, value in _queued(result) if value is not None]
        offered = result.value("rate_per_s.offered") or math.nan
        cells = [result.title, number(offered), number(sum(values) / len(values)), number(max(values))]
        rows.append(Row([*cells, number(max(values) / offered, 2), verdict_words(result)], muted=not result.usable))
    head = ["run", "rate, records/s", "mean, records", "highest, records", "highest, s of load", "verdict"]
    note = "Records that had not been handed to the engine, mean of each second of the measured interval."
    tables = [Table("Records in the queues", head, rows, frozenset({1, 2, 3, 4}), note)] if rows else []
    return [*unusable(shown), Panel(plots=plots, tables=tables)] if tables else []


def _queued(result: ExperimentResult) -> list[Point]:
    interval = measured_interval(result)
    if result.source is None or interval is None:
        return []
    return within(reader("queued")(result.source), 0.0, interval[1] - interval[0])


def throughput_over_time(context: Context) -> list[Panel]:
    """Records per second that each engine took from the queues."""
    shown = [result for result in context.results if result.has_result]
    plots, rows = [], []
    for load in context.order("load"):
        chosen = [result for result in shown if result.dimensions["load"] == load]
        series = {"": (reader("ingested"), "solid")}
        name = load.split()[0]
        plots += timeline(context, chosen, name, f"{load} of the sustainable throughput", series, "records/s")
        for result in chosen:
            taken = _taken(result)
            if taken:
                mean = sum(taken) / len(taken)
                spread = math.sqrt(sum((value - mean) ** 2 for value in taken) / len(taken))
                cells = [
                    load_words(context.reproduction, result),
                    result.engine,
                    number(mean),
                    number(min(taken)),
                    number(max(taken)),
                ]
                cells += [number(100 * spread / mean, 1) if mean else number(None), verdict_words(result)]
                rows.append(Row(cells, muted=not result.usable))
    head = ["load", "engine", "mean, records/s", "lowest", "highest", "spread, %", "verdict"]
    note = "Of the whole seconds of the measured interval. Spread: standard deviation over the mean."
    tables = [Table("Throughput at the queues", head, rows, frozenset({2, 3, 4, 5}), note)] if rows else []
    return [*unusable(shown), Panel(plots=plots, tables=tables)] if tables else []


def _taken(result: ExperimentResult) -> list[float]:
    interval = measured_interval(result)
    if result.source is None or interval is None:
        return []
    points = within(reader("ingested")(result.source), 0.5, interval[1] - interval[0] - 0.5)
    return [value for _, value in points if value is not None]


def node_resources(context: Context) -> list[Panel]:
    """CPU and network of each node over time, and their means."""
    measures = (("cpu", "CPU", "cores", ("cpu_s",)), ("network", "Network", "MB/s", ("received_mb", "sent_mb")))
    panels, rows = [], []
    for result in context.results:
        if not result.has_result or result.source is None:
            continue
        plots = []
        used = {name: _per_node(result, fields) for name, _, _, fields in measures}
        for name, title, unit, _ in measures:
            plots += _node_plot(context, result, used[name], name, title, unit)
        if plots:
            panels.append(Panel(result.title, result.verdict, result.why, plots=plots))
        for role in used["cpu"]:
            cells = [result.engine, role]
            for of_nodes in used.values():
                values = [value for _, value in of_nodes.get(role, []) if value is not None]
                cells += [number(sum(values) / len(values), 2), number(max(values), 2)] if values else [NONE, NONE]
            rows.append(Row([*cells, verdict_words(result)], muted=not result.usable))
    head = ["engine", "node", "CPU, mean, cores", "highest", "network, mean, MB/s", "highest", "verdict"]
    tables = [Table("Use of each node", head, rows, frozenset({2, 3, 4, 5}))] if rows else []
    return [*panels, Panel(tables=[*tables, *marks_table(context.exhibit.marks)])]


def _per_node(result: ExperimentResult, fields: Sequence[str]) -> dict[str, list[Point]]:
    """How fast running sums of each node grow in the measured interval, where they are known."""
    source, interval = result.source, measured_interval(result)
    if source is None or interval is None:
        return {}
    nodes = [process for process in source.manifest.processes if process.node]
    points = {
        node.role: [
            (second - interval[0], value)
            for second, value in within(_growth_per_s(source, (node.role, *node.members), fields), *interval)
        ]
        for node in nodes
    }
    return {role: of_node for role, of_node in points.items() if any(value is not None for _, value in of_node)}


def _node_plot(
    context: Context, result: ExperimentResult, of_nodes: Mapping[str, list[Point]], name: str, title: str, unit: str
) -> list[Plot]:
    if not of_nodes:
        return []
    traces = [
        line(role, [x for x, _ in points], [y for _, y in points], unit=unit, **series_look(position))
        for position, (role, points) in enumerate(of_nodes.items())
    ]
    drawn = over_seconds(traces, SINCE, linear(unit))
    caption = f"{unit} of each node of {result.engine}."
    return [
        Plot(f"{context.id}-{result.engine}-{name}", f"{title} of {result.engine}", drawn, caption, 17.0, wide=False)
    ]


def _growth_per_s(source: Source, roles: Sequence[str], fields: Sequence[str]) -> list[Point]:
    """How fast running sums of these roles grow, in seconds since the start of the load."""
    sums: dict[float, float] = {}
    for sample in source.resources:
        values = [getattr(sample, field) for field in fields]
        if sample.role in roles and None not in values:
            second = source.since_start_s(sample.t_ns)
            sums[second] = sums.get(second, 0.0) + sum(values)
    return [
        (now, (sums[now] - sums[before]) / (now - before) if sums[now] >= sums[before] else None)
        for before, now in pairwise(sorted(sums))
    ]


def scheduler_delay(context: Context) -> list[Panel]:
    """How late each batch began, and the throughput at the queues beside it."""
    shown = [result for result in context.results if result.has_result and _delays(result)]
    plots = []
    for result in shown:
        label = result.dimensions["load"]
        interval = measured_interval(result)
        assert interval is not None
        length_s = interval[1] - interval[0]
        points = within(_delays(result), 0.0, length_s)
        if points:
            x, y = [x for x, _ in points], [y for _, y in points]
            traces = [line(f"{result.engine}, {label}", x, y, context.color(result), "ms")]
            caption = f"Highest {number(max(value for value in y if value is not None))} ms."
            drawn = over_seconds(traces, SINCE, linear("ms"))
            name = label.split()[0]
            title = f"Scheduler delay, {label} of the sustainable throughput"
            plots.append(Plot(f"{context.id}-delay-{name}", title, drawn, caption, 17.0, wide=False))
            series = {"": (reader("ingested"), "solid")}
            title = f"Throughput at the queues, {label}"
            plots += timeline(context, [result], f"taken-{name}", title, series, "records/s", wide=False)
    return [*unusable(shown), Panel(plots=plots)] if plots else []


def _delays(result: ExperimentResult) -> list[Point]:
    interval = measured_interval(result)
    if result.source is None or interval is None or not result.source.batches:
        return []
    trigger_ms = result.source.manifest.engine.options.get("trigger_ms")
    if not isinstance(trigger_ms, int) or not trigger_ms:
        return []
    start_ms = result.source.load_start_ns / 1e6 + 1000 * interval[0]
    return [
        ((began_ms - start_ms) / 1000, delay_ms) for began_ms, delay_ms in delays_ms(result.source.batches, trigger_ms)
    ]


def delays_ms(batches: Sequence[BatchSample], trigger_ms: int) -> list[tuple[float, float]]:
    """When each batch began, and by how much that was later than its trigger.

    A batch is due at the first multiple of the interval after the one before it began.
    """
    began = [batch.began_ms for batch in batches if batch.began_ms is not None]
    return [(float(now), max(now - (before // trigger_ms + 1) * trigger_ms, 0.0)) for before, now in pairwise(began)]
