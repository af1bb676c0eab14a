"""What a broker costs: the same programs at the same rate with queues and with Kafka, and what each sustains."""

from __future__ import annotations

from streamgauge.report.exhibit import Context, Panel, Row, Table, unusable, verdict_words
from streamgauge.report.reproduction import CAPACITY, ExperimentResult
from streamgauge.report.text import NONE, number, rounded
from streamgauge.studies.sustainable.experiments import KAFKA, PROGRAMS, QUEUE, SIZES, capacity_name
from streamgauge.studies.sustainable.latency import EVENT_TIME, PROCESSING_TIME
from streamgauge.studies.sustainable.throughput import edge_per_s, rate_words

_LATENCIES = {"avg": "mean", "p50": "p50", "p99": "p99"}


def broker(context: Context) -> list[Panel]:
    """One row for each program, engine and transport, and the ratio of both."""
    shown = [result for result in context.results if result.has_result]
    by_key = {(one.purpose, one.engine, one.dimensions["program"], one.dimensions["transport"]): one for one in shown}
    for result in context.reproduction.experiments:
        # What queues sustain is an experiment of its own.
        for program in PROGRAMS:
            if result.name == capacity_name(program, SIZES[0]) and result.has_result:
                by_key[result.purpose, result.engine, program, QUEUE] = result
    rows, findings = [], []
    for program in PROGRAMS:
        for engine in context.reproduction.engines:
            runs = {transport: by_key.get(("run", engine, program, transport)) for transport in (QUEUE, KAFKA)}
            searches = {transport: by_key.get(("capacity", engine, program, transport)) for transport in (QUEUE, KAFKA)}
            if not any(runs.values()):
                continue
            for transport in (QUEUE, KAFKA):
                rows.append(_row(program, engine, transport, runs[transport], searches[transport]))
            rows.append(_ratios(program, engine, runs, searches))
            findings.append(_finding(program, engine, runs, searches))
    head = ["program", "engine", "transport", "rate, records/s"]
    head += [f"event time, {name}, ms" for name in _LATENCIES]
    head += ["processing time, p50, ms", "sustained, records/s", "verdict"]
    note = (
        "Latencies are at the same rate with both transports, half of what is sustained with queues on the smallest "
        "cluster. Kafka against queue: the ratio of both. A broker does not know when it handed a record to the "
        "engine, so the processing time is unknown with Kafka, and probes are judged by the latency and the backlog "
        "alone. What is sustained with Kafka is searched for the aggregation only. ≥: the engine was not the limit of "
        "the search."
    )
    tables = [Table("Kafka against queues", head, rows, frozenset(range(3, 9)), note)] if rows else []
    finding = " ".join(filter(None, findings))
    return [*unusable(shown), Panel(finding=finding, tables=tables)] if tables else []


def _row(
    program: str, engine: str, transport: str, run: ExperimentResult | None, search: ExperimentResult | None
) -> Row:
    if run is None:
        latencies = [NONE] * (2 + len(_LATENCIES))
    else:
        latencies = [number(run.value("rate_per_s.offered"))]
        latencies += [number(_event_time(run, key)) for key in _LATENCIES.values()]
        latencies += [number(run.value(f"latency_ms.{PROCESSING_TIME}.p50"))]
    usable = run is not None and run.usable
    sustained = NONE if search is None else rate_words(search)
    verdict = NONE if run is None else verdict_words(run)
    return Row([program, engine, transport, *latencies, sustained, verdict], muted=not usable)


def _ratios(
    program: str,
    engine: str,
    runs: dict[str, ExperimentResult | None],
    searches: dict[str, ExperimentResult | None],
) -> Row:
    latencies = [_ratio(runs, f"latency_ms.{EVENT_TIME}.{key}") for key in _LATENCIES.values()]
    cells = [program, engine, "Kafka against queue", NONE, *latencies, NONE, _ratio(searches, CAPACITY), ""]
    return Row(cells)


def _ratio(both: dict[str, ExperimentResult | None], metric: str) -> str:
    ratio = _quotient(both, metric)
    return NONE if ratio is None else f"{rounded(ratio)} ×"


def _quotient(both: dict[str, ExperimentResult | None], metric: str) -> float | None:
    """Of runs that may be used, and of rates where the engine was the limit."""
    kafka, queue = (
        (edge_per_s(one) if metric == CAPACITY else one.value(metric))
        if (one := both[transport]) is not None and one.usable
        else None
        for transport in (KAFKA, QUEUE)
    )
    return kafka / queue if kafka is not None and queue else None


def _event_time(run: ExperimentResult, key: str) -> float | None:
    return run.value(f"latency_ms.{EVENT_TIME}.{key}")


def _finding(
    program: str,
    engine: str,
    runs: dict[str, ExperimentResult | None],
    searches: dict[str, ExperimentResult | None],
) -> str:
    latency, rate = _quotient(runs, f"latency_ms.{EVENT_TIME}.p50"), _quotient(searches, CAPACITY)
    parts = []
    if latency is not None:
        parts.append(f"{rounded(latency)} × the median latency at the same rate")
    if rate is not None:
        parts.append(f"{rounded(rate)} × the sustainable throughput")
    return f"{engine}, {program}, with Kafka instead of queues: {' and '.join(parts)}." if parts else ""
