"""What is run of a study, in which order, what is run again and what is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from written_runs import capacity, summary

from run_files import as_written
from streamgauge import report
from streamgauge.campaigns import reproduction_runner
from streamgauge.campaigns.capacity import CapacitySearch
from streamgauge.campaigns.capacity_file import CapacityFile
from streamgauge.campaigns.reproduction import AttemptResult, LocalRunner, done_before, exit_code, reproduce
from streamgauge.campaigns.reproduction_estimate import TELLING_S, Progress
from streamgauge.campaigns.reproduction_plan import PlannedExperiment, ReproductionRequest, plan
from streamgauge.campaigns.search import Answer
from streamgauge.errors import EngineFailed, Interrupted, UsageError
from streamgauge.machine import description as machine
from streamgauge.measure.reporter import NullReporter, Reporter
from streamgauge.model import Verdict
from streamgauge.model.campaign import REPRODUCTION_NAME as NAME
from streamgauge.model.campaign import ExperimentRow, Reproduction
from streamgauge.model.capacity import Capacity
from streamgauge.study import Study

ECHO = ("echo",)
RUNNABLE = ["stages-ingest-built-in", "stages-parse-built-in"]
"""What echo runs of the study."""


class Onlooker(NullReporter):
    def __init__(self) -> None:
        self.begun: list[str] = []
        self.left_s: list[float] = []
        self.warned: list[str] = []
        self.ended: list[str] = []

    def begin(self, title: str, left_s: float) -> None:
        self.begun.append(title)
        self.left_s.append(left_s)

    def end(self, row: ExperimentRow) -> None:
        self.ended.append(row.name)

    def warn(self, text: str) -> None:
        self.warned.append(text)


class Script:
    """Carries out nothing, and ends each attempt as it is told: with a verdict, or as if by Ctrl-C."""

    def __init__(self, *verdicts: str) -> None:
        self._verdicts = list(verdicts)
        self.done: list[str] = []
        self.on_disk: list[dict[str, Any]] = []

    def carry_out(self, planned: PlannedExperiment, directory: Path, reporter: Reporter) -> AttemptResult:
        self.on_disk.append(json.loads((directory.parents[1] / NAME).read_text()))
        self.done.append(directory.name)
        directory.mkdir(parents=True, exist_ok=True)
        verdict = self._verdicts.pop(0) if self._verdicts else "VALID"
        if verdict == "Ctrl-C":
            raise Interrupted("interrupted", where=directory)
        reasons = [] if verdict == "VALID" else ["why"]
        if planned.experiment.purpose == "capacity":
            return AttemptResult(Verdict(verdict), reasons, capacity=capacity())
        measured = summary(verdict=verdict, sustained=False, latency_ms={"total": {"p50": 4.0}})
        return AttemptResult(Verdict(verdict), reasons, summary=measured)


@pytest.fixture(autouse=True)
def pages(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The state that each page was written for."""
    written: list[str] = []

    def write_study(out: Path, study: Study) -> Path:
        written.append(json.loads((out / NAME).read_text())["state"])
        return out / "report.html"

    monkeypatch.setattr(report, "write_study", write_study)
    return written


@pytest.fixture
def campaign(tmp_path: Path) -> Callable[..., ReproductionRequest]:
    def make(**changes: Any) -> ReproductionRequest:
        return ReproductionRequest(**{"study": "stage-latency", "out": tmp_path / "out", "engines": ECHO, **changes})

    return make


def rows(content: Reproduction) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in as_written(content)["experiments"]}


@pytest.mark.parametrize("profile", ["laptop", "paper"])
@pytest.mark.parametrize("study", ["ospbench", "stage-latency"])
def test_spark_runs_all_that_the_studies_ran(study: str, profile: str, tmp_path: Path) -> None:
    plans = plan(ReproductionRequest(study, tmp_path, profile=profile))
    assert len(plans) == {"ospbench": 16, "stage-latency": 5}[study]
    for planned in plans:
        assert planned.request is not None, planned.reason
        scenario = planned.request.scenario
        assert scenario.chosen == planned.experiment.dimensions["stage"]
        variant = planned.experiment.dimensions["variant"]
        assert scenario.profile == profile
        options = scenario.engine_options
        assert (options["implementation"] == "customised") == (variant == "customised")
        assert options["realtime"] == (variant == "real-time")
        assert f"--set stage={scenario.chosen}" in planned.request.command
    assert len({planned.name for planned in plans}) == len(plans)


def test_what_an_engine_lacks_is_not_run_and_says_why(campaign: Callable[..., ReproductionRequest]) -> None:
    plans = plan(campaign(study="ospbench"))
    not_run = {planned.experiment.name: planned.reason for planned in plans if planned.request is None}
    assert not_run["latency-join-customised"] == "engine echo has no option implementation"
    assert "realtime" in not_run["latency-ingest-real-time"]
    assert "does not run traffic/tumbling" in not_run["throughput-tumbling-built-in"]
    ran = [planned.experiment.name for planned in plans if planned.request is not None]
    assert ran == ["latency-ingest-built-in", "latency-parse-built-in", "periodic-burst-parse-built-in"]


def test_what_needs_a_cluster_of_its_own_is_a_gap_on_the_users(campaign: Callable[..., ReproductionRequest]) -> None:
    asked = campaign(study="streambench", engines=("spark",), changes={"master": "spark://host:7077"})
    planned = {one.experiment.name: one for one in plan(asked)}
    assert planned["performance-identity-1x"].request is not None
    gap = planned["multi-recipient-identity-half"]
    assert gap.request is None
    assert "cluster=standalone and master conflict" in gap.reason


def test_the_engines_take_turns(campaign: Callable[..., ReproductionRequest]) -> None:
    plans = plan(campaign(engines=("echo", "spark", "echo")))
    assert [planned.engine for planned in plans] == ["echo", "spark"] * 5


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"study": "ospbensh"}, "did you mean 'ospbench'"),
        ({"engines": ("ecko",)}, "did you mean 'echo'"),
        ({"engines": ("command",)}, "needs a program"),
        ({"only": ("stages-ingest",)}, "did you mean 'stages-ingest-built-in'"),
        ({"only": ("stages-injest-built-in",)}, "did you mean 'stages-ingest-built-in'"),
        ({"only": ("built-in",)}, r"did you mean '\*built-in\*'"),
        ({"only": ("stages",)}, r"did you mean 'stages-\*'"),
        ({"changes": {"stage": "parse"}}, "the study itself sets stage"),
        ({"changes": {"realtime": "true"}}, "the study itself sets realtime"),
        ({"changes": {"measured_s": "soon"}}, "measured_s"),
        ({"profile": "desktop"}, "invalid --profile desktop"),
        ({"study": "sustainable", "changes": {"to_per_s": "5"}}, "try: streamgauge run sustainable/fluctuating, which"),
    ],
)
def test_ways_to_ask_wrongly(changes: dict[str, Any], says: str, campaign: Callable[..., ReproductionRequest]) -> None:
    asked = campaign(**changes)
    with pytest.raises(UsageError, match=says):
        reproduce(asked, Onlooker(), Script())
    assert not asked.out.exists()


def test_a_study_without_experiments_is_refused(campaign: Callable[..., ReproductionRequest]) -> None:
    with pytest.raises(UsageError, match="checks has no tables or figures to reproduce yet"):
        plan(campaign(study="checks"))


def test_everything_once_and_written_down_after_each(
    campaign: Callable[..., ReproductionRequest], pages: list[str]
) -> None:
    script, onlooker = Script(), Onlooker()
    content = reproduce(campaign(), onlooker, script)
    assert script.done == [f"{name}-echo" for name in RUNNABLE]
    assert onlooker.begun == ["1 of 2: stages-ingest-built-in on echo", "2 of 2: stages-parse-built-in on echo"]
    assert onlooker.ended == RUNNABLE
    assert [row.state for row in content.experiments] == ["done", "done", "not run", "not run", "not run"]
    assert "echo" in rows(content)["stages-join-built-in"]["reason"]
    assert rows(content)["stages-ingest-built-in"]["directory"] == "runs/stages-ingest-built-in-echo"
    assert content.state == "finished"
    assert exit_code(content) == 0, "overload is a finding"
    assert json.loads((campaign().out / NAME).read_text()) == as_written(content)
    assert [[row["state"] for row in seen["experiments"]][:2] for seen in script.on_disk] == [
        ["pending", "pending"],
        ["done", "pending"],
    ]
    assert pages == ["unfinished", "unfinished", "finished"]


def test_says_about_how_long_is_left(campaign: Callable[..., ReproductionRequest]) -> None:
    asked = campaign(changes={"warmup_s": "0", "measured_s": "5"})
    first_s, second_s = (one.estimate_s for one in plan(asked) if one.experiment.name in RUNNABLE)
    onlooker = Onlooker()
    reproduce(asked, onlooker, Script("INVALID"))
    assert 2 * first_s < TELLING_S, "so that the estimates are not corrected yet"
    assert onlooker.left_s == pytest.approx([first_s + second_s, first_s + second_s, second_s])


def test_what_is_left_follows_from_how_long_runs_took() -> None:
    progress = Progress()
    progress.add(estimated_s=100, took_s=50)
    assert progress.corrected_s(600) == 600, "too early to tell"
    progress.add(estimated_s=100, took_s=70)
    assert progress.corrected_s(600) == 360


def test_interrupted_it_goes_on_where_it_stopped(campaign: Callable[..., ReproductionRequest]) -> None:
    with pytest.raises(Interrupted):
        reproduce(campaign(), Onlooker(), Script("VALID", "Ctrl-C"))
    assert done_before(campaign()) == {"stages-ingest-built-in-echo": "VALID"}
    script, onlooker = Script(), Onlooker()
    content = reproduce(campaign(), onlooker, script)
    # What the interrupted run left behind stays.
    assert script.done == ["stages-parse-built-in-echo-2"]
    assert onlooker.begun == ["2 of 2: stages-parse-built-in on echo"]
    assert content.state == "finished"
    third = Script()
    assert as_written(reproduce(campaign(), Onlooker(), third)) == as_written(content)
    assert third.done == []


def test_what_an_early_version_left_is_resumed(campaign: Callable[..., ReproductionRequest]) -> None:
    """It had the stage and the variant of an experiment as keys of their own, and no settings."""
    with pytest.raises(Interrupted):
        reproduce(campaign(), Onlooker(), Script("VALID", "Ctrl-C"))
    path = campaign().out / NAME
    content = json.loads(path.read_text())
    for row in content["experiments"]:
        row |= row.pop("dimensions")
        del row["settings"], row["faults"]
    assert (content["experiments"][0]["stage"], content["experiments"][0]["variant"]) == ("ingest", "built-in")
    path.write_text(json.dumps(content))
    script = Script()
    resumed = reproduce(campaign(), Onlooker(), script)
    assert script.done == ["stages-parse-built-in-echo-2"]
    assert resumed.state == "finished"
    assert rows(resumed)[RUNNABLE[0]]["dimensions"] == {"stage": "ingest", "variant": "built-in"}


def test_an_interrupted_search_goes_on_in_its_own_directory(campaign: Callable[..., ReproductionRequest]) -> None:
    search = campaign(study="ospbench", engines=("spark",), only=("throughput-*",))
    with pytest.raises(Interrupted):
        reproduce(search, Onlooker(), Script("Ctrl-C"))
    script = Script("INVALID", "VALID")
    content = reproduce(search, Onlooker(), script)
    assert script.done == ["throughput-tumbling-built-in-spark", "throughput-tumbling-built-in-spark-2"]
    assert rows(content)["throughput-tumbling-built-in"]["capacity"]["outcome"] == "found"


def test_an_invalid_run_is_repeated_once_and_both_are_told(campaign: Callable[..., ReproductionRequest]) -> None:
    script, onlooker = Script("INVALID", "VALID", "INVALID", "INVALID"), Onlooker()
    content = reproduce(campaign(), onlooker, script)
    first, second = (rows(content)[name] for name in RUNNABLE)
    assert [attempt["verdict"] for attempt in first["attempts"]] == ["INVALID", "VALID"]
    assert first["attempts"][0] == {
        "run": 1,
        "directory": "runs/stages-ingest-built-in-echo",
        "verdict": "INVALID",
        "reasons": ["why"],
        "p50_ms": {"total": 4.0},
        "p99_ms": {"total": None},
        "rate_output": 39.5,
        "interval": None,
    }
    assert first["verdict"] == "VALID"
    assert first["directory"] == "runs/stages-ingest-built-in-echo-2"
    assert first["summary"]["verdict"] == "VALID"
    assert [attempt["verdict"] for attempt in second["attempts"]] == ["INVALID", "INVALID"]
    assert second["state"] == "done"
    assert len(script.done) == 4
    assert "again" in onlooker.begun[1]
    assert len(onlooker.warned) == 2
    assert exit_code(content) == 3


def test_what_stayed_invalid_can_be_tried_again_later(campaign: Callable[..., ReproductionRequest]) -> None:
    first = reproduce(campaign(), Onlooker(), Script("INVALID", "INVALID", "FAILED"))
    assert done_before(campaign()).keys() == {f"{name}-echo" for name in RUNNABLE}
    assert done_before(campaign(retry=True)) == {f"{RUNNABLE[1]}-echo": "FAILED"}, "a failure is a finding"
    script = Script("INVALID", "VALID")
    content = reproduce(campaign(retry=True), Onlooker(), script)
    assert script.done == ["stages-ingest-built-in-echo-3", "stages-ingest-built-in-echo-4"]
    row = rows(content)[RUNNABLE[0]]
    assert [attempt["verdict"] for attempt in row["attempts"]] == ["INVALID", "INVALID", "INVALID", "VALID"]
    assert (row["state"], row["verdict"]) == ("done", "VALID")
    assert (exit_code(first), exit_code(content)) == (3, 4)
    again = Script()
    reproduce(campaign(retry=True), Onlooker(), again)
    assert again.done == []


def test_there_must_be_something_to_retry(campaign: Callable[..., ReproductionRequest]) -> None:
    for command in (
        lambda: reproduce(campaign(retry=True), Onlooker(), Script()),
        lambda: done_before(campaign(retry=True)),
    ):
        with pytest.raises(UsageError, match="--retry needs the --out of an earlier reproduction"):
            command()
    assert not campaign().out.exists()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"dimensions": {"stage": "ingest"}}, r"experiments\[0\]\.dimensions is {'stage': 'ingest'}"),
        ({"capacity": {**as_written(capacity()), "probes": []}}, r"experiments\[0\]\.capacity\.probes is empty"),
    ],
)
def test_a_damaged_experiment_is_named(
    changes: dict[str, Any], says: str, campaign: Callable[..., ReproductionRequest]
) -> None:
    reproduce(campaign(), Onlooker(), Script())
    path = campaign().out / NAME
    content = json.loads(path.read_text())
    content["experiments"][0] |= changes
    path.write_text(json.dumps(content))
    with pytest.raises(UsageError, match=rf"reproduction.json is damaged(.|\n)*{says}(.|\n)*another --out"):
        reproduce(campaign(), Onlooker(), Script())


def test_the_second_attempt_comes_after_an_interruption_too(campaign: Callable[..., ReproductionRequest]) -> None:
    with pytest.raises(Interrupted):
        reproduce(campaign(), Onlooker(), Script("INVALID", "Ctrl-C"))
    script = Script("INVALID")
    content = reproduce(campaign(), Onlooker(), script)
    assert script.done == ["stages-ingest-built-in-echo-3", "stages-parse-built-in-echo"]
    assert [a["verdict"] for a in rows(content)["stages-ingest-built-in"]["attempts"]] == ["INVALID", "INVALID"]


def test_a_failed_one_does_not_stop_the_rest(campaign: Callable[..., ReproductionRequest]) -> None:
    content = reproduce(campaign(), Onlooker(), Script("FAILED", "VALID"))
    assert [rows(content)[name]["attempts"][0]["verdict"] for name in RUNNABLE] == ["FAILED", "VALID"]
    assert exit_code(content) == 4


def test_invalid_comes_before_failed(campaign: Callable[..., ReproductionRequest]) -> None:
    content = reproduce(campaign(), Onlooker(), Script("FAILED", "INVALID", "INVALID"))
    assert exit_code(content) == 3


def test_what_was_not_chosen_waits(campaign: Callable[..., ReproductionRequest]) -> None:
    content = reproduce(campaign(only=("*-parse-*",)), Onlooker(), Script())
    assert [row.state for row in content.experiments][:2] == ["pending", "done"]
    assert (content.state, exit_code(content)) == ("unfinished", 0)
    script = Script()
    assert reproduce(campaign(), Onlooker(), script).state == "finished"
    assert script.done == ["stages-ingest-built-in-echo"]


def test_an_engine_may_be_added(campaign: Callable[..., ReproductionRequest]) -> None:
    reproduce(campaign(), Onlooker(), Script())
    script = Script()
    content = reproduce(campaign(engines=("echo", "spark"), only=("*-ingest-*",)), Onlooker(), script)
    assert script.done == ["stages-ingest-built-in-spark"]
    assert [row.engine for row in content.experiments] == ["echo", "spark"] * 5
    alone = reproduce(campaign(engines=("spark",), only=("*-ingest-*",)), Onlooker(), Script())
    done = {(row.name, row.engine) for row in alone.experiments if row.state == "done"}
    assert done == {(RUNNABLE[0], "spark"), (RUNNABLE[0], "echo"), (RUNNABLE[1], "echo")}


@pytest.mark.parametrize(
    ("changes", "begun"),
    [
        ({"changes": {"measured_s": "5.0"}}, "without measured_s"),
        ({"profile": "paper"}, "with another --profile"),
        ({"study": "ospbench"}, "with another study"),
        ({"bootstrap": "127.0.0.1:9092"}, "without --bootstrap"),
    ],
)
def test_other_settings_are_refused_by_name(
    changes: dict[str, Any], begun: str, campaign: Callable[..., ReproductionRequest]
) -> None:
    reproduce(campaign(), Onlooker(), Script("FAILED"))
    before = (campaign().out / NAME).read_bytes()
    with pytest.raises(UsageError, match=f"begun {begun}"):
        reproduce(campaign(**changes), Onlooker(), Script())
    with pytest.raises(UsageError, match=f"begun {begun}"):
        done_before(campaign(**changes))
    assert (campaign().out / NAME).read_bytes() == before


def test_it_does_not_go_on_elsewhere(
    campaign: Callable[..., ReproductionRequest], monkeypatch: pytest.MonkeyPatch
) -> None:
    reproduce(campaign(), Onlooker(), Script("FAILED"))
    here = machine.describe()
    monkeypatch.setattr(machine, "describe", lambda: here.with_changes(cores=here.cores + 1))
    with pytest.raises(UsageError, match=r"another machine\.cores"):
        reproduce(campaign(), Onlooker(), Script())


def test_nothing_else_is_overwritten(campaign: Callable[..., ReproductionRequest]) -> None:
    campaign().out.mkdir()
    (campaign().out / "precious").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        reproduce(campaign(), Onlooker(), Script())
    (campaign().out / NAME).write_text("{}")
    with pytest.raises(UsageError, match="format"):
        reproduce(campaign(), Onlooker(), Script())
    (campaign().out / NAME).write_text("{")
    with pytest.raises(UsageError, match="is damaged"):
        reproduce(campaign(), Onlooker(), Script())


def test_the_estimate_follows_the_scenario(campaign: Callable[..., ReproductionRequest]) -> None:
    laptop = plan(campaign(engines=("spark",)))
    assert sum(planned.estimate_s for planned in laptop) < 25 * 60
    for planned in laptop:
        assert planned.request is not None
        assert planned.estimate_s > planned.request.scenario.load.duration_s
    shorter = plan(campaign(engines=("spark",), changes={"measured_s": "1.0"}))
    assert all(a.estimate_s > b.estimate_s for a, b in zip(laptop, shorter, strict=True))
    search = next(s for s in plan(campaign(study="ospbench", engines=("spark",))) if s.experiment.purpose == "capacity")
    assert search.request is not None
    assert search.estimate_s > 5 * search.request.scenario.load.duration_s
    assert next(planned for planned in plan(campaign()) if planned.request is None).estimate_s == 0


@pytest.fixture
def search(
    campaign: Callable[..., ReproductionRequest], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[CapacitySearch], None]], AttemptResult]:
    """The study's search as the laboratory carries it out, with the given end in place of its probes."""
    asked = campaign(study="ospbench", engines=("spark",), only=("throughput-*",))
    planned = next(planned for planned in plan(asked) if planned.chosen)

    def carry_out(ends: Callable[[CapacitySearch], None]) -> AttemptResult:
        def find_capacity(capacity_search: CapacitySearch, reporter: Reporter) -> Capacity:
            file = CapacityFile.open(capacity_search.request.out, capacity_search.settings())
            ends(capacity_search)
            file.finish(Answer("invalid", None, None, confirmed=False, note="the clock stepped"))
            return file.content

        monkeypatch.setattr(reproduction_runner, "find_capacity", find_capacity)
        monkeypatch.setattr(reproduction_runner, "make_ready", lambda requests, say: None)
        with LocalRunner(asked.out, [planned], NullReporter()) as laboratory:
            return laboratory.carry_out(planned, asked.out / "runs" / planned.name, NullReporter())

    return carry_out


def test_a_search_that_cannot_be_trusted(
    search: Callable[..., AttemptResult], campaign: Callable[..., ReproductionRequest]
) -> None:
    outcome = search(lambda capacity_search: None)
    assert (outcome.verdict, outcome.reasons) == (Verdict.INVALID, ["the clock stepped"])
    assert outcome.capacity is not None
    assert outcome.capacity.outcome == "invalid"
    assert (campaign().out / "runs" / "throughput-tumbling-built-in-spark" / "report.html").is_file()


def test_a_search_whose_engine_fails_is_a_finding(search: Callable[..., AttemptResult]) -> None:
    def fail(capacity_search: CapacitySearch) -> None:
        raise EngineFailed("the system under test failed at 100 records/s", got="it died")

    outcome = search(fail)
    assert outcome.verdict is Verdict.FAILED
    assert outcome.reasons == ["the system under test failed at 100 records/s: it died"]
    assert outcome.capacity is not None
    assert outcome.capacity.outcome is None
