"""Experiments of the study sustainable with chosen figures, as `streamgauge reproduce` leaves them.

The load runs for 7 s; its seconds 2 to 5 are measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import synthetic_run
from synthetic_study import about, write_reproduction

from run_files import content, write_manifest
from streamgauge.model import NS_PER_S
from streamgauge.model.samples import BatchSample, ResourceSample, Sample
from streamgauge.report.exhibit import Context, Panel, Plot
from streamgauge.report.reproduction import read_reproduction
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json
from streamgauge.studies.sustainable import STUDY

EXPERIMENTS = {one.name: one for one in STUDY.experiments}
START_NS = synthetic_run.START_NS
START_MS = START_NS // 1_000_000
WARMUP_S, MEASURED_S, LOAD_S, RUN_S = 2, 4, 7, 8
MIDDLES = [0.5, 1.5, 2.5, 3.5]
"""Of the measured seconds, since the first of them began."""
OUTSIDE = 77_777.0
"""The value of the seconds that are not measured."""
EVEN_MS = [1000.0 + value for value in range(1001)]
"""Latencies of 1 to 2 s: percentile p is 1 s + p % of a second."""


def run(
    out: Path,
    name: str,
    engine: str = "spark",
    *,
    rate: int = 1000,
    columns: Mapping[str, Sequence[float | None]] | None = None,
    latencies: Mapping[str, Sequence[float]] | None = None,
    verdict: str = "VALID",
    samples: Sequence[Sample] = (),
    nodes: int = 1,
    **summary: Any,
) -> dict[str, Any]:
    """A run that came to its end.

    ``columns``: of ``seconds.parquet``, one value for each measured second. ``latencies``: every latency by its kind.
    """
    directory = f"runs/{name}-{engine}"
    latencies = {"total": EVEN_MS} if latencies is None else latencies
    reasons = [] if verdict == "VALID" else ["a reason"]
    changed = {
        "verdict": verdict,
        "reasons": reasons,
        "latency_ms": {kind: figures(latencies[kind]) for kind in latencies},
    }
    changed |= {"rate_per_s": {"offered": rate, "achieved": rate, "output": rate}, **summary}
    written = write_run(out / directory, engine, nodes, changed)
    write_seconds(written, columns or {})
    write_latencies(written, latencies)
    written.append_samples(*samples)
    return done(name, engine, directory, verdict, reasons) | {"summary": content(written.summary_path)}


def done(name: str, engine: str, directory: str, verdict: str, reasons: Sequence[str]) -> dict[str, Any]:
    attempt = {"run": 1, "directory": directory, "verdict": verdict, "reasons": list(reasons)}
    ended = {"state": "done", "directory": directory, "attempts": [attempt], "verdict": verdict}
    return about(EXPERIMENTS[name], engine) | ended


def figures(values_ms: Sequence[float]) -> dict[str, float]:
    """As the summary has them; percentiles are the nearest values."""
    ordered = sorted(values_ms)
    p50, p99 = ordered[len(ordered) // 2], ordered[len(ordered) * 99 // 100]
    mean = sum(ordered) / len(ordered)
    return {"count": len(ordered), "p50": p50, "p99": p99, "max": ordered[-1], "mean": mean}


def write_run(path: Path, engine: str, nodes: int, summary: Mapping[str, Any]) -> RunDir:
    path.parent.mkdir(parents=True, exist_ok=True)
    written = RunDir.create(path)
    manifest = synthetic_run.manifest()
    manifest["scenario"] |= {"study": "sustainable", "transport": "queue"}
    trigger = {"trigger_ms": 1000} if engine == "spark" else {}
    manifest["engine"] |= {"name": engine, "options": trigger}
    manifest["processes"] += [node(place) for place in range(1, nodes + 1)]
    write_manifest(written, manifest)
    moments = {"load_start_ns": 0, "measured_start_ns": WARMUP_S, "measured_end_ns": WARMUP_S + MEASURED_S}
    moments |= {"load_end_ns": LOAD_S, "drain_end_ns": RUN_S}
    at_ns = {name: START_NS + second * NS_PER_S for name, second in moments.items()}
    write_json(written.outcome_path, {**synthetic_run.outcome(), **at_ns})
    write_json(written.summary_path, {**synthetic_run.summary(np.ones(1)), "warnings": [], **summary})
    return written


def node(place: int) -> dict[str, Any]:
    """A node whose work is done by a process that it starts."""
    members = [f"executor-{place}"]
    return {"role": f"worker-{place}", "group": "engine", "argv": ["worker"], "members": members, "node": True}


def write_seconds(run: RunDir, columns: Mapping[str, Sequence[float | None]]) -> None:
    before, after = [OUTSIDE] * WARMUP_S, [OUTSIDE] * (RUN_S - WARMUP_S - MEASURED_S)
    padded = {name: pa.array([*before, *values, *after], pa.float64()) for name, values in columns.items()}
    pq.write_table(pa.table({"second": list(range(RUN_S)), **padded}), run.measures("seconds"))


def write_latencies(run: RunDir, latencies: Mapping[str, Sequence[float]]) -> None:
    rows = [(kind, float(value)) for kind, values in latencies.items() for value in values]
    kinds, values_ms = [kind for kind, _ in rows], [value for _, value in rows]
    pq.write_table(pa.table({"kind": kinds, "value_ms": values_ms, "count": [1] * len(rows)}), run.measures("latency"))


def search(
    out: Path,
    name: str,
    engine: str = "spark",
    best: float | None = 1000,
    *,
    p50_ms: float | None = None,
    mean_ms: float | None = None,
    verdict: str = "VALID",
    nodes: int = 1,
    bound: bool = False,
) -> dict[str, Any]:
    """A search with one probe; what was not sustained is a quarter more than what was.

    ``bound``: no more could be sent.
    """
    directory, probe = f"runs/{name}-{engine}", "probes/01-1000"
    write_run(out / directory / probe, engine, nodes, {"latency_ms": {"total": {"mean": mean_ms}}})
    beyond = None if bound else 1000 if best is None else best * 1.25
    found_out = "ceiling" if bound else "missed" if best is None else "found"
    reasons = [] if verdict == "VALID" else ["a reason"]
    probes = {
        "value": best or 1000,
        "rate": best or 1000,
        "purpose": "bracket",
        "reason": "",
        "weak": False,
        "directory": probe,
    }
    probes |= {"verdict": "not sustained" if best is None else "sustained", "seconds": 9.0, "seconds_saved": 0.0}
    found = {
        "format": 1,
        "scenario": EXPERIMENTS[name].scenario,
        "engine": engine,
        "rule": "sustainable",
        "slo": [],
        "resolution": 0.25,
        "over": "rate_per_s",
        "unit": "records/s",
        "outcome": "invalid" if verdict == "INVALID" else found_out,
        "interval": [best, beyond],
        "confirmed": best is not None,
        "note": "",
        "best_latency_ms": None if p50_ms is None else {"p50": p50_ms, "p99": 2 * p50_ms},
        "guess": 1000,
        "probes": [{**probes, "total_p50": p50_ms, "total_p99": p50_ms}],
        "seconds": 9.0,
        "seconds_saved": 0.0,
        "settings": {},
    }
    return done(name, engine, directory, verdict, reasons) | {"capacity": found}


def pending(name: str, engine: str = "spark") -> dict[str, Any]:
    return about(EXPERIMENTS[name], engine)


def used(second: float, role: str, cpu_s: float, received_mb: float | None = None) -> ResourceSample:
    """As much is sent as is received."""
    t_ns = START_NS + round(second * NS_PER_S)
    both = {"received_mb": received_mb, "sent_mb": received_mb}
    return ResourceSample(t_ns=t_ns, role=role, group="engine", cpu_s=cpu_s, **both)


def batch(number: int, began_ms: float | None) -> BatchSample:
    """A batch that began so many ms after the load."""
    moment = None if began_ms is None else START_MS + round(began_ms)
    return BatchSample(t_ns=START_NS, batch=number, began_ms=moment, duration_ms=100, rows=10)


def context(out: Path, exhibit_name: str, rows: Sequence[Mapping[str, Any]]) -> Context:
    exhibit = next(one for one in STUDY.exhibits if one.name == exhibit_name)
    return Context("e", STUDY, exhibit, read_reproduction(write_reproduction(out, "sustainable", STUDY, rows)))


def panels(out: Path, exhibit_name: str, rows: Sequence[Mapping[str, Any]]) -> list[Panel]:
    drawn_from = context(out, exhibit_name, rows)
    return list(drawn_from.exhibit.draw(drawn_from))


def cells(drawn: Sequence[Panel], title: str) -> list[list[Any]]:
    """The rows of the tables with this title."""
    return [list(one.cells) for panel in drawn for table in panel.tables if table.title == title for one in table.rows]


def plots(drawn: Sequence[Panel]) -> dict[str, Plot]:
    return {plot.name: plot for panel in drawn for plot in panel.plots}


def plotted(drawn: Sequence[Panel]) -> dict[str, dict[str, dict[Any, Any]]]:
    """Of each figure and each of its series, the values by place."""
    return {
        name: {trace["name"]: dict(zip(trace["x"], trace["y"], strict=True)) for trace in plot.figure["data"]}
        for name, plot in plots(drawn).items()
    }
