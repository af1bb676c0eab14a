"""Measurements from Python, from pytest and from a notebook."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import streamgauge
from attempts import until_valid

EXAMPLES = Path(__file__).parents[2] / "examples"
SHORT = {"ospbench/latency": "checks/queue", '"spark"': '"echo"', '"20s"': '"5s"', "rate=400": "rate=500"}


def test_a_measurement_from_python(tmp_path: Path) -> None:
    def once(number: int) -> streamgauge.api.RunResult:
        return streamgauge.run(
            "checks/queue",
            engine="echo",
            rate=500,
            warmup=2,
            duration=5,
            settings={"delay_ms": 60.0, "quiet_s": 1},
            slo=["latency.p50 < 10s"],
            out=tmp_path / str(number),
        )

    result = until_valid(once, lambda result: result.verdict == "INVALID")
    assert result.passed, result.checks
    assert result.latency.p50_ms is not None and result.latency.p50_ms >= 60
    seconds = result.frame("seconds")
    assert seconds[seconds.phase == "measured"]["sent"].sum() == 2500
    assert result.report.is_file()


@pytest.mark.timeout(900)
def test_the_pytest_example_is_green_and_red_with_its_reason(tmp_path: Path) -> None:
    text = (EXAMPLES / "test_latency.py").read_text(encoding="utf-8")
    for old, new in SHORT.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "test_green.py").write_text(text, encoding="utf-8")
    (tmp_path / "test_red.py").write_text(text.replace("latency.p99 < 10s", "latency.p99 < 0.001ms"), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--junitxml=results.xml", "-q", "."]

    def once(_: int) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=280, env={**os.environ})

    done = until_valid(once, lambda done: ": INVALID" in done.stdout)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 1 passed" in done.stdout
    assert re.search(r"latency\.p99 < 0\.001ms: value [\d,.]+ms, limit", done.stdout)
    cases = ElementTree.parse(tmp_path / "results.xml").getroot().iter("testcase")
    reports = [one.get("value") for case in cases for one in case.iter("property")]
    assert len(reports) == 2
    assert all(Path(str(report)).is_file() for report in reports)


@pytest.mark.full
def test_the_notebook_runs(tmp_path: Path) -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(EXAMPLES / "measure.ipynb", as_version=4)
    NotebookClient(notebook, timeout=280, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    assert "VALID · checks/queue" in "".join(output.get("data", {}).get("text/html", "") for output in shown)
