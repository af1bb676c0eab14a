"""Durability on the page of a run that was evaluated in slices, and in the study that asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import synthetic_study
from synthetic_run import START_NS, write_valid

from run_files import change, content
from streamgauge import report
from streamgauge.model import NS_PER_S
from streamgauge.model.samples import DiskSample
from streamgauge.report.durability import durability_figures, durability_rows
from streamgauge.report.source import read
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json
from streamgauge.studies.streambench import STUDY

FOUND: dict[str, Any] = {
    "index": 0.93,
    "unavailable_s": 7.0,
    "gaps": 1,
    "longest_gap_s": 7.0,
    "gap_limit_s": 5.0,
    "failed_records": 12,
    "failed_rate": 0.0001,
    "slices": 2,
    "slices_s": 10,
    "evaluated_s": 20.0,
    "complete": True,
    "growth_mb_per_hour": {"engine": {"per_hour": 12.5, "low": -1.0, "high": 30.0}},
    "heap_growth_mb_per_hour": None,
}


def write_sliced(path: Path) -> RunDir:
    run = write_valid(path)
    change(run.summary_path, durability=FOUND)
    change(run.manifest_path, scenario={**content(run.manifest_path)["scenario"], "slice_s": 10})
    counts = dict.fromkeys(
        ("inputs", "outputs", "appended_measured", "output_measured", "repeated", "sent_measured", "sent_inside"), 5
    )
    for number in (1, 2):
        window = {"second": 10 * (number - 1), "count": 500, "p50_ms": 20.0 * number, "p99_ms": 90.0, "max_ms": 99.0}
        (run.path / "slices" / f"{number:04}").mkdir(parents=True)
        write_json(
            run.slice_(number).slice_figures_path,
            {
                **counts,
                **dict.fromkeys(("until_ms", "first_output_ms", "last_output_ms")),
                "number": number,
                "last": number == 2,
                "gaps_ms": [],
                "errors": 0,
                "errors_measured": 0,
                "windows": [window],
                "took_s": 1.0,
            },
        )
    run.append_samples(
        *(DiskSample(t_ns=START_NS + s * NS_PER_S, run_mb=s, work_mb={"broker": 2.0 * s}) for s in (0, 10, 20))
    )
    return run


def test_the_figures_in_words(tmp_path: Path) -> None:
    rows = dict(durability_rows(read(write_sliced(tmp_path / "run"))))
    assert rows["durability index"] == "93 %"
    assert rows["outages: longer than 5.0 s without a result"] == "1"
    assert rows["failed-record rate"] == "0.01 %"
    assert rows["memory of engine"] == "+12.5 MB per hour (95 % interval -1.0 to +30.0)"
    assert "too short" in rows["heap of the engine after garbage collections"]


def test_latency_by_slice_and_files_over_time(tmp_path: Path) -> None:
    figures = durability_figures(read(write_sliced(tmp_path / "run")))
    slices, disk = figures["slices"], figures["disk"]
    assert slices is not None and disk is not None
    assert (slices["data"][0]["x"], slices["data"][0]["y"]) == ([5.0, 15.0], [20.0, 40.0])
    lines = {trace["name"]: trace["y"] for trace in disk["data"]}
    assert lines["run directory"] == [0, 10, 20] and lines["work directory of broker"] == [0, 20, 40]


def test_only_a_run_in_slices_has_the_section(tmp_path: Path) -> None:
    assert 'id="durability"' in report.write(write_sliced(tmp_path / "sliced")).read_text()
    assert 'id="durability"' not in report.write(write_valid(tmp_path / "whole")).read_text()


@pytest.mark.parametrize(("complete", "shown"), [(True, "30"), (False, "10 of 30")])
def test_the_exhibit_has_our_figures_and_the_papers(tmp_path: Path, complete: bool, shown: str) -> None:
    rows = []
    for experiment in STUDY.experiments:
        if experiment.name != "durability-1m":
            rows.append({**synthetic_study.not_run(experiment, "", "flink"), "state": "pending"})
            continue
        run = write_sliced(tmp_path / "run")
        change(run.summary_path, durability={**FOUND, "complete": complete})
        attempt = {"run": 1, "directory": "run", "verdict": "VALID", "reasons": []}
        done = {"state": "done", "directory": "run", "attempts": [attempt], "summary": content(run.summary_path)}
        rows.append({**synthetic_study.not_run(experiment, "", "flink"), **done})
    synthetic_study.write_reproduction(tmp_path, "streambench", STUDY, rows)
    page = report.write_study(tmp_path, STUDY).read_text()
    assert "Durability workload suite" in page
    assert f">{shown}<" in page
    assert ">93 %<" in page and ">0.01 %<" in page
    assert "+12.5 MB per hour" in page
    assert "2.16" in page, "the paper's failed records of Storm"
