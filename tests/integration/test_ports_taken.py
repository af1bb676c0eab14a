"""A port that another program takes between choice and use: the run is retried, and the engine is not blamed."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from streamgauge.errors import EnvironmentProblem
from streamgauge.measure import plan as plans
from streamgauge.measure.plan import Request, RunPlan
from streamgauge.measure.reporter import NullReporter
from streamgauge.measure.runner import run_scenario
from streamgauge.studies import scenario as scenarios

pytestmark = pytest.mark.full

TAKEN = pytest.mark.parametrize(
    ("engine", "group"), [("echo", "broker"), pytest.param("flink", "engine", marks=pytest.mark.engine("flink"))]
)


class Thief(NullReporter):
    """Takes a port of each run as soon as it is planned, the given number of times."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, group: str, times: int) -> None:
        self.warnings: list[str] = []
        self.held: list[socket.socket] = []
        self._group = group
        self._left = times
        self._checked = False
        self._draw = plans.draw
        monkeypatch.setattr(plans, "draw", self.draw)

    def draw(self, request: Request, run: str, work_dir: Path) -> RunPlan:
        plan = self._draw(request, run, work_dir)
        # The first plan is only for the memory and disk check.
        if self._checked and self._left:
            self._left -= 1
            listener = socket.socket()
            listener.bind(("127.0.0.1", (plan.server_ports if self._group == "broker" else plan.job.ports)[0]))
            listener.listen()
            self.held.append(listener)
        self._checked = True
        return plan

    def warn(self, text: str) -> None:
        self.warnings.append(text)


@pytest.fixture
def steal(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Thief]]:
    thieves: list[Thief] = []
    yield thieves
    for listener in (listener for thief in thieves for listener in thief.held):
        listener.close()


def request(engine: str, out: Path) -> Request:
    changes = {"warmup_s": "1", "measured_s": "2", "rate_per_s": "200"}
    return Request(scenarios.resolve("ospbench/latency", engine=engine, changes=changes), out)


@TAKEN
def test_taken_once(
    engine: str, group: str, steal: list[Thief], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    thief = Thief(monkeypatch, group, times=1)
    steal.append(thief)
    _, summary = run_scenario(request(engine, tmp_path / "run"), thief)
    assert summary.results["matched"] == summary.results["expected"] > 0
    port = thief.held[0].getsockname()[1]
    assert any(f"127.0.0.1:{port}" in text for text in thief.warnings)


@TAKEN
def test_taken_twice(
    engine: str, group: str, steal: list[Thief], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    thief = Thief(monkeypatch, group, times=2)
    steal.append(thief)
    with pytest.raises(EnvironmentProblem, match="in use by another program"):
        run_scenario(request(engine, tmp_path / "run"), thief)
    assert len(thief.held) == 2
    assert not (tmp_path / "run" / "summary.json").exists()
