"""Repetitions from the command line, and what two of them allow to say."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from driving import streamgauge

SHORT = ("--engine", "echo", "--for", "5s", "--warmup", "2s", "--rate", "200/s", "--set", "sustained=none")


@pytest.mark.full
def test_two_repetitions_never_tell(tmp_path: Path) -> None:
    out = tmp_path / "set"
    for _ in range(3):
        shutil.rmtree(out, ignore_errors=True)
        done = streamgauge("run", "ospbench/latency", *SHORT, "--runs", "2", "--json", "--out", str(out))
        summary = json.loads(done.stdout)
        # A run that the machine spoilt says nothing here.
        if summary["verdict"] != "INVALID" and summary["state"] == "steady":
            break
    assert done.returncode == 0, done.stderr
    assert [row["directory"] for row in summary["repetitions"]] == ["1", "2"]
    assert len({row["run"] for row in summary["repetitions"]}) == 2
    assert summary == json.loads((out / "summary.json").read_text())
    assert "2 runs" in (out / "report.html").read_text()

    compared = streamgauge("compare", str(out / "1"), str(out / "2"), "--json", "--fail-on", "slower")
    assert compared.returncode == 0, compared.stderr
    assert json.loads(compared.stdout)["word"] == "cannot tell"
    assert "cannot tell" in streamgauge("compare", str(out), str(out)).stdout
