"""An evaluator whose JVM is killed loses nothing; topics that cannot be recorded stay on the user's Kafka."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from driving import streamgauge

from run_files import content
from streamgauge.conformance.suite import Bench
from streamgauge.errors import EnvironmentProblem
from streamgauge.evaluate.process import JVM_ROLE
from streamgauge.measure.evaluation import Evaluator
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.measure.runner import run_scenario
from streamgauge.model import ProcessSpec
from streamgauge.processes.supervisor import Supervisor
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios

GOLDEN = Path(__file__).parents[1] / "golden" / "format-1"


class Killer(NullReporter):
    """Kills the evaluator's JVM when a phase that begins with this text is reported."""

    def __init__(self, shared: Bench, when: str) -> None:
        self.shared, self.when = shared, when
        self.killed: list[int] = []
        self.warnings: list[str] = []

    def phase(self, text: str) -> None:
        jvms = [running for running in self.shared.supervisor.processes() if running.role == JVM_ROLE]
        if text.startswith(self.when) and jvms and not self.killed:
            self.killed.append(jvms[0].pid)
            os.kill(jvms[0].pid, signal.SIGKILL)

    def warn(self, text: str) -> None:
        self.warnings.append(text)


def request(shared: Bench) -> Request:
    changes = {"warmup_s": "1", "measured_s": "2", "rate_per_s": "200", "quiet_s": "1"}
    scenario = scenarios.resolve("ospbench/latency", engine="echo", changes=changes)
    return Request(scenario, shared.out("killed"), transport_address=shared.transport_address)


@pytest.mark.full
def test_killed_while_it_matches(shared: Bench, tmp_path: Path) -> None:
    run = RunDir(Path(shutil.copytree(GOLDEN, tmp_path / "run")))
    run.summary_path.unlink()
    killer = Killer(shared, "matching")
    shared.evaluator.evaluate(run, killer.phase, killer.warn)
    assert killer.killed
    assert sum("restarting the evaluator" in text for text in killer.warnings) == 1
    assert run.summary_path.read_bytes() == (GOLDEN / "summary.json").read_bytes()


@pytest.mark.full
def test_killed_while_it_records(shared: Bench) -> None:
    """The broker is still running when the step is repeated."""
    killer = Killer(shared, "recording speed")
    _, summary = run_scenario(request(shared), killer, shared.evaluator)
    assert killer.killed
    assert sum("restarting the evaluator" in text for text in killer.warnings) == 1
    assert summary.results["matched"] == summary.results["expected"] > 0
    assert not any("ended unexpectedly" in reason for reason in summary.reasons)


def topics(shared: Bench, run: str) -> list[str]:
    names = AdminClient({"bootstrap.servers": shared.transport_address}).list_topics(timeout=20).topics
    return sorted(topic for topic in names if run in topic)


@pytest.mark.full
def test_topics_on_the_users_broker_stay_until_they_are_recorded(shared: Bench) -> None:
    asked = request(shared)
    broken = ProcessSpec(role="evaluate", group="evaluate", argv=[sys.executable, "-c", "raise SystemExit('no Spark')"])
    killer = Killer(shared, "never")
    with Supervisor("without-spark") as supervisor, pytest.raises(EnvironmentProblem) as refused:
        run_scenario(asked, killer, Evaluator(supervisor, [broken]))
    run = RunDir.open(asked.out)
    name: str = content(run.manifest_path)["run"]
    kept: list[str] = [stream["topic"] for stream in content(run.manifest_path)["streams"]]
    assert topics(shared, name) == sorted(kept)
    assert refused.value.exit_code == 5
    warning = killer.warnings[-1]
    assert all(topic in warning for topic in kept)
    assert f"streamgauge evaluate {run.path}" in warning

    done = streamgauge("evaluate", str(run.path), "--json")
    summary: dict[str, Any] = json.loads(done.stdout)
    assert summary["results"]["matched"] == summary["results"]["expected"] > 0, done.stderr
    assert topics(shared, name) == []
