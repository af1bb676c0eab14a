"""``streamgauge report RUN --against OTHER``: a baseline behind the figures, and what differs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import synthetic_run
from pages import section, unlinked

from run_files import change, content
from streamgauge.cli.report import report as report_command
from streamgauge.errors import UsageError
from streamgauge.report import figures
from streamgauge.report.source import read
from streamgauge.rundir import RunDir


@pytest.fixture
def other(tmp_path: Path) -> RunDir:
    """A run with another latency, a longer warm-up and another name."""
    run = synthetic_run.write_valid(tmp_path / "other")
    change(run.manifest_path, run="the-earlier-run")
    change(run.summary_path, run="the-earlier-run")
    total, late = synthetic_run.latencies_ms()
    synthetic_run.write_measures(run, total + 100, late)
    change(run.summary_path, latency_ms=synthetic_run.summary(total + 100)["latency_ms"])
    return run


def page_of(run: RunDir, other: RunDir) -> str:
    report_command(run.path, against=other.path)
    return run.report_path.read_text(encoding="utf-8")


def test_the_baseline_is_behind_latency_over_time_and_the_distribution(valid: RunDir, other: RunDir) -> None:
    change(other.outcome_path, measured_start_ns=content(other.outcome_path)["measured_start_ns"] + 5 * 10**9)
    drawn = figures.all_figures(read(valid), read(other))
    names = [trace["name"] for trace in drawn["latency-total"]["data"]]
    assert names[:6] == ["baseline p50", "baseline p99", "baseline max", "p50", "p99", "max"]
    behind, front = drawn["latency-total"]["data"][0], drawn["latency-total"]["data"][3]
    assert behind["line"]["color"] == "--baseline"
    assert behind["x"][0] == front["x"][0] - 5, "from the same moment of the measured interval on"
    first, second = drawn["distribution"]["data"]
    assert (first["line"]["color"], second["line"]["color"]) == ("--baseline", "--s1")
    assert first["y"][-1] == pytest.approx(second["y"][-1] + 100)
    without = figures.all_figures(read(valid))
    assert set(without) == set(drawn)
    assert drawn["latency-total"]["layout"]["yaxis"] == without["latency-total"]["layout"]["yaxis"]


def test_the_page_names_the_baseline_and_shows_the_differences(valid: RunDir, other: RunDir) -> None:
    words = section(page_of(valid, other), "against")
    assert "The baseline is the-earlier-run (Spark Structured Streaming 4.2.0 · measured 2026-11-15 10:15 UTC" in words
    here, there = (run.summary().latency("total")["p50"] for run in (valid, other))
    row = f"end-to-end latency, p50 (ms) {here:.1f} {there:.1f} −100.0 −{100 * 100 / there:.1f}"
    assert row in words
    assert "achieved rate (records/s) 399.9 399.9 0.0 0.0" in words
    assert "Both runs have the same workload" in words


def test_settings_that_differ_are_listed(valid: RunDir, other: RunDir) -> None:
    manifest = content(other.manifest_path)
    manifest["scenario"]["load"]["rate_per_s"] = 500
    manifest["engine"]["options"]["cores"] = 4
    change(other.manifest_path, **manifest)
    words = section(page_of(valid, other), "against")
    assert "not measured alike" in words
    assert "rate_per_s 400 500" in words and "cores 2 4" in words
    assert "Both runs have the same" not in words


def test_a_baseline_that_cannot_be_trusted_is_marked(valid: RunDir, other: RunDir) -> None:
    change(other.summary_path, verdict="INVALID", reasons=["the clock was set"])
    assert "The baseline is INVALID: do not use its numbers." in section(page_of(valid, other), "against")


def test_without_a_baseline_the_page_has_no_word_of_it(valid: RunDir) -> None:
    report_command(valid.path)
    assert (
        "baseline"
        not in unlinked(valid.report_path.read_text(encoding="utf-8")).split("<script", 1)[0].split("</style>")[1]
    )


def test_a_baseline_that_is_missing_damaged_or_the_run_itself_is_refused_in_one_message(
    valid: RunDir, other: RunDir, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match=r"^--against: not a run directory\n"):
        report_command(valid.path, against=tmp_path / "missing")
    with pytest.raises(UsageError, match=r"^--against names the run itself"):
        report_command(valid.path, against=valid.path / ".." / "valid")
    shutil.copy(valid.manifest_path, other.measures("latency"))
    with pytest.raises(UsageError, match=r"^--against: .*latency.parquet is damaged(.|\n)*streamgauge evaluate"):
        report_command(valid.path, against=other.path)
    other.summary_path.unlink()
    with pytest.raises(UsageError, match=r"^--against: the run has not been evaluated(.|\n)*streamgauge evaluate"):
        report_command(valid.path, against=other.path)
    assert not valid.report_path.exists()
