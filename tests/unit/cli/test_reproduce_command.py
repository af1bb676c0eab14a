"""``reproduce`` on the command line: the plan that it prints, and how it words what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from written_runs import capacity, summary

from streamgauge.cli.main import app
from streamgauge.cli.reproduce import duration, outcome_line
from streamgauge.engines.echo import Echo
from streamgauge.errors import UsageError
from streamgauge.model.campaign import ExperimentRow


def reproduce(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["reproduce", *arguments], catch_exceptions=True)


def row(*verdicts: str, runs: Sequence[int] = (), **changes: Any) -> ExperimentRow:
    """An experiment of one run, with its attempts."""
    attempts = [
        {
            "run": run,
            "directory": f"runs/{number}",
            "verdict": verdict,
            "reasons": [] if verdict == "VALID" else [f"why {number}"],
        }
        for number, (run, verdict) in enumerate(zip(runs or [1] * len(verdicts), verdicts, strict=True), start=1)
    ]
    verdict = verdicts[-1] if verdicts else None
    one = {"name": "stages-ingest", "scenario": "s/n", "dimensions": {"stage": "ingest"}, "purpose": "run"}
    fields = {"engine": "echo", "state": "done", "reason": "", "runs": max(runs, default=1), "verdict": verdict}
    content = {**one, **fields, "attempts": attempts, "directory": None, "summary": None, "capacity": None, **changes}
    return ExperimentRow.model_validate(content)


def test_the_plan_says_what_how_long_and_what_not(tmp_path: Path) -> None:
    asked = reproduce("stage-latency", "--engine", "echo", "--dry-run", "--out", str(tmp_path / "out"))
    assert asked.exit_code == 0, asked.output
    lines = asked.stdout.splitlines()
    assert len(lines) >= 7
    assert "stages-ingest-built-in" in lines[1]
    assert lines[1].endswith(" s")
    assert "stages-join-built-in echo – engine echo does not run traffic/join" in " ".join(asked.stdout.split())
    assert all(line == line.rstrip() for line in lines)
    assert lines[-1].startswith("2 of 5 experiments to run: about ")
    assert not (tmp_path / "out").exists()


def test_the_plan_of_chosen_ones_only() -> None:
    asked = reproduce("ospbench", "--dry-run", "--only", "throughput-*", "--only", "latency-parse-built-in")
    assert "latency-ingest" not in asked.stdout
    assert "a search of several runs" in asked.stdout
    assert "2 of 2 experiments to run: about " in asked.stdout


def test_the_plan_of_nothing_to_run() -> None:
    asked = reproduce("stage-latency", "--engine", "echo", "--dry-run", "--only", "stages-join-built-in")
    assert asked.stdout.splitlines()[-1] == "0 of 1 experiment to run"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("ospbensh",), "ospbench"),
        (("ospbench", "--only", "nothing"), "unknown experiment"),
        (("ospbench", "--for", "long"), "30s"),
        (("ospbench", "--bootstrap", "nowhere"), "HOST:PORT"),
        (("ospbench", "--set", "stage=parse"), "the study itself sets stage"),
        (("sustainable", "--for", "2m"), "--for 2m cannot be used: the study itself sets measured_s"),
        (("ospbench", "--for", "8d"), "invalid --for 8d"),
        (("ospbench", "--json"), "--dry-run and --json conflict"),
        (("ospbench", "--retry"), "--retry needs the --out of an earlier reproduction"),
    ],
)
def test_ways_to_ask_wrongly(arguments: tuple[str, ...], says: str) -> None:
    asked = reproduce(*arguments, "--dry-run")
    assert isinstance(asked.exception, UsageError)
    assert says in asked.exception.message()


def test_how_an_experiment_ended() -> None:
    latencies = {"total": {"p50": 12.34, "p99": 1234.5}, "latest": {"p50": 9.0, "p99": 10.0}}
    assert (
        outcome_line(row("VALID", summary=summary(latency_ms=latencies)))
        == "VALID: end-to-end latency p50 12.3 ms, p99 1,234.5 ms"
    )
    unknown = {"total": {"p50": None}, "latest": {"p50": 9.0, "p99": 10.0}}
    assert (
        outcome_line(row("VALID", summary=summary(latency_ms=unknown)))
        == "VALID: processing latency p50 9.0 ms, p99 10.0 ms"
    )
    assert outcome_line(row("INVALID", "FAILED")) == "FAILED (first attempt INVALID): why 2"
    assert outcome_line(row(state="not run", reason="it cannot")) == "not run: it cannot"
    assert outcome_line(row("VALID", capacity=capacity())) == "VALID: 100 records/s sustained, 110 not (confirmed)"


def test_how_several_runs_ended() -> None:
    latencies = {"total": {"p50": 12.34, "p99": 1234.5}}
    three = row("VALID", "INVALID", "VALID", "VALID", runs=(1, 2, 2, 3), summary=summary(latency_ms=latencies))
    assert outcome_line(three) == "VALID (3 runs, 1 repeated): end-to-end latency p50 12.3 ms, p99 1,234.5 ms"
    died = summary(latency_ms=latencies, reasons=["run 3: it died"])
    spoilt = three.with_changes(verdict="FAILED", summary=died)
    assert outcome_line(spoilt).startswith("FAILED (3 runs, 1 repeated): end-to-end latency p50")
    assert outcome_line(spoilt).endswith(": run 3: it died")


def test_the_plan_of_several_runs_and_of_an_engine_that_is_not_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Echo, "traits", replace(Echo.traits, packages=("no-such-package",)))
    asked = reproduce("stage-latency", "--engine", "echo", "--runs", "3", "--dry-run")
    assert asked.exit_code == 0, asked.output
    assert asked.stdout.count("for all 3 runs") == 2
    assert "echo is not ready: it lacks the package no-such-package (pip install no-such-package)" in asked.stdout
    assert reproduce("stage-latency", "--runs", "0", "--dry-run").exit_code == 2


def test_durations_for_a_person() -> None:
    assert [duration(seconds) for seconds in (30, 119, 150, 1200, 7290)] == [
        "30 s",
        "119 s",
        "2.5 min",
        "20 min",
        "2 h 02 min",
    ]
