"""A reproduced study as `streamgauge reproduce` leaves it, without running one: small run directories that agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import synthetic_run
from synthetic_run import LOAD_S, START_NS

from run_files import content as read_json
from run_files import write_manifest
from streamgauge.model import NS_PER_S
from streamgauge.rundir import RunDir, write_json
from streamgauge.study import Experiment, Study

THREE = ("spark", "flink", "kafka-streams")
ENGINE_FACTORS = {"spark": 1.0, "flink": 0.01, "kafka-streams": 0.02}
LATENCY_FACTORS = {"ingest": 0.5, "parse": 0.6, "join": 1.4, "tumbling": 3.0, "sliding": 4.0}
SINGLE = {"kind": "single", "records": 60_000, "first_output_s": 9.5, "caught_up_s": 21.0}
PERIODIC = {
    "kind": "periodic",
    "bursts": [
        {
            "start_s": float(start_s),
            "width_ms": 176.0,
            "wide": start_s == 30,
            "p50_before_ms": 410.0,
            "p50_peak_ms": 1200.0,
            "p99_peak_ms": 1900.0,
            "elevated_s": 2.0,
        }
        for start_s in (10, 20, 30)
    ],
    "wide": 1,
    "elevated_s": 2.0,
    "p99_peak_ms": 1900.0,
}


def write_study(out: Path, name: str, study: Study, engines: Sequence[str] = ("spark",)) -> Path:
    """Every experiment of the study on each engine; all VALID."""
    rows = [row(out, experiment, engine) for engine in engines for experiment in study.experiments]
    return write_reproduction(out, name, study, rows)


def three_engines(out: Path, study: Study) -> list[dict[str, Any]]:
    """Every experiment on the three engines, as `reproduce` lays them out: real-time mode is Spark's alone."""
    return [
        not_run(experiment, f"engine {engine} has no option realtime", engine)
        if "realtime" in experiment.settings and engine != "spark"
        else row(out, experiment, engine)
        for experiment in study.experiments
        for engine in THREE
    ]


def write_reproduction(out: Path, name: str, study: Study, rows: Sequence[Mapping[str, Any]], **changes: Any) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    content = {
        "format": 1,
        "study": name,
        "title": study.title,
        "source": study.source,
        "profile": "laptop",
        "state": "finished",
        "started": "2026-11-15T10:15:00+00:00",
        "seconds": 1200.0,
        "machine": synthetic_run.manifest()["machine"],
        "streamgauge": "0.1.0",
        "experiments": list(rows),
        **changes,
    }
    write_json(out / "reproduction.json", content)
    return out


def row(out: Path, experiment: Experiment, engine: str = "spark", verdict: str = "VALID") -> dict[str, Any]:
    """An experiment that came to its end, and its directory."""
    directory = f"runs/{experiment.name}-{engine}"
    content = about(experiment, engine) | {"state": "done", "directory": directory}
    if experiment.purpose == "capacity":
        capacity = write_capacity(out / directory, experiment, engine)
        attempts = [{"directory": directory, "verdict": verdict, "reasons": []}]
        return content | {"attempts": attempts, "capacity": capacity}
    run = write_run(out / directory, experiment, engine, verdict)
    summary = read_json(run.summary_path)
    attempts = [{"directory": directory, "verdict": verdict, "reasons": summary["reasons"]}]
    return content | {"attempts": attempts, "summary": summary}


def not_run(experiment: Experiment, reason: str, engine: str = "spark") -> dict[str, Any]:
    return about(experiment, engine) | {"state": "not run", "reason": reason}


def about(experiment: Experiment, engine: str) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "scenario": experiment.scenario,
        "dimensions": dict(experiment.dimensions),
        "settings": dict(experiment.settings),
        "purpose": experiment.purpose,
        "engine": engine,
        "state": "pending",
        "reason": "",
        "attempts": [],
        "directory": None,
        "summary": None,
        "capacity": None,
    }


def write_run(path: Path, experiment: Experiment, engine: str, verdict: str = "VALID", rate: int = 400) -> RunDir:
    """Slower from stage to stage; real-time mode and customised state are faster, Spark is slower than the others."""
    run = RunDir.create(path)
    study, _, scenario = experiment.scenario.partition("/")
    content = synthetic_run.manifest()
    content["scenario"] |= {"study": study, "name": scenario, "stage": experiment.dimensions["stage"]}
    content["scenario"]["load"] |= {"rate_per_s": rate, "shape": "constant"}
    content["engine"] |= {"name": engine, "options": {"cores": 2, "implementation": experiment.dimensions["variant"]}}
    write_manifest(run, content)
    # The engine of a single burst is started when the burst is in the broker.
    write_json(run.outcome_path, {**synthetic_run.outcome(), "engine_start_ns": START_NS + 2 * NS_PER_S})
    total, late = synthetic_run.latencies_ms()
    faster = {"built-in": 1.0, "customised": 0.4, "real-time": 0.02}[experiment.dimensions["variant"]]
    total *= LATENCY_FACTORS[experiment.dimensions["stage"]] * faster * ENGINE_FACTORS.get(engine, 1.5)
    synthetic_run.write_measures(run, total, late)
    synthetic_run.write_samples(run, from_s=0, to_s=LOAD_S)
    summary = synthetic_run.summary(total)
    summary |= {"study": study, "scenario": scenario, "verdict": verdict, "burst": None}
    summary["results"]["inputs_per_result"] = 3.17
    if verdict != "VALID":
        summary["reasons"] = ["generator: a record was 327 ms late; the limit is 200 ms (second 27)"]
    if scenario == "single-burst":
        summary["burst"] = SINGLE
    if scenario == "periodic-burst":
        summary["burst"] = PERIODIC
    write_json(run.summary_path, summary)
    return run


def write_capacity(path: Path, experiment: Experiment, engine: str) -> dict[str, Any]:
    probes = []
    for place, (rate, verdict, p50) in enumerate(
        [(8000, "sustained", 300.0), (16000, "sustained", 900.0), (32000, "not sustained", 9000.0)], start=1
    ):
        directory = f"probes/{place:02}-{rate}"
        write_run(path / directory, experiment, engine, rate=rate)
        probes.append(
            {
                "value": rate,
                "rate": rate,
                "purpose": "bracket",
                "verdict": verdict,
                "reason": "" if verdict == "sustained" else "overloaded: the backlog grew",
                "weak": False,
                "seconds": 60.0,
                "seconds_saved": 0.0,
                "directory": directory,
                "total_p50": p50,
                "total_p99": 3 * p50,
            }
        )
    content = {
        "format": 1,
        "scenario": experiment.scenario,
        "engine": engine,
        "rule": "slope",
        "slo": [],
        "resolution": 0.1,
        "over": "rate_per_s",
        "unit": "records/s",
        "outcome": "found",
        "interval": [16000, 32000],
        "confirmed": True,
        "note": "",
        "best_latency_ms": {"p50": 900.0, "p99": 2700.0},
        "guess": 8000,
        "probes": probes,
        "seconds": 180.0,
        "seconds_saved": 0.0,
        "settings": {"stage": experiment.dimensions["stage"], "profile": "laptop"},
    }
    write_json(path / "capacity.json", content)
    return content
