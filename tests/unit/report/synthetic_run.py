"""Run directories as a real run leaves them, without running one: 40 s whose numbers agree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from run_files import change, write_manifest
from streamgauge.evaluate.metrics.heatmap import EDGES_MS
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.model.samples import BatchSample, ClockSample, MachineSample, PositionsSample, ResourceSample, Sample
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json

RATE, WARMUP_S, MEASURED_S, TAIL_S, DRAIN_S = 400, 10, 30, 1, 5
LOAD_S = WARMUP_S + MEASURED_S + TAIL_S
START_NS = 1_794_737_700 * NS_PER_S


def write_valid(path: Path) -> RunDir:
    """A steady run with one warning."""
    run = RunDir.create(path)
    write_manifest(run, manifest())
    write_json(run.outcome_path, outcome())
    total, late = latencies_ms()
    write_measures(run, total, late)
    write_samples(run, from_s=-12, to_s=LOAD_S + DRAIN_S)
    write_json(run.summary_path, summary(total))
    return run


def write_invalid(path: Path) -> RunDir:
    """A run whose generator stood still for a third of a second."""
    run = write_valid(path)
    total, late = latencies_ms()
    late[(WARMUP_S + 17) * RATE : (WARMUP_S + 18) * RATE] += 320
    total += late
    write_measures(run, total, late)
    content = summary(total)
    content["rate_per_s"] |= {"achieved": 399.6, "worst_second": 272}
    content |= {
        "verdict": "INVALID",
        "state": "drifting",
        "sustained": None,
        "reasons": ["generator: a record was 327 ms late; the limit is 200 ms (second 27)"],
        "warnings": ["the machine was busy before the run: load 1.9 on 2 cores"],
    }
    content["generator"] |= {"late_max_ms": float(late.max()), "late_p99_ms": 318.2}
    write_json(run.summary_path, content)
    return run


def write_bursts(path: Path, burst: dict[str, Any] | None = None) -> RunDir:
    """A run with these figures of its bursts: two, one of them wide, where nothing else is said."""
    run = write_valid(path)
    content = manifest()
    content["scenario"]["load"] |= {"burst_records": 4000, "burst_s": 0.175, "burst_every_s": 10.0}
    write_manifest(run, content)
    write_json(run.outcome_path, {**outcome(), "engine_start_ns": START_NS + 11 * NS_PER_S})
    figures = {"p50_before_ms": 410.0, "p50_peak_ms": 1250.0, "p99_peak_ms": None, "elevated_s": 3}
    bursts = [
        {"start_s": 19.825, "width_ms": 174.9, "wide": False, **figures},
        {"start_s": 29.825, "width_ms": 312.4, "wide": True, **figures},
    ]
    periodic = {"kind": "periodic", "bursts": bursts, "wide": 1, "elevated_s": 3, "p99_peak_ms": None}
    change(run.summary_path, burst=burst or periodic)
    return run


def write_preloaded(path: Path) -> RunDir:
    """A run whose input was all written before the engine started, which took it in eight seconds."""
    run = write_valid(path)
    content = manifest()
    content["scenario"]["load"] |= {"shape": "preloaded", "preloaded": 16_000, "rate_per_s": 0}
    write_manifest(run, content)
    at_s = {"load_start_ns": 0, "measured_start_ns": 0, "measured_end_ns": 2, "load_end_ns": 2}
    at_s |= {"engine_start_ns": 2, "engine_ready_ns": 6, "drain_end_ns": 20}
    write_json(run.outcome_path, {**outcome(), **{name: START_NS + s * NS_PER_S for name, s in at_s.items()}})
    seconds = pq.read_table(run.measures("seconds")).to_pylist()[:20]
    for second, row in enumerate(seconds):
        row |= {"offered": 0, "sent": 8000 if second < 2 else 0, "appended": 8000 if second < 2 else 0}
        row |= {"output": 2000 if 6 <= second < 14 else 0}
    pq.write_table(pa.Table.from_pylist(seconds), run.measures("seconds"))
    for second in range(20):
        taken = 2000 * min(max(second - 6, 0), 8)
        appended = {"flow": 8000, "speed": 8000, "output": taken}
        run.append_samples(PositionsSample(t_ns=START_NS + second * NS_PER_S, appended=appended, consumed=taken))
    processing = {"records": 16_000, "bytes": 4_000_000, "startup_s": 4.0, "seconds": 8.0}
    change(run.summary_path, processing={**processing, "records_per_s": 2000.0, "mb_per_s": 0.5})
    return run


def write_faults(path: Path) -> RunDir:
    """A run in batches with three faults, the last of which found nothing to act on."""
    run = write_valid(path)
    write_engine_reports(run)
    asked = ("pause engine for 2s at 10s", "kill worker-2 at 50%", "kill worker-2 at 25s")
    effects: tuple[tuple[int, float | None], ...] = ((20, 22.0), (25, 25.1), (35, None))
    actions = [
        {
            "fault": fault,
            "verb": fault.split()[0],
            "role": fault.split()[1],
            "planned_ns": START_NS + at_s * NS_PER_S,
            "acted_ns": None if end_s is None else START_NS + at_s * NS_PER_S,
            "ended_ns": None if end_s is None else START_NS + round(end_s * NS_PER_S),
            "took_effect": end_s is not None,
            "why_not": "worker-2 was not running" if end_s is None else None,
        }
        for fault, (at_s, end_s) in zip(asked, effects, strict=True)
    ]
    write_json(run.outcome_path, {**outcome(), "faults": actions})
    figures: tuple[dict[str, Any], ...] = (
        {"acted_s": 10.0, "ended_s": 12.0, "outage_s": 2.31, "gap_before_s": 0.47, "first_output_s": 2.12,
         "latency_limit_ms": 700.0, "latency_back_s": 3.0, "backlog_limit": 300.0, "backlog_back_s": 4.0,
         "outage_worst_s": 3.4, "gap_before_worst_s": 0.9, "partitions": 4, "partitions_judged": 3,
         "partitions_affected": 2, "partitions_silent": 1},
        {"acted_s": 15.0, "ended_s": 15.1, "outage_s": 0.47, "gap_before_s": 0.47, "first_output_s": 0.21,
         "latency_limit_ms": 700.0, "latency_back_s": None, "backlog_limit": None, "backlog_back_s": None},
        {},
    )  # fmt: skip
    described = [
        {
            **{key: action[key] for key in ("fault", "verb", "role", "took_effect", "why_not")},
            "latency": "total",
            **recovery,
        }
        for action, recovery in zip(actions, figures, strict=True)
    ]
    change(run.summary_path, faults=described)
    return run


def write_failed(path: Path) -> RunDir:
    """A run whose engine died before the load could start."""
    run = RunDir.create(path)
    write_manifest(run, manifest())
    nothing = dict.fromkeys(("load_start_ns", "measured_start_ns", "measured_end_ns", "load_end_ns", "drain_end_ns"))
    log_tail = "java.lang.OutOfMemoryError: Java heap space\n\tat org.example.Main.main(Main.java:7)"
    ended = {"role": "engine", "group": "engine", "exit_code": 137, "log_tail": log_tail}
    write_json(
        run.outcome_path,
        {**nothing, "drain": None, "interrupted": False, "ends": {}, "ended": [ended], "load_error": None},
    )
    write_samples(run, from_s=0, to_s=6)
    write_json(
        run.summary_path,
        {
            **{key: summary(np.ones(1))[key] for key in ("format", "run", "study", "scenario", "profile", "engine")},
            "verdict": "FAILED",
            "state": None,
            "sustained": None,
            "reasons": ["engine ended with exit code 137 before the load started"],
            "warnings": [],
            "results": dict.fromkeys(summary(np.ones(1))["results"], 0),
            "latency_ms": {},
            "rate_per_s": {"offered": RATE, "achieved": None, "worst_second": None, "output": None},
            "generator": None,
            "backlog": None,
            "resources": {},
            "repetitions": [],
            "slo": [],
            "report": "report.html",
        },
    )
    return run


def manifest() -> dict[str, Any]:
    return {
        "run": "ospbench-latency-spark-20261115-101500-1a2b",
        "tool": "0.1.0",
        "scenario": {
            "study": "ospbench",
            "name": "latency",
            "profile": "laptop",
            "title": "Latency at a constant rate",
            "dataset": "traffic",
            "stage": "ingest",
            "pipeline": "ospbench/ingest",
            "parameters": {},
            "partitions": 2,
            "out_of_order_ms": 500,
            "drain_deadline_s": 60.0,
            "sustained": "slope",
            "seed": 1,
            "scaled": {"measured_s": [30.0, 1500.0], "partitions": [2, 20]},
            "load": {"rate_per_s": RATE, "warmup_s": 10.0, "measured_s": 30.0, "tail_s": 1.0},
        },
        "engine": {
            "name": "spark",
            "title": "Spark Structured Streaming",
            "version": "4.2.0",
            "versions": {"spark": "4.2.0"},
            "delivery": "at-least-once",
            "options": {"trigger_ms": 0, "realtime": False, "cores": 2},
        },
        "transport": {
            "name": "kafka",
            "own": True,
            "bootstrap": "127.0.0.1:41234",
            "topic_settings": {"message.timestamp.type": "LogAppendTime", "retention.ms": "-1"},
        },
        "streams": [
            {"name": name, "topic": f"1a2b-{name}", "partitions": 2, "role": role}
            for name, role in (("flow", "input"), ("speed", "input"), ("output", "output"))
        ],
        "versions": {
            "streamgauge": "0.1.0",
            "python": "3.11.7",
            "java": "17.0.15",
            "jars": {
                "org.apache.kafka:kafka_2.13": "4.1.0",
                "org.apache.spark:spark-sql-kafka-0-10_2.13": "4.2.0",
            },
        },
        "machine": {
            "system": "Linux",
            "kernel": "6.1.0",
            "cpu": "Example CPU @ 2.5 GHz",
            "cores": 2,
            "memory_mb": 24000,
            "load_at_start": 0.4,
        },
        "processes": [
            {
                "role": "broker",
                "group": "broker",
                "argv": ["java", "-Xmx512m", "kafka.Kafka", "server.properties"],
            },
            {"role": "engine", "group": "engine", "argv": ["python", "-m", "job", "with space", "job.json"]},
        ],
        "shared_cores": True,
        "command": "streamgauge run ospbench/latency --engine spark --set stage=ingest --seed 1",
    }


def outcome() -> dict[str, Any]:
    moments = {
        "load_start_ns": 0,
        "measured_start_ns": WARMUP_S,
        "measured_end_ns": WARMUP_S + MEASURED_S,
        "load_end_ns": LOAD_S,
        "drain_end_ns": LOAD_S + DRAIN_S,
    }
    return {
        **{name: START_NS + second * NS_PER_S for name, second in moments.items()},
        "drain": "quiet",
        "interrupted": False,
        "ends": {
            "flow": {"0": 4100, "1": 4100},
            "speed": {"0": 4100, "1": 4100},
            "output": {"0": 8200, "1": 8200},
        },
        "ended": [],
        "load_error": None,
    }


def latencies_ms() -> tuple[np.ndarray, np.ndarray]:
    """``total`` of every record, as batches of about half a second give it, and each record's lateness."""
    random = np.random.default_rng(7)
    n = np.arange(RATE * LOAD_S)
    into_batch_ms = (n * 1000 / RATE) % 470
    warm = 900 * np.exp(-n / RATE / 3)
    total = 180 + (470 - into_batch_ms) + random.gamma(2.0, 18.0, len(n)) + warm
    return total, random.gamma(1.2, 0.5, len(n))


def write_measures(run: RunDir, total: np.ndarray, late: np.ndarray) -> None:
    due_s = np.arange(len(total)) / RATE
    out_s, latest = due_s + total / 1000, np.floor(total - late)
    all_s = np.arange(LOAD_S + DRAIN_S)
    ends_s = np.append(all_s, LOAD_S + DRAIN_S)
    sent = np.histogram(due_s + late / 1000, ends_s)[0]
    phase_s = {"warmup": WARMUP_S, "measured": MEASURED_S, "tail": TAIL_S, "drain": DRAIN_S}
    seconds = {
        "second": all_s,
        "phase": np.repeat(list(phase_s), list(phase_s.values())),
        "offered": np.histogram(due_s, ends_s)[0],
        "sent": sent,
        "appended": sent,
        "output": np.histogram(out_s, ends_s)[0],
        "late_max_ms": while_loading(late.reshape(LOAD_S, RATE).max(axis=1)),
        "backlog": [int(((due_s <= second + 1) & (out_s > second + 1)).sum()) for second in all_s],
    }
    for kind, values in (("total", total), ("latest", latest)):
        of_each = np.percentile(values.reshape(LOAD_S, RATE), (50, 99, 100), axis=1)
        seconds |= {
            f"{kind}_{name}": while_loading(of) for name, of in zip(("p50", "p99", "max"), of_each, strict=True)
        }
    pq.write_table(pa.table(seconds), run.measures("seconds"))
    measured = slice(WARMUP_S * RATE, (WARMUP_S + MEASURED_S) * RATE)
    kinds = []
    for kind, values in (("total", total), ("latest", latest), ("average", latest - 1)):
        distinct, counts = np.unique(values[measured], return_counts=True)
        kinds.append(pa.table({"kind": [kind] * len(distinct), "value_ms": distinct, "count": counts}))
    pq.write_table(pa.concat_tables(kinds), run.measures("latency"))
    buckets = np.searchsorted(EDGES_MS, total, side="right") - 1
    both, counts = np.unique(due_s.astype(int) * len(EDGES_MS) + buckets, return_counts=True)
    second, bucket = np.divmod(both, len(EDGES_MS))
    edges = {"from_ms": EDGES_MS[bucket], "to_ms": EDGES_MS[bucket + 1]}
    pq.write_table(
        pa.table({"kind": ["total"] * len(counts), "second": second, **edges, "count": counts}), run.measures("heatmap")
    )


def while_loading(values: np.ndarray) -> pa.Array:
    """A value for each second of the load, none for those of the drain."""
    return pa.array([*values.tolist(), *[None] * DRAIN_S])


def write_samples(run: RunDir, from_s: int, to_s: int) -> None:
    random = np.random.default_rng(11)
    roles = {"broker": (0.12, 310, 140.0), "engine": (0.9, 1240, 520.0), "load": (0.25, 95, None)}
    used = dict.fromkeys(roles, 0.0)
    samples: list[Sample] = []
    for second in range(from_s, to_s):
        t_ns = START_NS + second * NS_PER_S + int(random.integers(0, 3 * NS_PER_MS))
        for role, (cores, rss_mb, heap_mb) in roles.items():
            used[role] += cores * random.uniform(0.8, 1.2) * (1.6 if second < from_s + 8 else 1.0)
            collected = (second - from_s) // (17 if role == "broker" else 7) if heap_mb else None
            samples.append(
                ResourceSample(
                    t_ns=t_ns,
                    role=role,
                    group=role,
                    cpu_s=round(used[role], 3),
                    rss_mb=rss_mb * min(1.0, 0.5 + (second - from_s) / 20),
                    heap_used_mb=heap_mb * (0.4 + (second % 7) / 12) if heap_mb else None,
                    heap_committed_mb=heap_mb,
                    gc_count=collected,
                    gc_ms=None if collected is None else collected * 14,
                )
            )
        pressure = {f"psi_{what}_some": random.uniform(0, most) for what, most in (("cpu", 0.2), ("io", 0.02))}
        busy = {
            "cpu_busy": random.uniform(0.55, 0.75),
            "steal": random.uniform(0, 0.02),
            "psi_memory_some": None,
        }
        samples.append(MachineSample(t_ns=t_ns, load1=1.2, **busy, **pressure))
        drift_ns = second * 12_000 + int(random.normal(0, 3000))
        samples.append(ClockSample(t_ns=t_ns, mono_ns=t_ns - START_NS + drift_ns, bracket_ns=900))
    run.append_samples(*sorted(samples, key=lambda sample: sample.kind))


def write_engine_reports(run: RunDir) -> None:
    """Batches of a second, which get longer, and an input whose second partition is always behind."""
    for second in range(LOAD_S):
        t_ns, taken = START_NS + second * NS_PER_S, 2 * RATE * second
        appended = {"flow": RATE * second, "speed": RATE * second, "output": taken}
        lag = {"flow": [10, 300 + second], "speed": [0, 20]}
        run.append_samples(
            PositionsSample(t_ns=t_ns, appended=appended, consumed=taken, lag_by_partition=lag),
            BatchSample(t_ns=t_ns, batch=second, duration_ms=400 + 2 * second, rows=2 * RATE),
        )


def summary(total: np.ndarray) -> dict[str, Any]:
    measured = total[WARMUP_S * RATE : (WARMUP_S + MEASURED_S) * RATE] if len(total) > 1 else total
    percentiles = {f"p{str(p).replace('.', '')}": float(np.percentile(measured, p)) for p in (50, 90, 99, 99.9)}
    of_total = {
        "count": len(measured),
        **percentiles,
        "max": float(measured.max()),
        "mean": float(measured.mean()),
    }
    results = RATE * (WARMUP_S + MEASURED_S)
    return {
        "format": 1,
        "run": "ospbench-latency-spark-20261115-101500-1a2b",
        "study": "ospbench",
        "scenario": "latency",
        "profile": "laptop",
        "engine": {"name": "spark", "version": "4.2.0", "options": {"trigger_ms": 0}},
        "verdict": "VALID",
        "state": "steady",
        "sustained": True,
        "reasons": [],
        "warnings": ["generator: the worst second was 31, 4.6 ms late"],
        "results": {
            "expected": results,
            "matched": results,
            "wrong": 0,
            "lost": 0,
            "unfinished": 0,
            "duplicates": 0,
            "intermediate": 0,
            "reverted": 0,
            "unexpected": 0,
        },
        "latency_ms": {
            "total": of_total,
            "latest": {name: value if name == "count" else value - 1 for name, value in of_total.items()},
            "average": {**of_total, "p999": None},
            "generator_share": {"count": len(measured), "p50": 0.5, "p90": 1.2, "p99": 2.7, "max": 5.0, "mean": 0.6},
        },
        "rate_per_s": {"offered": RATE, "achieved": 399.93, "worst_second": 400, "output": 400.1},
        "generator": {
            "late_p50_ms": 0.46,
            "late_p99_ms": 2.6,
            "late_max_ms": 4.6,
            "errors": 0,
            "late_max_limit_ms": 200.0,
            "late_p99_limit_ms": 20.0,
        },
        "backlog": {"end": 163, "slope_per_s": -0.31, "slope_ci": [-1.4, 0.62]},
        "resolution_ms": {
            "total": {"stamp": 1.0, "visible_p50": 0.0, "visible_max": 0.0, "clock": 1.1},
            "latest": {"stamp": 1.0, "visible_p50": 20.6, "visible_max": 25.3, "clock": 0.0},
            "average": {"stamp": 1.0, "visible_p50": None, "visible_max": None, "clock": None},
        },
        "clock": {"step_max_ms": 0.024, "broker_offset_ms": [-0.4, 0.7]},
        "resources": {
            "engine": {"cpu_mean": 0.91, "rss_max_mb": 1240, "heap_max_mb": 498, "gc_ms": 56},
            "broker": {"cpu_mean": 0.12, "rss_max_mb": 310, "heap_max_mb": 126, "gc_ms": 14},
            "load": {"cpu_mean": 0.25, "rss_max_mb": 95, "heap_max_mb": None, "gc_ms": None},
        },
        "repetitions": [],
        "slo": [],
        "report": "report.html",
    }
