"""Several runs of each experiment: which one counts, what is repeated, and where it goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from test_reproduction import RUNNABLE, Onlooker, rows
from written_runs import write_run

from streamgauge import report
from streamgauge.campaigns.reproduction import AttemptResult, exit_code, reproduce
from streamgauge.campaigns.reproduction_plan import PlannedExperiment, ReproductionRequest, plan
from streamgauge.errors import Interrupted, UsageError
from streamgauge.measure.reporter import Reporter
from streamgauge.model import Verdict
from streamgauge.model.campaign import REPRODUCTION_NAME as NAME
from streamgauge.model.campaign import read_reproduction

INGEST = RUNNABLE[0]


class Written:
    """Ends each run with the next of these: a median in ms (VALID), a verdict, or as if by Ctrl-C."""

    def __init__(self, *ends: float | str) -> None:
        self._ends = list(ends)
        self.done: list[str] = []

    def carry_out(self, planned: PlannedExperiment, directory: Path, reporter: Reporter) -> AttemptResult:
        self.done.append(str(directory.relative_to(directory.parents[2])))
        end = self._ends.pop(0)
        if end == "Ctrl-C":
            raise Interrupted("interrupted", where=directory)
        verdict, p50_ms = (end, None) if isinstance(end, str) else ("VALID", end)
        summary = write_run(directory, p50_ms, verdict=verdict).summary()
        return AttemptResult(Verdict(verdict), summary.reasons, summary=summary)


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ReproductionRequest]:
    monkeypatch.setattr(report, "write_study", lambda out, study: out / "report.html")

    def make(**changes: Any) -> ReproductionRequest:
        asked = {"study": "stage-latency", "out": tmp_path / "out", "engines": ("echo",), "only": ("*-ingest-*",)}
        return ReproductionRequest(**{**asked, "runs": 3, **changes})

    return make


def test_the_paper_makes_five_runs_and_the_laptop_one(tmp_path: Path) -> None:
    for study in ("ospbench", "stage-latency"):
        runs = {
            (profile, planned.experiment.purpose): planned.runs
            for profile in ("paper", "laptop")
            for planned in plan(ReproductionRequest(study, tmp_path, profile=profile))
        }
        assert runs.pop(("paper", "run")) == 5
        assert set(runs.values()) == {1}, "a search is made once"
    assert ReproductionRequest("ospbench", tmp_path, profile="paper").settings()["runs"] == 5
    assert "runs" not in ReproductionRequest("ospbench", tmp_path).settings()
    assert ReproductionRequest("ospbench", tmp_path, profile="paper", runs=2).runs_of("run") == 2


def test_the_time_of_all_runs_is_estimated(campaign: Callable[..., ReproductionRequest]) -> None:
    once, thrice = (sum(planned.estimate_s for planned in plan(campaign(runs=runs))) for runs in (1, 3))
    assert thrice == 3 * once


def test_the_median_run_counts_and_all_are_kept(campaign: Callable[..., ReproductionRequest]) -> None:
    onlooker = Onlooker()
    content = reproduce(campaign(), onlooker, Written(30.0, 10.0, 20.0))
    experiment = rows(content)[INGEST]
    assert (experiment["state"], experiment["verdict"], experiment["runs"]) == ("done", "VALID", 3)
    assert experiment["directory"] == f"runs/{INGEST}-echo/3"
    assert [(one["run"], one["p50_ms"]["total"]) for one in experiment["attempts"]] == [(1, 30.0), (2, 10.0), (3, 20.0)]
    assert experiment["summary"]["latency_ms"]["total"]["p50"] == 20.0
    assert [one["directory"] for one in experiment["summary"]["repetitions"]] == ["1", "2", "3"]
    assert onlooker.begun[1] == f"1 of 1: {INGEST} on echo, run 2 of 3"
    assert exit_code(content) == 0


def test_each_invalid_run_is_repeated_once(campaign: Callable[..., ReproductionRequest]) -> None:
    runner, onlooker = Written("INVALID", 30.0, 10.0, "INVALID", "INVALID"), Onlooker()
    content = reproduce(campaign(), onlooker, runner)
    name = f"runs/{INGEST}-echo"
    assert runner.done == [f"{name}/1", f"{name}/1-2", f"{name}/2", f"{name}/3", f"{name}/3-2"]
    experiment = rows(content)[INGEST]
    assert [one["run"] for one in experiment["attempts"]] == [1, 1, 2, 3, 3]
    assert (experiment["state"], experiment["verdict"]) == ("done", "INVALID")
    assert experiment["summary"]["verdict"] == "INVALID"
    assert experiment["summary"]["reasons"] == ["run 3-2: why"]
    assert experiment["directory"] == f"{name}/2", "of the two VALID ones the lower"
    assert [one["rate_output"] for one in experiment["attempts"]] == [39.5] * 5, "also of those that were repeated"
    listed = {one["directory"]: one["invalid_attempts"] for one in experiment["summary"]["repetitions"]}
    assert {name: [one["directory"] for one in attempts] for name, attempts in listed.items()} == {
        "1-2": ["1"],
        "2": [],
        "3-2": ["3"],
    }
    assert listed["1-2"][0]["reasons"] == ["why"]
    assert onlooker.begun[1].endswith("run 1 of 3 (again, since it was INVALID)")
    assert len(onlooker.warned) == 2
    assert exit_code(content) == 3


def test_a_failed_run_spoils_the_experiment_and_stops_nothing(campaign: Callable[..., ReproductionRequest]) -> None:
    content = reproduce(campaign(), Onlooker(), Written(30.0, "FAILED", 10.0))
    assert rows(content)[INGEST]["verdict"] == "FAILED"
    assert exit_code(content) == 4


def test_interrupted_it_goes_on_with_the_run_that_was_cut_off(campaign: Callable[..., ReproductionRequest]) -> None:
    with pytest.raises(Interrupted):
        reproduce(campaign(), Onlooker(), Written(30.0, "Ctrl-C"))
    assert rows(read_reproduction(campaign().out / NAME))[INGEST]["state"] == "pending"
    runner = Written(10.0, 20.0)
    content = reproduce(campaign(), Onlooker(), runner)
    assert runner.done == [f"runs/{INGEST}-echo/{run}" for run in (2, 3)]
    assert rows(content)[INGEST]["summary"]["latency_ms"]["total"]["p50"] == 20.0
    with pytest.raises(UsageError, match=r"another --runs\n(.|\n)*got: 5\n  expected: 3\n"):
        reproduce(campaign(runs=5), Onlooker(), Written())


def test_what_was_begun_without_an_option_is_refused_with_it(campaign: Callable[..., ReproductionRequest]) -> None:
    with pytest.raises(Interrupted):
        reproduce(campaign(runs=None), Onlooker(), Written("Ctrl-C"))
    with pytest.raises(UsageError, match="begun without --runs") as problem:
        reproduce(campaign(runs=2), Onlooker(), Written())
    assert "got: 2\n  try:" in problem.value.message()


def test_a_file_of_an_earlier_version_is_gone_on_with(campaign: Callable[..., ReproductionRequest]) -> None:
    asked = campaign(runs=None, only=("stages-*",))
    with pytest.raises(Interrupted):
        reproduce(asked, Onlooker(), Written(30.0, "Ctrl-C"))
    content = json.loads((asked.out / NAME).read_text())
    for experiment in content["experiments"]:
        del experiment["runs"], experiment["verdict"]
        for attempt in experiment["attempts"]:
            del attempt["run"], attempt["p50_ms"]
    (asked.out / NAME).write_text(json.dumps(content))
    after = reproduce(asked, Onlooker(), Written(10.0))
    assert [rows(after)[name]["verdict"] for name in RUNNABLE] == ["VALID", "VALID"]


def test_settings_that_only_other_experiments_refuse_leave_those_out(tmp_path: Path) -> None:
    asked = ReproductionRequest("streambench", tmp_path, engines=("echo",), changes={"measured_s": "60"})
    with pytest.raises(UsageError, match=r"experiment performance-identity-1x: shape preloaded does not use --for"):
        plan(asked)
    plans = {one.experiment.name: one for one in plan(replace(asked, only=("durability-1m",)))}
    assert plans["performance-identity-2x"].request is None
    assert "not selected" in plans["performance-identity-2x"].reason


def test_a_broker_of_yours_is_refused_where_an_experiment_has_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="experiment aggregation-1x: the queues are started by each run"):
        plan(ReproductionRequest("sustainable", tmp_path, engines=("spark",), bootstrap="127.0.0.1:9"))
