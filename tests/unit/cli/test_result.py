"""What a run prints at its end: the verdict first, then figures that fit the terminal, and what to do next."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from written_runs import write_run

from streamgauge.cli.result import print_result
from streamgauge.errors import EngineFailed
from streamgauge.measure.outcome import never_started
from streamgauge.model.outcome import Outcome
from streamgauge.rundir import RunDir


@pytest.mark.parametrize(
    ("verdict", "sustained", "line"),
    [
        ("VALID", True, "VALID · state steady · sustained"),
        ("VALID", False, "VALID · state steady · not sustained"),
        ("VALID", None, "VALID · state steady"),
        ("FAILED", True, "FAILED · state steady"),
    ],
)
def test_the_first_line(tmp_path: Path, capsys, verdict: str, sustained: bool | None, line: str) -> None:
    run = write_run(tmp_path / "run", 250.0, verdict=verdict, sustained=sustained)
    print_result(run, run.summary(), to_stderr=False)
    assert capsys.readouterr().out.split("\n")[1].rstrip() == line


def test_the_first_line_of_a_run_with_faults_says_which_guarantee_held(tmp_path: Path, capsys) -> None:
    fault = {"fault": "kill engine for 1s at 6s", "number": 1, "verb": "kill", "role": "engine", "latency": "total"}
    fault |= {"acted_s": 6.0, "restarted_s": 7.0, "ended_s": 7.5, "took_effect": True, "why_not": None, "outage_s": 1.6}
    lost = "603 of 6,000 results lost, nothing duplicated"
    run = write_run(tmp_path / "run", 250.0, verdict="FAILED", guarantee=lost, faults=[fault])
    lines = result_of(run, capsys).splitlines()
    assert lines[1].rstrip() == f"FAILED · {lost} · state steady"
    assert any(line.endswith("usable again after 1.50 s") for line in lines)


def result_of(run: RunDir, capsys: pytest.CaptureFixture[str]) -> str:
    print_result(run, run.summary(), to_stderr=False)
    return capsys.readouterr().out


def test_latencies_have_the_names_of_the_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = result_of(write_run(tmp_path / "run", 250.0), capsys)
    for name in ("end-to-end latency", "processing latency", "mean-input latency"):
        assert sum(line.startswith(name) for line in printed.splitlines()) == 1
    assert "duplicates 4" in printed and "unfinished" not in printed


def test_a_run_in_slices_shows_its_durability(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {"index": 0.93, "unavailable_s": 7.0, "gaps": 1, "longest_gap_s": 7.0, "gap_limit_s": 5.0}
    found |= {
        "failed_records": 1200,
        "failed_rate": 0.1,
        "slices": 2,
        "slices_s": 10,
        "evaluated_s": 20,
        "complete": True,
    }
    printed = result_of(write_run(tmp_path / "run", 250.0, durability=found), capsys)
    line = next(line for line in printed.splitlines() if line.startswith("durability"))
    assert "index 93 %, 1 outages of 7.0 s in all" in line and "without a result 7.0 s, failed records 1,200" in line


def test_on_a_terminal_nothing_is_wider_than_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    big = {"count": 1_000_000, "missing": 9_999, "p50": 12_345.6, "p99": 123_456.7, "p999": None, "max": 1_234_567.8}
    latencies = {kind: {**big, "p90": 99.9, "mean": 54_321.0} for kind in ("total", "latest", "average")}
    run = write_run(Path("run"), 1.0, latency_ms=latencies, warnings=["a long warning " * 12])
    lines = re.sub(r"\x1b\[[0-9;]*m", "", result_of(run, capsys)).splitlines()
    assert max(map(len, lines)) <= 80, max(lines, key=len)
    assert any("1,234,568" in line for line in lines)


def test_an_interrupted_run_is_called_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    printed = result_of(write_run(tmp_path / "run", None, verdict="INVALID", interrupted=True), capsys)
    assert printed.splitlines()[1].startswith("interrupted ·")


@pytest.mark.parametrize("load", [0.5, 7.2])
def test_a_start_that_failed_says_what_to_do_next(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], load: float
) -> None:
    changes = {"machine.load_at_start": load, "machine.cores": 2}
    run = write_run(tmp_path / "run", None, verdict="FAILED", changes=changes)
    failure = EngineFailed("engine timed out before it was usable", got="no event", log_tail="java.net.BindException")
    outcome = Outcome.blank()
    outcome.engine_start_ns, outcome.ended = 1, [never_started("engine", failure)]
    run.write_outcome(outcome)
    (steps,) = [line for line in result_of(run, capsys).splitlines() if line.startswith("  try: ")]
    assert f"read {run.log('engine')}" in steps and "streamgauge doctor" in steps
    assert ("busy when the run started (load average 7.2 on 2 cores)" in steps) is (load > 2)
