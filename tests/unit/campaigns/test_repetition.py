"""What several runs say together."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from written_runs import write_run

from run_files import as_written, change
from streamgauge.campaigns import repetition
from streamgauge.campaigns.repetition import read_runs, run_repeated, write_set
from streamgauge.cli.run import _print_repetitions
from streamgauge.errors import UsageError
from streamgauge.evaluate.verdict import exit_code
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios


def test_of_preloaded_input_the_run_with_the_median_throughput_speaks(tmp_path: Path) -> None:
    """Its latencies are waits in the broker, which need not be in the same order."""
    for number, (p50_ms, per_s) in enumerate(((100.0, 900.0), (110.0, 500.0), (120.0, 700.0)), start=1):
        write_run(tmp_path / str(number), p50_ms)
        change(tmp_path / str(number) / "summary.json", processing={"records_per_s": per_s})
    assert write_set(tmp_path, 3).processing["records_per_s"] == 700.0


def test_the_median_run_speaks_for_the_set(tmp_path: Path) -> None:
    """Four VALID runs: the lower of the two in the middle."""
    for number, p50_ms in enumerate((130.0, 100.0, 120.0, 110.0), start=1):
        write_run(tmp_path / str(number), p50_ms)
    summary = write_set(tmp_path, 4)
    assert summary.latency_ms["total"]["p50"] == 110.0
    assert [row.directory for row in summary.repetitions] == ["1", "2", "3", "4"]
    assert [row.total_p50 for row in summary.repetitions] == [130.0, 100.0, 120.0, 110.0]
    assert as_written(summary)["interval"] == {"total_p50": [100.0, 130.0], "seed": 1}
    assert json.loads((tmp_path / "summary.json").read_text()) == as_written(summary)
    assert json.loads((tmp_path / "set.json").read_text()) == {"format": 1, "runs": 4, "median": "4"}
    page = (tmp_path / "report.html").read_text()
    assert "Repetitions" in page
    assert "4 runs" in page
    assert exit_code(summary) == 0
    assert [run.path.name for run in read_runs(tmp_path)] == ["1", "2", "3", "4"]


def test_a_bad_run_stays_and_spoils_the_verdict(tmp_path: Path) -> None:
    write_run(tmp_path / "1", 100.0)
    write_run(tmp_path / "2", 10.0, verdict="FAILED", state="overloaded", sustained=False)
    write_run(tmp_path / "3", 120.0)
    summary = write_set(tmp_path, 3)
    assert summary.latency_ms["total"]["p50"] == 100.0
    assert (summary.verdict, summary.state) == ("FAILED", "steady")
    assert summary.reasons == ["run 2: why"]
    assert summary.repetitions[1].verdict == "FAILED"
    assert summary.interval is not None and summary.interval.total_p50 == (100.0, 120.0)
    assert exit_code(summary) == 4


def test_invalid_is_worse_than_failed(tmp_path: Path) -> None:
    write_run(tmp_path / "1", None, verdict="FAILED", state=None)
    write_run(tmp_path / "2", None, verdict="INVALID", state=None)
    summary = write_set(tmp_path, 2)
    assert exit_code(summary) == 3
    assert summary.interval is not None and summary.interval.total_p50 is None


def test_one_overloaded_run_and_one_missed_objective(tmp_path: Path) -> None:
    missed = [{"slo": "latency.p99 < 1ms", "value": 2, "limit": 1, "unit": "ms", "passed": False}]
    write_run(tmp_path / "1", 100.0, sustained=True)
    write_run(tmp_path / "2", 200.0, sustained=True, slo=missed)
    summary = write_set(tmp_path, 2)
    assert [slo.as_json() for slo in summary.slo] == [{"run": "2", **missed[0]}]
    assert exit_code(summary) == 1
    write_run(tmp_path / "3", 300.0, sustained=False, state="overloaded")
    assert (write_set(tmp_path, 3).sustained, write_set(tmp_path, 3).state) == (False, "overloaded")


def test_the_latest_latency_where_the_total_cannot_be_told(tmp_path: Path) -> None:
    for number, p50_ms in enumerate((30.0, 10.0, 20.0), start=1):
        write_run(tmp_path / str(number), None, latency_ms={"total": {"p50": None}, "latest": {"p50": p50_ms}})
    assert write_set(tmp_path, 3).latency_ms["latest"]["p50"] == 20.0


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    request = Request(scenarios.resolve("ospbench/latency", engine="echo"), tmp_path)
    with pytest.raises(UsageError, match="not empty"):
        run_repeated(request, 2, NullReporter())
    assert [entry.name for entry in tmp_path.iterdir()] == ["precious"]


def test_an_invalid_run_is_repeated_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verdicts = iter(["VALID", "INVALID", "INVALID", "INVALID", "VALID"])

    def run(request: Request, *_: object) -> tuple[RunDir, Summary]:
        write_run(request.out, 100.0, verdict=next(verdicts))
        made = RunDir.open(request.out)
        return made, made.summary()

    monkeypatch.setattr(repetition, "run_scenario", run)
    request = Request(scenarios.resolve("ospbench/latency", engine="echo"), tmp_path / "set")
    _, summary = run_repeated(request, 3, NullReporter())
    assert summary.repeated == ["2", "3"]
    assert [row.verdict for row in summary.repetitions] == ["VALID", "INVALID", "VALID"]
    assert {"1", "2", "2-invalid", "3", "3-invalid"} <= {entry.name for entry in (tmp_path / "set").iterdir()}
    assert exit_code(summary) == 3, "one stayed INVALID"
    assert [run.reasons for run in summary.repetitions] == [[], ["why"], []]
    listed = {run.directory: run.invalid_attempts for run in summary.repetitions}
    assert not listed["1"]
    (discarded,) = listed["3"]
    assert as_written(discarded) == {
        "run": RunDir.open(tmp_path / "set" / "3-invalid").summary().run,
        "directory": "3-invalid",
        "verdict": "INVALID",
        "state": "steady",
        "total_p50": 100.0,
        "total_p99": discarded.total_p99,
        "rate_output": discarded.rate_output,
        "reasons": ["why"],
    }
    assert discarded.rate_output > 0
    assert summary.interval.total_p50 == (100.0, 100.0), "what was repeated does not count"
    page = (tmp_path / "set" / "report.html").read_text()
    assert page.index("3-invalid") < page.index("no, repeated", page.index("3-invalid"))
    assert "3 runs" in page


def test_the_terminal_lists_what_was_repeated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "1", 100.0)
    write_run(tmp_path / "2-invalid", 333.3, verdict="INVALID")
    write_run(tmp_path / "2", 110.0)
    _print_repetitions(write_set(tmp_path, 2), to_stderr=False)
    output = capsys.readouterr().out
    assert re.search(r"2-invalid +INVALID +steady +333\.3", output)
    assert "run 2 was repeated: 2-invalid is INVALID: why" in output
