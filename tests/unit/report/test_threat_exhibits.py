"""The exhibits of threat detection: means with intervals, lines over time, and losses, worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import synthetic_run
from synthetic_study import about, not_run, write_reproduction

from run_files import change, content
from streamgauge.report.exhibit import Context, Panel
from streamgauge.report.repeated import interval_words, mean_interval
from streamgauge.report.reproduction import read_reproduction
from streamgauge.report.study import write_study_page
from streamgauge.studies.threat import STUDY
from streamgauge.studies.threat.exhibits import micro_batches, native, parallelism

EXPERIMENTS = {one.name: one for one in STUDY.experiments}
FAULT = {
    "fault": "kill taskmanager-1 at 20s",
    "verb": "kill",
    "role": "taskmanager-1",
    "acted_s": 20.0,
    "took_effect": True,
    "why_not": None,
    "latency": "total",
    "outage_worst_s": 2.5,
    "backlog_back_s": 6.0,
}


def row(out: Path, name: str, engine: str, runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """An experiment with these runs, each given by what differs in its summary; the first is the median one."""
    attempts = []
    for number, changes in enumerate(runs, 1):
        directory = f"runs/{name}-{engine}/{number}"
        (out / directory).parent.mkdir(parents=True, exist_ok=True)
        run = synthetic_run.write_valid(out / directory)
        change(run.summary_path, **changes)
        verdict = changes.get("verdict", "VALID")
        reasons = [] if verdict == "VALID" else ["a reason"]
        attempts.append({"run": number, "directory": directory, "verdict": verdict, "reasons": reasons})
    verdicts = {attempt["verdict"] for attempt in attempts}
    worst = next(word for word in ("INVALID", "FAILED", "VALID") if word in verdicts)
    first = attempts[0]["directory"]
    return about(EXPERIMENTS[name], engine) | {
        "state": "done",
        "directory": first,
        "attempts": attempts,
        "verdict": worst,
        "runs": len(runs),
        "summary": content(out / first / "summary.json"),
    }


def at(*rates: float) -> list[dict[str, Any]]:
    return [{"processing": {"records_per_s": rate}} for rate in rates]


def lost(count: int, expected: int = 1000, verdict: str = "VALID", **results: int) -> dict[str, Any]:
    counts = {"expected": expected, "matched": expected - count, "wrong": 0, "lost": count, "unfinished": 0}
    return {"results": {**counts, "duplicates": 0, **results}, "verdict": verdict, "faults": [FAULT]}


def panels(out: Path, draw: Any, rows: Sequence[dict[str, Any]]) -> list[Panel]:
    exhibit = next(one for one in STUDY.exhibits if one.draw is draw)
    reproduction = read_reproduction(write_reproduction(out, "threat", STUDY, rows))
    return list(draw(Context("e", STUDY, exhibit, reproduction)))


def cells(panel: Panel, title: str) -> list[list[Any]]:
    return [list(one.cells) for table in panel.tables if table.title == title for one in table.rows]


def test_an_interval_is_students() -> None:
    # Mean 20, deviation 10, t(2) at 97.5 % = 4.3027.
    assert mean_interval([10, 20, 30]) == (20, pytest.approx(4.302653 * 10 / math.sqrt(3), rel=1e-6))
    assert mean_interval([7]) == (7, None)
    assert (interval_words([10, 20, 30], 1), interval_words([7]), interval_words([])) == ("20.0 ± 24.8", "7", "–")
    with pytest.raises(ValueError, match="no values"):
        mean_interval([])


def test_messages_per_minute_stand_at_their_cores_with_intervals(tmp_path: Path) -> None:
    rows = [
        row(tmp_path, "parallelism-1", "spark", at(100, 110, 120)),
        row(tmp_path, "parallelism-1", "flink", at(150)),
        row(tmp_path, "parallelism-2", "spark", at(200, 200)),
        row(tmp_path, "parallelism-2", "flink", at(500)),
        not_run(EXPERIMENTS["parallelism-3"], "it needs more cores than the 2 of this machine", "flink"),
    ]
    together, marks = panels(tmp_path, parallelism, rows)
    (plot,) = together.plots
    spark, flink = plot.figure["data"]
    assert (spark["name"], spark["x"], spark["y"]) == ("spark", [1, 2], [6600, 12_000])
    assert (flink["name"], flink["x"], flink["y"]) == ("flink", [1, 2], [9000, 30_000])
    assert spark["error_y"]["array"] == [pytest.approx(4.302653 * 600 / math.sqrt(3), rel=1e-6), 0]
    assert "spark: 1 core 6,600, 2 cores 12,000." in plot.caption
    assert cells(together, "Throughput") == [
        ["1", "spark", "6,600 ± 1,490", "3", "VALID"],
        ["1", "flink", "9,000", "1", "VALID"],
        ["2", "spark", "12,000 ± 0", "2", "VALID"],
        ["2", "flink", "30,000", "1", "VALID"],
    ]
    assert together.finding.endswith("against spark with as many cores, at most: flink 2.5 × (2 cores).")
    assert {one[1] for one in cells(marks, "The paper's numbers")} >= {"15", "1.50", "6"}


def test_only_valid_runs_count_for_the_mean(tmp_path: Path) -> None:
    bad = {"processing": {"records_per_s": 9e9}, "verdict": "INVALID"}
    rows = [row(tmp_path, "parallelism-1", "spark", [*at(100, 100), bad])]
    together, banner, _ = panels(tmp_path, parallelism, rows)
    assert cells(together, "Throughput") == [["1", "spark", "6,000 ± 0", "2", "INVALID"]]
    assert (banner.verdict, banner.why) == ("INVALID", "run 3: a reason")
    assert together.finding == "", "there is nothing to compare with"


def test_lines_count_from_the_measured_interval(tmp_path: Path) -> None:
    rows = [row(tmp_path, "node-failure", engine, [lost(0, duplicates=12)]) for engine in ("spark", "flink")]
    together, _ = panels(tmp_path, native, rows)
    (plot,) = together.plots
    assert [trace["name"] for trace in plot.figure["data"]] == ["flink sent", "flink analysed"], "spark is in Fig. 6"
    seconds = plot.figure["data"][0]["x"]
    assert (seconds[0], seconds[-1]) == (0.5, synthetic_run.MEASURED_S - 0.5)
    (failure,) = plot.figure["layout"]["shapes"]
    assert failure["x0"] == failure["x1"] == 20.0
    assert cells(together, "Recovery") == [["flink", "kill taskmanager-1 at 20s", "2.5", "26.0", "12", "VALID"]]


def test_lost_messages_are_sent_minus_analysed(tmp_path: Path) -> None:
    flink = [lost(120, verdict="FAILED"), lost(90, verdict="FAILED", unfinished=30), lost(999, verdict="INVALID")]
    rows = [
        row(tmp_path, "node-failure", "spark", [lost(0)]),
        row(tmp_path, "node-failure", "flink", flink),
    ]
    drawn = panels(tmp_path, micro_batches, rows)
    losses = next(panel for panel in drawn if cells(panel, "Messages lost"))
    assert cells(losses, "Messages lost") == [
        ["spark", "1,000", "1,000", "0.00", "1", "VALID"],
        ["flink", "1,000", "880", "12.00 ± 0.00", "2", "INVALID"],
    ]
    (plot,) = losses.plots
    bars = {trace["name"]: trace["y"] for trace in plot.figure["data"]}
    assert bars == {
        "spark": [0.0],
        "flink": [12.0],
        "paper: Storm 0.9.4": [22.2],
        "paper: Flink 0.10.2": [12.8],
        "paper: Spark Streaming 1.6.1": [0],
    }
    assert "spark 0.00 %, flink 12.00 ± 0.00 %. The paper: Storm 0.9.4 22.2 %" in plot.caption
    (behaviour,) = [plot for panel in drawn for plot in panel.plots if plot.name.endswith("behaviour")]
    assert [trace["name"] for trace in behaviour.figure["data"]] == ["spark sent", "spark analysed"]


def test_without_results_the_papers_numbers_are_left(tmp_path: Path) -> None:
    for draw in (parallelism, native, micro_batches):
        (panel,) = panels(tmp_path, draw, [not_run(EXPERIMENTS["node-failure"], "no workers")])
        assert cells(panel, "The paper's numbers")


def test_the_page_shows_every_exhibit_and_gap(tmp_path: Path) -> None:
    rows = [
        row(tmp_path, "parallelism-1", "flink", at(150, 160)),
        not_run(EXPERIMENTS["parallelism-8"], "it needs more cores than the 2 of this machine", "flink"),
        not_run(EXPERIMENTS["node-failure"], "engine spark has no option cluster, workers"),
        row(tmp_path, "node-failure", "flink", [lost(0), lost(0)]),
    ]
    write_reproduction(tmp_path, "threat", STUDY, rows)
    page = write_study_page(tmp_path, STUDY).read_text(encoding="utf-8")
    for text in (
        "Fig. 4",
        "Fig. 5",
        "Fig. 6",
        "it needs more cores than the 2 of this machine",
        "no option cluster, workers",
    ):
        assert text in page
