"""Experiments whose rate, or the moment of whose fault, follows from what another one found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from written_runs import capacity, probe, summary

from streamgauge import registry, report
from streamgauge.campaigns.reproduction import AttemptResult, reproduce
from streamgauge.campaigns.reproduction_plan import PlannedExperiment, ReproductionRequest, plan
from streamgauge.errors import Interrupted
from streamgauge.measure.reporter import NullReporter, Reporter
from streamgauge.model import Verdict
from streamgauge.model.campaign import ExperimentRow, Reproduction
from streamgauge.rundir import RunDir
from streamgauge.study import Exhibit, Experiment, OnEngine, Study

NAMES = ("performance-identity-4x", "latency-identity")


class Quiet(NullReporter):
    def begin(self, title: str, left_s: float) -> None: ...

    def end(self, row: ExperimentRow) -> None: ...


class Runner:
    """Ends every attempt with this verdict and throughput."""

    def __init__(self, processing: dict[str, float], verdict: str = "VALID") -> None:
        self.rates: dict[str, int] = {}
        self._processing, self._verdict = processing, verdict

    def carry_out(self, planned: PlannedExperiment, directory: Path, reporter: Reporter) -> AttemptResult:
        assert planned.request is not None
        self.rates[planned.experiment.name] = planned.request.scenario.load.rate_per_s
        directory.mkdir(parents=True)
        measured = summary(verdict=self._verdict, processing=self._processing)
        return AttemptResult(Verdict(self._verdict), [], summary=measured)


@pytest.fixture
def campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ReproductionRequest]:
    monkeypatch.setattr(report, "write_study", lambda out, study: out / "report.html")

    def make(**changes: Any) -> ReproductionRequest:
        only = {"study": "streambench", "out": tmp_path / "out", "engines": ("echo",), "only": NAMES[1:]}
        return ReproductionRequest(**{**only, **changes})

    return make


def test_the_experiment_that_it_needs_is_chosen_too(campaign: Callable[..., ReproductionRequest]) -> None:
    assert [planned.experiment.name for planned in plan(campaign()) if planned.chosen] == list(NAMES)


@pytest.mark.parametrize(
    ("processing", "rate"),
    [
        ({"records_per_s": 9000.0, "generated_per_s": 100_000.0}, 4500),
        ({"records_per_s": 9000.0, "generated_per_s": 12_000.0}, 2000),
        ({"records_per_s": 9000.0}, 4500),
        ({"records_per_s": 0.5}, 1),
    ],
)
def test_its_rate_is_half_of_the_throughput_or_what_the_generator_manages(
    processing: dict[str, float], rate: int, campaign: Callable[..., ReproductionRequest]
) -> None:
    runner = Runner(processing)
    content = reproduce(campaign(), Quiet(), runner)
    assert runner.rates == {NAMES[0]: 0, NAMES[1]: rate}
    (row,) = (row for row in content.experiments if row.name == NAMES[1])
    assert (row.state, row.settings) == ("done", {"program": "identity", "rate_per_s": str(rate)})


def test_its_rate_is_at_most_what_the_experiment_allows(campaign: Callable[..., ReproductionRequest]) -> None:
    runner = Runner({"records_per_s": 9000.0})
    reproduce(campaign(only=("latency-distinctcount",), engines=("flink",)), Quiet(), runner)
    assert runner.rates == {"performance-distinctcount-4x": 0, "latency-distinctcount": 2000}


@pytest.mark.parametrize(("processing", "verdict"), [({}, "VALID"), ({"records_per_s": 9000.0}, "FAILED")])
def test_without_a_throughput_it_is_not_run(
    processing: dict[str, float], verdict: str, campaign: Callable[..., ReproductionRequest]
) -> None:
    runner = Runner(processing, verdict)
    content = reproduce(campaign(), Quiet(), runner)
    assert list(runner.rates) == [NAMES[0]]
    (row,) = (row for row in content.experiments if row.name == NAMES[1])
    assert row.state == "not run"
    ended = "VALID, but has no result" if verdict == "VALID" else verdict
    assert row.reason == f"its rate follows from what {NAMES[0]} found, which is {ended}"


def test_the_profile_decides_the_scale(campaign: Callable[..., ReproductionRequest]) -> None:
    for profile, records in (("laptop", 2_000_000), ("paper", 20_000_000)):
        request = campaign(profile=profile, engines=("spark",), only=NAMES[:1])
        (planned,) = (planned for planned in plan(request) if planned.chosen)
        assert planned.request is not None
        assert planned.request.scenario.load.records == records
        assert planned.row().settings == {"program": "identity", "records": str(records)}


def test_an_experiment_must_come_after_the_one_it_needs() -> None:
    first = Experiment("streambench/performance", "first")
    second = Experiment("streambench/latency", "second", rate_of="first")
    Study("", "", "total", (Exhibit("", "", lambda _: [], (first, second)),))
    with pytest.raises(ValueError, match="second needs the throughput of first, which is not run before it"):
        Study("", "", "total", (Exhibit("", "", lambda _: [], (second, first)),))


FAILURE_FREE, FAILURE = "multi-recipient-identity-half", "fault-tolerance-identity-failure"


class Timed:
    """Ends every attempt with the next of these: seconds of processing (VALID), a verdict, or as if by Ctrl-C."""

    def __init__(self, *ends: float | str) -> None:
        self._ends = list(ends)
        self.faults: dict[str, tuple[str, ...]] = {}

    def carry_out(self, planned: PlannedExperiment, directory: Path, reporter: Reporter) -> AttemptResult:
        assert planned.request is not None
        self.faults[planned.experiment.name] = tuple(str(fault) for fault in planned.request.scenario.faults)
        end = self._ends.pop(0)
        if end == "Ctrl-C":
            raise Interrupted("interrupted", where=directory)
        verdict, seconds = (end, 20.0) if isinstance(end, str) else ("VALID", end)
        directory.mkdir(parents=True)
        measured = summary(verdict=verdict, processing={"seconds": seconds, "records_per_s": 9000.0})
        return AttemptResult(Verdict(verdict), [], summary=measured)


def failing(campaign: Callable[..., ReproductionRequest]) -> ReproductionRequest:
    return campaign(engines=("spark",), only=(FAILURE,))


def outcome(content: Reproduction, name: str) -> ExperimentRow:
    return next(row for row in content.experiments if row.name == name)


def test_the_failure_free_run_is_chosen_too(campaign: Callable[..., ReproductionRequest]) -> None:
    chosen = [planned.experiment.name for planned in plan(failing(campaign)) if planned.chosen]
    assert chosen == [FAILURE_FREE, FAILURE]


@pytest.mark.parametrize(("seconds", "moment"), [(25.0, "12.5s"), (24.0, "12s"), (17.77, "8.9s"), (0.01, "0.1s")])
def test_its_fault_comes_when_half_of_that_runs_time_is_over(
    seconds: float, moment: str, campaign: Callable[..., ReproductionRequest]
) -> None:
    runner = Timed(seconds, seconds)
    content = reproduce(failing(campaign), Quiet(), runner)
    fault = f"kill non-recipient at {moment}"
    assert runner.faults == {FAILURE_FREE: (), FAILURE: (fault,)}
    assert outcome(content, FAILURE).faults == [fault]
    assert (outcome(content, FAILURE).state, outcome(content, FAILURE).verdict) == ("done", "VALID")


def test_an_interrupted_one_has_the_same_moment_when_it_is_resumed(
    campaign: Callable[..., ReproductionRequest],
) -> None:
    with pytest.raises(Interrupted):
        reproduce(failing(campaign), Quiet(), Timed(30.0, "Ctrl-C"))
    runner = Timed(99.0)
    content = reproduce(failing(campaign), Quiet(), runner)
    assert runner.faults == {FAILURE: ("kill non-recipient at 15s",)}, "the failure-free run is not run again"
    assert outcome(content, FAILURE).state == "done"


@pytest.mark.parametrize("verdict", ["FAILED", "INVALID"])
def test_without_a_failure_free_time_it_is_not_run(verdict: str, campaign: Callable[..., ReproductionRequest]) -> None:
    runner = Timed(verdict, verdict)
    content = reproduce(failing(campaign), Quiet(), runner)
    assert list(runner.faults) == [FAILURE_FREE]
    row = outcome(content, FAILURE)
    assert (row.state, row.attempts) == ("not run", [])
    assert row.reason == f"its fault comes at half of the time of {FAILURE_FREE}, which is {verdict}"


def test_an_experiment_must_come_after_the_one_whose_time_it_needs() -> None:
    first = Experiment("streambench/performance", "first")
    second = Experiment("streambench/performance", "second", faults=("kill engine",), half_time_of="first")
    with pytest.raises(ValueError, match="second needs the time of first, which is not run before it"):
        Study("", "", "total", (Exhibit("", "", lambda _: [], (second, first)),))


SEARCH, LARGER = "aggregation-1x", "aggregation-2x"


class Searching:
    """Ends every search with this interval and verdict, every run VALID."""

    def __init__(self, best: float | None, verdict: str = "VALID") -> None:
        self.planned: dict[str, PlannedExperiment] = {}
        self._best, self._verdict = best, verdict

    def carry_out(self, planned: PlannedExperiment, directory: Path, reporter: Reporter) -> AttemptResult:
        self.planned[planned.experiment.name] = planned
        directory.mkdir(parents=True)
        if planned.experiment.purpose == "run":
            return AttemptResult(Verdict.VALID, [], summary=summary())
        outcome = "missed" if self._best is None else "found"
        found = capacity(interval=(self._best, 99_999), outcome=outcome)
        return AttemptResult(Verdict(self._verdict), [], capacity=found)

    def begins(self, name: str, directory: Path) -> float | None:
        """The first value of a search; None where a backlog is drained to find one."""
        return self.planned[name].search_in(directory).guess


def searching(campaign: Callable[..., ReproductionRequest], name: str, engine: str = "spark") -> ReproductionRequest:
    return campaign(study="sustainable", engines=(engine,), only=(name,))


@pytest.mark.parametrize(("best", "rate"), [(10_000, 9000), (10_001.7, 9002), (0.5, 1)])
def test_a_rate_follows_from_a_search(best: float, rate: int, campaign: Callable[..., ReproductionRequest]) -> None:
    name = "aggregation-latency-1x-90"
    runner = Searching(best)
    row = outcome(reproduce(searching(campaign, name), Quiet(), runner), name)
    assert list(runner.planned) == [SEARCH, name], "the search is chosen too"
    request = runner.planned[name].request
    assert request is not None and request.scenario.load.rate_per_s == rate
    assert (row.state, row.settings["rate_per_s"]) == ("done", str(rate))


@pytest.mark.parametrize(
    ("best", "verdict", "ended"),
    [
        (None, "VALID", "VALID, but has no result"),
        (10_000, "INVALID", "INVALID"),
        (10_000, "FAILED", "FAILED"),
    ],
)
def test_without_an_answer_of_the_search_it_is_not_run(
    best: float | None, verdict: str, ended: str, campaign: Callable[..., ReproductionRequest]
) -> None:
    name = "aggregation-latency-1x-90"
    runner = Searching(best, verdict)
    row = outcome(reproduce(searching(campaign, name), Quiet(), runner), name)
    assert list(runner.planned) == [SEARCH]
    assert (row.state, row.reason) == ("not run", f"its rate follows from what {SEARCH} found, which is {ended}")


def test_what_could_not_be_run_is_run_when_a_retry_has_an_answer(campaign: Callable[..., ReproductionRequest]) -> None:
    name = "aggregation-latency-1x-90"
    reproduce(searching(campaign, name), Quiet(), Searching(10_000, "INVALID"))
    runner = Searching(10_000)
    row = outcome(reproduce(replace(searching(campaign, name), retry=True), Quiet(), runner), name)
    assert list(runner.planned) == [SEARCH, name]
    assert (row.state, row.settings["rate_per_s"]) == ("done", "9000")


def test_a_search_begins_where_another_one_ended(tmp_path: Path, campaign: Callable[..., ReproductionRequest]) -> None:
    runner = Searching(12_345)
    content = reproduce(searching(campaign, LARGER), Quiet(), runner)
    assert runner.begins(SEARCH, tmp_path) is None
    assert runner.begins(LARGER, tmp_path) == 12_345
    assert outcome(content, LARGER).settings["rate_per_s"] == "12345"


@pytest.mark.parametrize(("best", "verdict"), [(None, "VALID"), (10_000, "INVALID"), (10_000, "FAILED")])
def test_a_search_without_a_beginning_is_run_all_the_same(
    best: float | None, verdict: str, tmp_path: Path, campaign: Callable[..., ReproductionRequest]
) -> None:
    runner = Searching(best, verdict)
    row = outcome(reproduce(searching(campaign, LARGER), Quiet(), runner), LARGER)
    assert (row.state, row.verdict) == ("done", verdict)
    assert runner.begins(LARGER, tmp_path) is None
    assert "rate_per_s" not in row.settings


def test_what_follows_from_a_searched_value_follows_where_the_search_begins(
    tmp_path: Path, campaign: Callable[..., ReproductionRequest]
) -> None:
    """Ten times as many sensors in a tree that is one level higher, each with a record per second."""
    runner = Searching(4)
    reproduce(campaign(study="scalability", engines=("kafka-streams",), only=("hierarchy-2",)), Quiet(), runner)
    search = runner.planned["hierarchy-2"].search_in(tmp_path)
    assert search.guess == 4
    assert [search.scenario_at(height).load.rate_per_s for height in (3, 4, 5)] == [1000, 10_000, 100_000]


def test_all_searches_before_it_are_needed(tmp_path: Path, campaign: Callable[..., ReproductionRequest]) -> None:
    """Otherwise one of them would begin elsewhere when it is resumed with the others."""
    runner = Searching(10_000)
    reproduce(searching(campaign, "aggregation-4x"), Quiet(), runner)
    assert list(runner.planned) == [SEARCH, LARGER, "aggregation-4x"]
    assert runner.begins(SEARCH, tmp_path) is None
    assert runner.begins("aggregation-4x", tmp_path) == 10_000


def test_several_values_follow_from_one_rate(campaign: Callable[..., ReproductionRequest]) -> None:
    name = "fluctuating-aggregation"
    runner = Searching(10_000)
    row = outcome(reproduce(searching(campaign, name), Quiet(), runner), name)
    request = runner.planned[name].request
    assert request is not None
    assert (request.scenario.load.rate_per_s, request.scenario.load.to_per_s) == (9000, 3000)
    assert (row.settings["rate_per_s"], row.settings["to_per_s"]) == ("9000", "3000")


@pytest.mark.parametrize(("engine", "most"), [("spark", 10_000), ("flink", None)])
def test_an_engine_has_values_of_its_own(
    engine: str, most: int | None, campaign: Callable[..., ReproductionRequest]
) -> None:
    runner = Searching(10_000)
    row = outcome(reproduce(searching(campaign, "overloaded", engine), Quiet(), runner), "overloaded")
    request = runner.planned["overloaded"].request
    assert request is not None
    assert (request.scenario.load.rate_per_s, request.scenario.engine_options.get("batch_records")) == (15_000, most)
    assert row.settings.get("batch_records") == (None if most is None else str(most))


def test_shares_of_an_engine_are_added_to_those_of_all() -> None:
    own = {"spark": OnEngine(shares={"batch_records": 1.0, "rate_per_s": 0.7})}
    one = Experiment("sustainable/aggregation", "one", rate_of="first", shares={"rate_per_s": 1.5}, engines=own)
    assert one.on("spark").shares == {"rate_per_s": 0.7, "batch_records": 1.0}
    assert one.on("flink").shares == {"rate_per_s": 1.5}
    assert set(one.sets) == {"rate_per_s", "batch_records"}
    assert Experiment("sustainable/aggregation", "two", engines=own).sets == (), "nothing follows without a rate"
    assert Experiment("sustainable/aggregation", "three", rate_of="first").shares == {"rate_per_s": 0.5}


CONFIRMING = "aggregation-latency-1x-100"


class Confirming(Searching):
    """A search whose last probe is a confirming run, sustained or not."""

    def __init__(self, *, confirmed: bool) -> None:
        super().__init__(10_000)
        self._confirmed = confirmed

    def carry_out(self, planned: PlannedExperiment, directory: Path, reporter: Reporter) -> AttemptResult:
        result = super().carry_out(planned, directory, reporter)
        if result.capacity is None:
            return result
        run = RunDir.create(directory / "probes" / "03-10000")
        run.write_summary(summary(sustained=True))
        probes = [*result.capacity.probes, probe(10_000, directory="probes/03-10000", purpose="confirm")]
        found = result.capacity.with_changes(probes=probes, confirmed=self._confirmed)
        return AttemptResult(result.verdict, [], capacity=found)


def test_the_run_that_confirmed_a_search_is_not_run_again(campaign: Callable[..., ReproductionRequest]) -> None:
    runner = Confirming(confirmed=True)
    row = outcome(reproduce(searching(campaign, CONFIRMING), Quiet(), runner), CONFIRMING)
    assert list(runner.planned) == [SEARCH]
    assert (row.state, row.verdict, row.settings["rate_per_s"]) == ("done", "VALID", "10000")
    assert row.directory == f"runs/{SEARCH}-spark/probes/03-10000"
    assert row.summary is not None and row.summary.sustained


def test_what_no_run_confirmed_is_run(campaign: Callable[..., ReproductionRequest]) -> None:
    runner = Confirming(confirmed=False)
    row = outcome(reproduce(searching(campaign, CONFIRMING), Quiet(), runner), CONFIRMING)
    assert list(runner.planned) == [SEARCH, CONFIRMING]
    assert row.directory == f"runs/{CONFIRMING}-spark"


def test_several_runs_are_all_made(campaign: Callable[..., ReproductionRequest]) -> None:
    asked = replace(searching(campaign, CONFIRMING), runs=2)
    planned = {one.experiment.name: one for one in plan(asked)}
    assert not planned[CONFIRMING].is_confirming
    assert planned[CONFIRMING].estimate_s > 0


def unmeasured(experiment: Experiment) -> dict[str, dict[str, str]]:
    """Its settings by profile, but for its length: a search decides how long its confirming run is."""
    return {
        profile: {name: value for name, value in settings.items() if name != "measured_s"}
        for profile, settings in experiment.profiles.items()
    }


@pytest.mark.parametrize("study", registry.names("studies"))
def test_a_confirming_run_has_the_settings_of_its_search(study: str) -> None:
    experiments = {one.name: one for one in registry.study_description(study).experiments}
    for one in experiments.values():
        if one.confirming:
            search = experiments[one.rate_of]
            assert one.shares == {search.axis.name: 1.0}
            assert (one.scenario, one.settings) == (search.scenario, search.settings)
            assert unmeasured(one) == unmeasured(search)
            assert {engine: unmeasured(one.on(engine)) for engine in one.engines} == {
                engine: unmeasured(search.on(engine)) for engine in search.engines
            }
