"""Experiments of StreamBench with chosen figures, as `streamgauge reproduce` leaves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import synthetic_run
from synthetic_study import about, write_reproduction

from run_files import content, write_manifest
from streamgauge.report.exhibit import Context, Panel
from streamgauge.report.reproduction import read_reproduction
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json
from streamgauge.studies.streambench import STUDY
from streamgauge.studies.streambench.experiments import NODES

EXPERIMENTS = {one.name: one for one in STUDY.experiments}
_NODES = {"spark": "workers", "flink": "taskmanagers", "kafka-streams": "instances"}
_MB_PER_RECORD = 60e-6


def preloaded(per_s: float | None) -> dict[str, Any]:
    """Of a run with preloaded input; None: not done by the deadline."""
    mb_per_s = None if per_s is None else per_s * _MB_PER_RECORD
    return {"processing": {"records": 500_000, "records_per_s": per_s, "mb_per_s": mb_per_s, "seconds": 10.0}}


def at_a_rate(mean_ms: float, rate_per_s: int = 5000) -> dict[str, Any]:
    latest = {"count": 100, "p50": mean_ms, "p99": 2 * mean_ms}
    rates = {"offered": rate_per_s, "achieved": rate_per_s, "output": rate_per_s}
    return {"latency_ms": {"arrival": {"mean": mean_ms}, "latest": latest}, "rate_per_s": rates, "processing": {}}


def traffic(engine: str, mb: Sequence[float], reading: int) -> list[dict[str, Any]]:
    """What each node read from the broker; the first of them count as reading. Nodes also receive from each other."""
    role = {"spark": "worker", "flink": "taskmanager", "kafka-streams": "streams"}[engine]
    return [
        {"role": f"{role}-{place}", "received_mb": value + 9, "from_transport_mb": value, "reads": place <= reading}
        for place, value in enumerate(mb, start=1)
    ]


def row(
    out: Path,
    name: str,
    engine: str,
    figures: Mapping[str, Any],
    verdict: str = "VALID",
    options: Mapping[str, Any] | None = None,
    whole: bool = False,
) -> dict[str, Any]:
    """A finished experiment. ``whole``: with the files of a page, which take longer to write."""
    experiment, directory = EXPERIMENTS[name], f"runs/{name}-{engine}"
    (out / "runs").mkdir(parents=True, exist_ok=True)
    run = synthetic_run.write_valid(out / directory) if whole else RunDir.create(out / directory)
    manifest = synthetic_run.manifest()
    partitions = experiment.profiles.get("laptop", {}).get("partitions", "2")
    manifest["scenario"] |= {"study": "streambench", "partitions": int(partitions)}
    manifest["engine"] |= {"name": engine, "options": {_NODES[engine]: NODES["laptop"], **(options or {})}}
    write_manifest(run, manifest)
    write_json(run.outcome_path, synthetic_run.outcome() | {"engine_ready_ns": synthetic_run.START_NS})
    reasons = [] if verdict == "VALID" else ["it stopped"]
    summary = synthetic_run.summary(synthetic_run.latencies_ms()[0]) | {"verdict": verdict, "reasons": reasons}
    write_json(run.summary_path, summary | dict(figures))
    attempt = {"run": 1, "directory": directory, "verdict": verdict, "reasons": reasons}
    return about(experiment, engine) | {
        "state": "done",
        "directory": directory,
        "attempts": [attempt],
        "verdict": verdict,
        "summary": content(run.summary_path),
    }


def panels(out: Path, exhibit_name: str, rows: Sequence[dict[str, Any]]) -> list[Panel]:
    exhibit = next(one for one in STUDY.exhibits if one.name == exhibit_name)
    reproduction = read_reproduction(write_reproduction(out, "streambench", STUDY, rows))
    return list(exhibit.draw(Context("e", STUDY, exhibit, reproduction)))


def cells(drawn: Sequence[Panel], title: str) -> list[list[Any]]:
    """The rows of the tables with this title."""
    tables = [table for panel in drawn for table in panel.tables if table.title == title]
    return [list(one.cells) for table in tables for one in table.rows]


def plotted(drawn: Sequence[Panel]) -> dict[str, dict[str, dict[str, float]]]:
    """Of each figure and each of its series, the values by category."""
    return {
        plot.name: {trace["name"]: dict(zip(trace["x"], trace["y"], strict=True)) for trace in plot.figure["data"]}
        for panel in drawn
        for plot in panel.plots
    }
