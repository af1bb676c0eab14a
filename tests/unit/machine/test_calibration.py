"""Floor and ceiling from runs with known outcomes, and how they are stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from written_runs import summary

from streamgauge.errors import EngineFailed, EnvironmentProblem, InvalidMeasurement, UsageError
from streamgauge.machine import calibration
from streamgauge.model import Scenario
from streamgauge.model.calibration import Calibration
from streamgauge.model.summary import Summary
from streamgauge.studies import scenario as scenarios


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "state"))


class Machine:
    """Simulates a machine that sustains ``most_per_s``; the first ``stalls`` runs are INVALID."""

    def __init__(self, most_per_s: int, *, beyond: dict[str, Any] | None = None, stalls: int = 0) -> None:
        self.most_per_s = most_per_s
        self.beyond = beyond or {"sustained": False}
        self.stalls = stalls
        self.asked: list[int] = []

    def run(self, scenario: Scenario) -> Summary:
        rate = scenario.load.rate_per_s
        self.asked.append(rate)
        latencies = {
            "total": {"p50": 4.0, "p99": 9.0, "max": 20.0},
            "latest": {"p50": 2.0, "p99": None, "max": 18.0},
        }
        rates = {"offered": rate, "achieved": rate, "output": rate - 0.5}
        kept_up = summary(sustained=True, latency_ms=latencies, rate_per_s=rates)
        if self.stalls:
            self.stalls -= 1
            return kept_up.with_changes(verdict="INVALID", reasons=["late"])
        return kept_up if rate <= self.most_per_s else kept_up.with_changes(**self.beyond)


@pytest.fixture
def echo() -> Scenario:
    return scenarios.resolve("ospbench/latency", engine="echo")


def test_floor_and_ceiling(echo: Scenario) -> None:
    machine = Machine(10_000)
    result = calibration.calibrate(echo, machine.run)
    assert machine.asked == [echo.load.rate_per_s, 2000, 4000, 8000, 16_000]
    assert result.floor_ms.as_json() == {"total": {"p50": 4.0, "p99": 9.0}, "latest": {"p50": 2.0, "p99": None}}
    assert result.ceiling_per_s == 7999.5
    assert result.ceiling_because == "16,000/s: not sustained"


def test_one_stall_is_not_a_ceiling_but_two_are(echo: Scenario) -> None:
    machine = Machine(3000, beyond={"verdict": "INVALID", "reasons": ["late"]}, stalls=1)
    result = calibration.calibrate(echo, machine.run)
    assert machine.asked == [echo.load.rate_per_s] * 2 + [2000, 4000, 4000]
    assert result.ceiling_per_s == 1999.5
    assert "INVALID: late" in result.ceiling_because
    assert [(attempt.rate_per_s, attempt.reasons) for attempt in result.repeated] == [
        (echo.load.rate_per_s, ["late"]),
        (4000, ["late"]),
    ]
    assert (result.repeated[0].total_p50, result.repeated[1].rate_output) == (4.0, 3999.5)


def test_a_machine_without_room_ends_the_search(echo: Scenario) -> None:
    machine = Machine(10**9)

    def run(scenario: Scenario) -> Summary:
        if scenario.load.rate_per_s > 4000:
            raise EnvironmentProblem("too little disk for this run")
        return machine.run(scenario)

    result = calibration.calibrate(echo, run)
    assert (result.ceiling_per_s, result.ceiling_because) == (3999.5, "8,000/s: too little disk for this run")


@pytest.mark.parametrize(("verdict", "error"), [("INVALID", InvalidMeasurement), ("FAILED", EngineFailed)])
def test_without_a_floor_there_is_no_calibration(echo: Scenario, verdict: str, error: type[Exception]) -> None:
    machine = Machine(0, beyond={"verdict": verdict, "reasons": ["why"]})
    with pytest.raises(error, match="why"):
        calibration.calibrate(echo, machine.run)


def kept(ceiling_per_s: float) -> Calibration:
    floor_ms = {kind: {"p50": 2.0, "p99": 5.0} for kind in ("total", "latest")}
    content = {"scenario": "a/b", "at": "2026-01-01", "floor_ms": floor_ms, "ceiling_per_s": ceiling_per_s}
    return Calibration.model_validate(content)


def test_stored_per_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert calibration.read() is None
    calibration.write(kept(1.0))
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(calibration, "machine_key", lambda: "another machine")
        assert calibration.read() is None
        calibration.write(kept(2.0))
        assert calibration.read() == kept(2.0)
    assert calibration.read() == kept(1.0)


def test_a_file_of_another_version_is_ignored() -> None:
    calibration.path().parent.mkdir()
    calibration.path().write_text('{"format": 2, "machines": {}}')
    assert calibration.read() is None


@pytest.mark.parametrize(
    "content", ["", "[]", '{"format": 1, "machines": 7}', "{", '{"format": 1, "machines": {"a": {}}}']
)
def test_a_damaged_file_is_refused_and_calibrating_again_replaces_it(content: str) -> None:
    calibration.path().parent.mkdir()
    calibration.path().write_text(content)
    with pytest.raises(UsageError, match=r"calibration.json is damaged(.|\n)*streamgauge calibrate"):
        calibration.read()
    calibration.write(kept(3.0))
    assert calibration.read() == kept(3.0)
