"""What a run leaves behind: its report; or, when it fails, all that was measured and nothing of others removed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from run_files import content
from streamgauge.errors import EnvironmentProblem, Interrupted, PortTaken, UsageError
from streamgauge.measure import runner
from streamgauge.measure.plan import Request, RunPlan
from streamgauge.measure.reporter import NullReporter
from streamgauge.measure.runner import run_scenario
from streamgauge.model.samples import ClockSample
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json
from streamgauge.studies import scenario as scenarios
from streamgauge.transports.kafka import Kafka

GOLDEN = Path(__file__).parents[2] / "golden" / "format-1"

Measure = Callable[[RunPlan], dict[str, Any]]


class RecordingReporter(NullReporter):
    def __init__(self) -> None:
        self.warnings: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)


class ScriptedRunner:
    """Runs a measurement whose course the test scripts."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.courses: list[Measure] = []
        self.reporter = RecordingReporter()
        self.removed: list[RunPlan] = []
        scripted = self

        class Measurement:
            def __init__(self, plan: RunPlan, *_: object) -> None:
                self.plan = plan

            def measure(self) -> dict[str, Any]:
                return scripted.courses.pop(0)(self.plan)

        monkeypatch.setattr(runner, "Measurement", Measurement)
        monkeypatch.setattr(runner, "fetch_jars", lambda groups, say: None)
        monkeypatch.setattr(runner.plans, "check_room", lambda plan: None)
        monkeypatch.setattr(Kafka, "check_reachable", lambda kafka: None)
        monkeypatch.setattr(runner, "remove_streams", lambda plan, reporter: self.removed.append(plan))

    def run(self, out: Path, *courses: Measure, transport_address: str | None = None) -> tuple[RunDir, Summary]:
        self.courses += courses
        scenario = scenarios.resolve("ospbench/latency", engine="echo")
        return run_scenario(Request(scenario, out, transport_address=transport_address), self.reporter)


@pytest.fixture
def scripted(monkeypatch, tmp_path):
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "state"))
    return ScriptedRunner(monkeypatch)


def write(plan: RunPlan, outcome: dict[str, Any], recorded: tuple[str, ...] = ()) -> None:
    run = RunDir(plan.request.out)
    golden = RunDir(GOLDEN)
    write_json(run.manifest_path, content(golden.manifest_path))
    write_json(run.outcome_path, content(golden.outcome_path) | outcome)
    run.log("engine").write_text("last words")
    for stream in recorded:
        shutil.copytree(golden.recorded(stream), run.recorded(stream))


STREAMS = ("flow", "speed", "output")


def mistake_before_load(plan: RunPlan) -> dict[str, Any]:
    write(plan, {"load_start_ns": None, "drain_end_ns": None, "ends": {}})
    raise UsageError("your build is wrong")


def mistake_under_load(plan: RunPlan) -> dict[str, Any]:
    write(plan, {"drain_end_ns": None, "ends": {}})
    raise UsageError("your build is wrong")


def port_taken(plan: RunPlan) -> dict[str, Any]:
    RunDir(plan.request.out).append_samples(ClockSample(t_ns=1, mono_ns=1, bracket_ns=1))
    raise PortTaken("another program took a port of this run", where="127.0.0.1:1")


def well(plan: RunPlan) -> dict[str, Any]:
    write(plan, {})
    RunDir(plan.request.out).write_summary(RunDir(GOLDEN).summary().with_changes(verdict="VALID", reasons=[]))
    return RunDir(plan.request.out).summary()


def test_a_run_ends_with_its_report(scripted, tmp_path):
    directory, summary = scripted.run(tmp_path / "run", well)
    assert directory.path == tmp_path / "run"
    assert summary.verdict == "VALID"
    assert "VALID" in directory.report_path.read_text(encoding="utf-8")


def test_a_mistake_before_the_load_leaves_nothing_of_the_run(scripted, tmp_path):
    with pytest.raises(UsageError, match="your build"):
        scripted.run(tmp_path / "run", mistake_before_load)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", [".", "here"])
def test_a_directory_that_was_there_before_stays(scripted, tmp_path, monkeypatch, name):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here if name == "." else tmp_path)
    with pytest.raises(UsageError, match="your build"):
        scripted.run(Path(name), mistake_before_load)
    assert here.is_dir()
    assert list(here.iterdir()) == []


def test_what_others_put_there_meanwhile_stays(scripted, tmp_path):
    def somebody_writes(plan: RunPlan) -> dict[str, Any]:
        (plan.request.out / "precious").write_text("mine")
        return mistake_before_load(plan)

    with pytest.raises(UsageError, match="your build"):
        scripted.run(tmp_path / "run", somebody_writes)
    assert [path.name for path in (tmp_path / "run").iterdir()] == ["precious"]


def test_nothing_is_removed_behind_a_link(scripted, tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with pytest.raises(UsageError, match="your build"):
        scripted.run(tmp_path / "link", mistake_before_load)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target" / "logs" / "engine.log").exists()


def test_a_run_whose_load_had_started_is_kept(scripted, tmp_path):
    with pytest.raises(UsageError) as warning:
        scripted.run(tmp_path / "run", mistake_under_load)
    assert warning.value.where == tmp_path / "run"
    assert (tmp_path / "run" / "logs" / "engine.log").exists()


def test_a_taken_port_is_tried_again_with_others(scripted, tmp_path):
    plans = []

    def keep(plan: RunPlan) -> dict[str, Any]:
        plans.append(plan)
        assert RunDir(plan.request.out).samples(ClockSample) == []
        return well(plan)

    run, summary = scripted.run(tmp_path / "run", lambda plan: plans.append(plan) or port_taken(plan), keep)
    assert summary.verdict == "VALID"
    assert run.path.is_dir()
    assert not set(plans[0].server_ports) & set(plans[1].server_ports)
    assert len(scripted.reporter.warnings) == 1
    assert "other ports" in scripted.reporter.warnings[0]


def test_a_port_that_is_taken_twice_is_the_environments_fault(scripted, tmp_path):
    with pytest.raises(EnvironmentProblem) as warning:
        scripted.run(tmp_path / "run", port_taken, port_taken)
    assert warning.value.exit_code == 5


def broker_without_port(outcome: dict[str, Any]) -> Measure:
    def course(plan: RunPlan) -> dict[str, Any]:
        write(plan, outcome, STREAMS)
        text = f"Socket server failed to bind to 127.0.0.1:{plan.server_ports[1]}: Address already in use."
        RunDir(plan.request.out).log("broker").write_text(text)
        raise EnvironmentProblem("broker ended before it was usable")

    return course


def test_a_broker_without_its_port_is_started_again(scripted, tmp_path):
    _, summary = scripted.run(tmp_path / "run", broker_without_port({"load_start_ns": None}), well)
    assert summary.verdict == "VALID"


def test_what_was_measured_is_not_thrown_away_for_the_words_of_a_log(scripted, tmp_path):
    with pytest.raises(EnvironmentProblem, match="broker ended"):
        scripted.run(tmp_path / "run", broker_without_port({}), well)
    assert (tmp_path / "run" / "recorded" / "flow").is_dir()


def interrupt(outcome: dict[str, Any], recorded: tuple[str, ...]) -> Measure:
    def course(plan: RunPlan) -> dict[str, Any]:
        write(plan, outcome, recorded)
        raise KeyboardInterrupt

    return course


def test_interrupted_while_it_is_evaluated(scripted, tmp_path):
    with pytest.raises(Interrupted) as warning:
        scripted.run(tmp_path / "run", interrupt({}, STREAMS))
    assert f"streamgauge evaluate {tmp_path / 'run'}" in warning.value.message()
    assert not (tmp_path / "run" / "summary.json").exists()


def test_interrupted_while_it_is_recorded(scripted, tmp_path):
    """The broker that held the rest is gone."""
    with pytest.raises(Interrupted) as warning:
        scripted.run(tmp_path / "run", interrupt({}, STREAMS[:1]))
    assert warning.value.hint is None
    assert "the run was interrupted" in RunDir(tmp_path / "run").summary().reasons


def fail_to_record(plan: RunPlan) -> dict[str, Any]:
    write(plan, {}, STREAMS[:1])
    raise EnvironmentProblem("evaluate-jvm ended")


@pytest.mark.parametrize("course", [fail_to_record, interrupt({}, STREAMS[:1])])
def test_topics_of_the_users_that_were_not_recorded_stay_and_are_named(scripted, tmp_path, course):
    with pytest.raises((EnvironmentProblem, Interrupted)):
        scripted.run(tmp_path / "run", course, transport_address="127.0.0.1:9")
    assert scripted.removed == []
    (warning,) = scripted.reporter.warnings
    for word in ("127.0.0.1:9", ".flow", ".speed", ".output", f"streamgauge evaluate {tmp_path / 'run'}"):
        assert word in warning


@pytest.mark.parametrize("course", [interrupt({"interrupted": True}, ()), mistake_under_load, interrupt({}, STREAMS)])
def test_topics_that_nobody_needs_are_removed(scripted, tmp_path, course):
    with pytest.raises((UsageError, Interrupted)):
        scripted.run(tmp_path / "run", course, transport_address="127.0.0.1:9")
    assert len(scripted.removed) == 1
    assert scripted.reporter.warnings == []


def test_a_directory_in_use_is_refused(scripted, tmp_path):
    def again(plan: RunPlan) -> dict[str, Any]:
        with pytest.raises(UsageError, match="another command is using"):
            scripted.run(tmp_path / "run")
        return well(plan)

    scripted.run(tmp_path / "run", again)


def test_a_temporary_run_leaves_no_directory(scripted, tmp_path, monkeypatch):
    scripted.courses.append(well)
    request = Request(scenarios.resolve("ospbench/latency", engine="echo"), tmp_path / "streamgauge-x", temporary=True)
    run_scenario(request, scripted.reporter)
    assert not (tmp_path / "streamgauge-x").exists()
