"""The example of a third-party study, installed as a user would: listed, planned, run, checked and drawn."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from driving import repeated, streamgauge

from streamgauge.conformance.suite import Bench

EXAMPLE = Path(__file__).parents[2] / "examples" / "sensor_alarms"
SCENARIO, WORKLOAD = "sensor-alarms/limits", "sensors/alarms"
SHORT = ("--for", "3s", "--set", "warmup_s=1.0", "--set", "rate_per_s=200", "--set", "quiet_s=1.0")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment in which Python finds the package."""
    site = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site), str(EXAMPLE)]
    done = subprocess.run(command, text=True, capture_output=True, timeout=200, check=False)
    assert done.returncode == 0, done.stderr
    return {"PYTHONPATH": os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))}


def test_it_is_listed(installed: dict[str, str]) -> None:
    done = streamgauge("list", env=installed)
    assert done.returncode == 0, done.stderr
    assert re.search(rf"^  {SCENARIO} +Alarms at a constant rate of readings$", done.stdout, re.MULTILINE)
    described = streamgauge("list", SCENARIO, env=installed)
    assert described.returncode == 0, described.stderr
    assert "limit_celsius = 90: limit for alarms" in described.stdout
    workloads = streamgauge("list", "workloads", env=installed)
    assert re.search(rf"^  {WORKLOAD} +alarms: keep the readings above a limit$", workloads.stdout, re.MULTILINE)


def test_it_is_planned(installed: dict[str, str]) -> None:
    done = streamgauge("plan", SCENARIO, "--set", "limit_celsius=50", env=installed)
    assert done.returncode == 0, done.stderr
    assert f"{WORKLOAD} on spark" in done.stdout
    assert "limit_celsius = 50" in done.stdout
    refused = streamgauge("plan", SCENARIO, "--set", "limit_celsius=hot", env=installed)
    assert refused.returncode == 2
    assert "limit_celsius" in refused.stderr
    lacking = streamgauge("plan", SCENARIO, "--engine", "flink", env=installed)
    assert lacking.returncode == 2
    assert f"engine flink does not run {WORKLOAD}" in lacking.stderr


def expected_alarms(summary: dict[str, Any]) -> None:
    results = summary["results"]
    assert results["matched"] == results["expected"] > 0
    assert [results[key] for key in ("wrong", "lost", "unfinished", "unexpected", "duplicates")] == [0] * 5


@pytest.mark.engine("spark")
def test_it_is_run_checked_and_drawn(installed: dict[str, str], shared: Bench, tmp_path: Path) -> None:
    directories: list[Path] = []

    def once(attempt: int) -> subprocess.CompletedProcess[str]:
        directories.append(tmp_path / str(attempt))
        return streamgauge(
            *("reproduce", "sensor-alarms", "--only", "few-alarms", *SHORT, "--json"),
            *("--bootstrap", shared.transport_address, "--out", str(directories[-1])),
            env=installed,
        )

    done = repeated(once)
    assert done.returncode == 0, done.stderr
    few, many = json.loads(done.stdout)["experiments"]
    assert (few["verdict"], few["dimensions"]) == ("VALID", {"alarms": "few"})
    assert many["state"] == "pending"
    expected_alarms(few["summary"])

    page = (directories[-1] / "report.html").read_text()
    drawn = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, flags=re.DOTALL)
    assert drawn is not None
    (line,) = json.loads(drawn[1])["exhibit-1-alarms"]["data"]
    assert (line["name"], line["y"]) == ("spark", [few["summary"]["latency_ms"]["total"]["p50"]])
    assert "Median latency by alarms per second" in page


@pytest.mark.full
@pytest.mark.engine("spark")
def test_its_scenario_is_run_on_its_own(installed: dict[str, str], shared: Bench, tmp_path: Path) -> None:
    def once(attempt: int) -> subprocess.CompletedProcess[str]:
        out = str(tmp_path / str(attempt))
        return streamgauge(
            "run", SCENARIO, *SHORT, "--json", "--bootstrap", shared.transport_address, "--out", out, env=installed
        )

    done = repeated(once)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["verdict"] == "VALID"
    expected_alarms(summary)


@pytest.mark.full
def test_an_extra_and_a_missing_alarm_are_found(installed: dict[str, str], shared: Bench, tmp_path: Path) -> None:
    def once(attempt: int) -> subprocess.CompletedProcess[str]:
        return streamgauge(
            *("run", SCENARIO, *SHORT, "--engine", "command", "--json", "--bootstrap", shared.transport_address),
            *("--out", str(tmp_path / str(attempt)), "--", sys.executable),
            str(Path(__file__).with_name("alarm_engine.py")),
            env=installed,
        )

    done = repeated(once)
    assert done.returncode == 4, done.stderr
    summary = json.loads(done.stdout)
    results = summary["results"]
    assert (summary["verdict"], results["unexpected"], results["lost"]) == ("FAILED", 1, 1)
    assert (results["wrong"], results["matched"]) == (0, results["expected"] - 1)
    assert summary["reasons"] == [
        "1 results should not have been produced",
        f"1 of {results['expected']} results were lost; the engine claims at-least-once",
    ]
