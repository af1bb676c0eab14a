"""Several experiments from one command line: a study, and all stages of a scenario."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from driving import STREAMGAUGE, in_process, repeated, streamgauge

from streamgauge.conformance.suite import Bench


def begin_and_interrupt(command: list[str]) -> tuple[int, str]:
    """Press Ctrl-C as soon as the second experiment has started; returns the exit code and the last output."""
    with subprocess.Popen([STREAMGAUGE, *command], stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if "2 of 2: stages-parse-built-in on echo" in line:
                running.send_signal(signal.SIGINT)
                break
        output = running.stderr.read()
    return running.returncode, output


def read(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "reproduction.json").read_text())
    return content


@pytest.mark.full
def test_a_study_is_reproduced_also_after_an_interruption(shared: Bench, tmp_path: Path) -> None:
    command: list[str] = []
    interrupted: list[tuple[str, dict[str, Any], str]] = []

    def once(attempt: int) -> subprocess.CompletedProcess[str]:
        """A reproduction in which one experiment was INVALID twice (exit code 3) is restarted."""
        out = tmp_path / str(attempt)
        command[:] = [
            *(
                "reproduce",
                "stage-latency",
                "--engine",
                "echo",
                "--bootstrap",
                shared.transport_address,
                "--out",
                str(out),
            ),
            *("--only", "stages-ingest-*", "--only", "stages-parse-built-in", "--for", "3s", "--set", "warmup_s=1.0"),
        ]
        code, output = begin_and_interrupt(command)
        assert code == 130, output
        interrupted.append((output, read(out), (out / "report.html").read_text()))
        return streamgauge(*command, "--json")

    done = repeated(once)
    output, begun, page = interrupted[-1]
    out = tmp_path / str(len(interrupted) - 1)
    assert f"pass --out {out} to resume" in output
    assert "Traceback" not in output
    assert [row["state"] for row in begun["experiments"]] == ["done", "pending", "not run", "not run", "not run"]
    assert "stages-ingest-built-in" in page

    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert content == read(out)
    assert content["state"] == "finished"
    assert content["started"] == begun["started"]
    assert content["experiments"][0] == begun["experiments"][0]
    assert "stages-ingest-built-in on echo" not in done.stderr, "it was not run again"
    for row in content["experiments"][:2]:
        run = out / row["directory"]
        last = row["attempts"][-1]
        assert (last["run"], last["directory"], last["verdict"]) == (1, row["directory"], "VALID")
        assert last["p50_ms"]["total"] == row["summary"]["latency_ms"]["total"]["p50"]
        assert json.loads((run / "summary.json").read_text()) == row["summary"]
        assert (run / "report.html").is_file()
        assert any((run / "recorded" / "output").glob("*.parquet"))
        manifest = json.loads((run / "manifest.json").read_text())
        assert manifest["scenario"]["stage"] == row["dimensions"]["stage"]
        assert f"--set stage={row['dimensions']['stage']}" in manifest["command"]
    assert "stages-parse-built-in" in (out / "report.html").read_text()

    other = in_process(*command, "--set", "seed=9")
    assert other.returncode == 2
    assert "another seed" in other.stderr
    plan = in_process(*command, "--dry-run")
    assert plan.stdout.count("done: VALID") == 2
    assert "0 of 2 experiments to run" in plan.stdout


@pytest.mark.full
def test_all_stages_of_a_scenario(shared: Bench, tmp_path: Path) -> None:
    directories: list[Path] = []

    def once(attempt: int) -> subprocess.CompletedProcess[str]:
        directories.append(tmp_path / str(attempt))
        return streamgauge(
            *("run", "ospbench/latency", "--engine", "echo", "--set", "stage=all", "--json"),
            *("--bootstrap", shared.transport_address, "--for", "2s", "--warmup", "1s", "--out", str(directories[-1])),
        )

    done = repeated(once)
    out = directories[-1]
    assert done.returncode == 0, done.stderr
    summaries = json.loads(done.stdout)["stages"]
    assert list(summaries) == ["ingest", "parse"]
    for stage, summary in summaries.items():
        assert summary["verdict"] == "VALID"
        assert json.loads((out / stage / "summary.json").read_text()) == summary
        assert (out / stage / "report.html").is_file()
        assert f"stage {stage}: VALID, end-to-end latency p50" in done.stderr
    assert "not run: sliding" in done.stderr
