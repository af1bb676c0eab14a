"""Repetitions from the command line, and what two of them can show."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from driving import streamgauge

from attempts import until_valid

SHORT = ("--engine", "echo", "--for", "5s", "--warmup", "2s", "--rate", "200/s", "--set", "sustained=none")


@pytest.mark.full
def test_two_repetitions_are_inconclusive(tmp_path: Path) -> None:
    out = tmp_path / "set"

    def once(_: int) -> subprocess.CompletedProcess[str]:
        shutil.rmtree(out, ignore_errors=True)
        return streamgauge("run", "ospbench/latency", *SHORT, "--runs", "2", "--json", "--out", str(out))

    def is_spoilt(done: subprocess.CompletedProcess[str]) -> bool:
        """Whether a run was INVALID."""
        summary = json.loads(done.stdout)
        return summary["verdict"] == "INVALID" or summary["state"] in ("drifting", "overloaded")

    done = until_valid(once, is_spoilt)
    summary = json.loads(done.stdout)
    assert done.returncode == 0, done.stderr
    assert [row["directory"] for row in summary["repetitions"]] == ["1", "2"]
    assert len({row["run"] for row in summary["repetitions"]}) == 2
    assert summary == json.loads((out / "summary.json").read_text())
    assert "2 runs" in (out / "report.html").read_text()

    compared = streamgauge("compare", str(out / "1"), str(out / "2"), "--json", "--fail-on", "slower")
    assert compared.returncode == 0, compared.stderr
    assert json.loads(compared.stdout)["word"] == "cannot tell"
    assert "cannot tell" in streamgauge("compare", str(out), str(out)).stdout
