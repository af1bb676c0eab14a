"""Where a search begins and how far it may go."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

import pytest
from written_runs import probe, write_run

from run_files import change
from streamgauge import registry
from streamgauge.campaigns import capacity
from streamgauge.campaigns.capacity import CapacitySearch, find_capacity
from streamgauge.campaigns.capacity_file import CapacityFile
from streamgauge.errors import EngineFailed, UsageError
from streamgauge.machine import description
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.model import capacity as capacity_model
from streamgauge.model.capacity import Capacity
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.search_axis import axis_of
from streamgauge.transports.kafka import Kafka


def capacity_search(out: Path, *, over: str = "rate_per_s") -> CapacitySearch:
    scenario = scenarios.resolve("ospbench/throughput", engine="echo", changes={"stage": "parse"})
    return CapacitySearch(Request(scenario, out), 0.1, axis_of(over, scenario))


def test_a_search_stays_within_the_bounds_that_were_asked_for(tmp_path: Path) -> None:
    search = replace(capacity_search(tmp_path, over="partitions"), least=2, most=5)
    target = search.target(search.start)
    assert (target.lowest, target.highest, target.guess) == (2, 5, max(search.start, 2))
    assert search.target(9).guess == 5
    assert search.target(1).guess == 2
    assert (search.settings()["from"], search.settings()["to"]) == (2, 5)
    with pytest.raises(UsageError, match="--from must be below --to"):
        replace(search, most=2)


def members_search(out: Path, study: str = "scalability/sink") -> CapacitySearch:
    scenario = scenarios.resolve(study, engine="kafka-streams", changes={"partitions": "4"})
    return CapacitySearch(Request(scenario, out), 0.1, axis_of("instances", scenario))


def test_no_more_members_than_partitions_are_tried(tmp_path: Path) -> None:
    """The others would have no work."""
    assert members_search(tmp_path).target(1).highest == 4


def test_no_more_members_than_the_memory_holds_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    search = members_search(tmp_path)
    needs = [
        registry.engine("kafka-streams").memory_mb(search.scenario_at(count).engine_options) + Kafka.memory_mb
        for count in (2, 3)
    ]
    monkeypatch.setattr(description, "available_memory_mb", lambda: sum(needs) // 2)
    assert search.target(1).highest == 2
    yours = replace(search, request=replace(search.request, transport_address="127.0.0.1:9"))
    monkeypatch.setattr(description, "available_memory_mb", lambda: needs[1] - Kafka.memory_mb)
    assert yours.target(1).highest == 3


def test_what_the_scenario_asks_for_itself_does_not_bound_a_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four instances, two partitions, and hardly any memory: that is so at every rate."""
    monkeypatch.setattr(description, "available_memory_mb", lambda: 1)
    changes = {"sustained": "slope"}
    scenario = scenarios.resolve("streambench/multi-recipient-latency", engine="kafka-streams", changes=changes)
    assert scenario.engine_options["instances"] > scenario.partitions
    target = CapacitySearch(Request(scenario, tmp_path), 0.1).target(5000)
    assert target.lowest < 5000 < target.highest


def test_a_fraction_is_searched_within_the_limits_of_its_field(tmp_path: Path) -> None:
    search = capacity_search(tmp_path, over="delay_ms")
    target = search.target(search.start)
    assert (target.guess, target.lowest, target.highest, target.whole) == (1.0, 0.001, 60_000, False)
    assert search.scenario_at(0.5).engine_options["delay_ms"] == 0.5
    file = CapacityFile.open(tmp_path / "new", search.settings())
    file.set_guess(1.0)
    file.add(probe(0.25))
    again = CapacityFile.open(tmp_path / "new", search.settings())
    assert (again.guess, again.probes[0].value) == (1.0, 0.25)


def test_a_guess_from_elsewhere_needs_no_drain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "_first_guess", lambda *_: pytest.fail("a backlog was drained"))
    monkeypatch.setattr(capacity, "kept_evaluator", lambda *_: contextlib.nullcontext())
    monkeypatch.setattr(capacity, "_probe", lambda search, step, *_: probe(step.value, "failed"))
    with pytest.raises(EngineFailed):
        find_capacity(replace(capacity_search(tmp_path), guess=5000), NullReporter())
    content = capacity_model.read(tmp_path / "capacity.json")
    assert isinstance(content, Capacity)
    assert (content.guess, content.probes[0].value) == (5000, 5000)


def test_a_search_with_other_bounds_is_refused_and_one_of_an_earlier_version_is_resumed(tmp_path: Path) -> None:
    search = replace(capacity_search(tmp_path, over="partitions"), least=2, most=5)
    CapacityFile.open(tmp_path / "new", search.settings())
    with pytest.raises(UsageError, match=r"another --to(.|\n)*got: 6(.|\n)*expected: 5"):
        CapacityFile.open(tmp_path / "new", replace(search, most=6).settings())
    early = {name: value for name, value in search.settings().items() if name not in ("from", "to")}
    CapacityFile.open(tmp_path / "early", early)
    assert CapacityFile.open(tmp_path / "early", search.settings()).probes == []


def test_a_heap_that_is_too_small_to_live_with_is_not_sustained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine dies below 500 MB. That is an edge, unless it dies with the heap of the scenario, too."""
    dies_below = 500

    def run(request: Request, *_: object) -> tuple[RunDir, Summary]:
        dies = heap(request) < dies_below
        run = write_run(request.out, 10.0, verdict="FAILED" if dies else "VALID", sustained=not dies)
        ended = {"role": "streams-1", "group": "engine", "exit_code": 137, "log_tail": "OutOfMemoryError"}
        change(run.outcome_path, ended=[ended] if dies else [])
        run.recorded_path.mkdir(exist_ok=True)
        return run, run.summary()

    def heap(request: Request) -> int:
        value = request.scenario.engine_options["heap_mb"]
        assert isinstance(value, int)
        return value

    monkeypatch.setattr(capacity, "run_scenario", run)
    monkeypatch.setattr(capacity, "kept_evaluator", lambda *_: contextlib.nullcontext())
    scenario = scenarios.resolve("ospbench/throughput", engine="kafka-streams", changes={"stage": "parse"})
    search = CapacitySearch(Request(scenario, tmp_path / "found"), 0.1, axis_of("heap", scenario))
    found = find_capacity(search, NullReporter())
    assert found.outcome == "found" and found.interval[0] is not None and found.interval[1] is not None
    assert found.interval[1] < dies_below <= found.interval[0] <= 1.1 * dies_below
    dies_below = 10_000
    with pytest.raises(EngineFailed):
        find_capacity(replace(search, request=replace(search.request, out=tmp_path / "failed")), NullReporter())


def test_a_heap_may_grow_to_the_memory_of_the_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "memory_mb", lambda: 8000)
    monkeypatch.setattr(description, "available_memory_mb", lambda: 4000)
    scenario = scenarios.resolve("ospbench/throughput", engine="kafka-streams", changes={"stage": "parse"})
    target = CapacitySearch(Request(scenario, tmp_path), 0.1, axis_of("heap", scenario)).target(1024)
    assert 3000 <= target.highest < 4000
