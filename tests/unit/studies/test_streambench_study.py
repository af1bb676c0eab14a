"""StreamBench: its scenarios, and what each suite runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from streamgauge import registry
from streamgauge.campaigns.reproduction_plan import PlannedExperiment, ReproductionRequest, plan
from streamgauge.studies import scenario as scenarios
from streamgauge.studies import streambench
from streamgauge.studies.streambench import experiments
from streamgauge.workloads.seed_records import SEED_RECORDS

NAME = "streambench/performance"
ENGINES = ("spark", "flink", "kafka-streams")
NODES = {"spark": "workers", "flink": "taskmanagers", "kafka-streams": "instances"}
PROGRAMS = ("identity", "sample", "projection", "grep", "wordcount", "distinctcount", "statistics", "sink")


def test_the_programs_are_the_choice() -> None:
    file = scenarios.describe(NAME)
    assert file.choice == "program"
    assert file.workloads == {program: f"streambench/{program}" for program in PROGRAMS}
    for workload in file.workloads.values():
        assert registry.workload(workload).name == workload


@pytest.mark.parametrize(("profile", "records"), [("laptop", 2_000_000), ("paper", 5_000_000)])
def test_all_records_are_preloaded(profile: str, records: int) -> None:
    values = scenarios.profile_values(NAME, profile)
    assert values.pop("program") == "identity"
    checked = scenarios.Values.model_validate(values)
    assert (checked.shape, checked.records) == ("preloaded", records)
    assert checked.rate_per_s == checked.warmup_s == checked.measured_s == 0


def test_every_suite_runs_all_programs() -> None:
    names = [one.name for one in streambench.STUDY.experiments if not one.name.startswith("durability")]
    suites = {
        "performance-": 7 * 4,
        "latency-": 7,
        "multi-recipient-": 2 * 7 * 3,
        "fault-tolerance-": 2 * 7 * 2,
        "defaults-": 2 * 7,
    }
    assert {suite: sum(name.startswith(suite) for name in names) for suite in suites} == suites
    assert len(names) == sum(suites.values())
    assert names[:2] == ["performance-identity-1x", "performance-identity-2x"]
    assert names[35:38] == [f"multi-recipient-identity-{ability}" for ability in ("one", "half", "all")]


def planned(engines: tuple[str, ...] = ENGINES, **changes: Any) -> dict[tuple[str, str], PlannedExperiment]:
    plans = plan(ReproductionRequest("streambench", Path("out"), engines=engines, **changes))
    return {(one.experiment.name, one.engine): one for one in plans}


def options(one: PlannedExperiment) -> Mapping[str, Any]:
    assert one.request is not None
    return one.request.scenario.engine_options


@pytest.mark.parametrize("latency", [False, True])
@pytest.mark.parametrize(("profile", "nodes", "recipients"), [("laptop", 4, (1, 2, 4)), ("paper", 5, (1, 2, 5))])
def test_one_half_or_all_of_the_nodes_receive(
    profile: str, nodes: int, recipients: tuple[int, ...], latency: bool
) -> None:
    plans = planned(profile=profile)
    for program in experiments.PROGRAMS:
        for engine in ENGINES:
            for ability, partitions in zip(experiments.ABILITIES, recipients, strict=True):
                one = plans[experiments.recipients_name(program, ability, latency=latency), engine]
                assert one.request is not None
                assert one.request.scenario.partitions == partitions
                assert options(one)[NODES[engine]] == nodes
                assert one.request.scenario.load.shape == ("constant" if latency else "preloaded")
                assert options(one).get("redistribute", engine == "kafka-streams")
                assert one.experiment.rate_of == (experiments.recipients_name(program, ability) if latency else "")


@pytest.mark.parametrize("scenario", ["performance", "latency", "durability"])
def test_one_of_five_nodes_receives_in_the_paper_profile(scenario: str) -> None:
    plans = [one for one in planned(profile="paper").values() if one.experiment.scenario == f"streambench/{scenario}"]
    assert {one.engine for one in plans} == set(ENGINES)
    for one in plans:
        if one.request is None:
            assert one.experiment.name.startswith("defaults-") and one.engine != "spark"
            continue
        assert one.request.scenario.partitions == 1
        assert options(one).get("redistribute", one.engine == "kafka-streams")
        if one.engine == "spark":
            assert (options(one)["cluster"], options(one)["cores"]) == ("standalone", 80)
        assert options(one)[NODES[one.engine]] == 5


@pytest.mark.parametrize("scenario", ["performance", "latency", "durability"])
def test_one_process_receives_in_the_laptop_profile(scenario: str) -> None:
    for engine in ENGINES:
        resolved = scenarios.resolve(f"streambench/{scenario}", engine=engine)
        assert resolved.partitions == 2
        assert (resolved.engine_options[NODES[engine]] or 1) == 1
        assert resolved.engine_options.get("cluster", "local") == "local"
        assert not resolved.engine_options.get("redistribute", False)


def test_a_node_has_one_slot_in_the_laptop_profile() -> None:
    plans = planned()
    name = "multi-recipient-wordcount-half"
    assert (options(plans[name, "spark"])["cluster"], options(plans[name, "spark"])["worker_cores"]) == (
        "standalone",
        1,
    )
    assert options(plans[name, "kafka-streams"])["threads"] == 1
    flink = options(plans[name, "flink"])
    assert (flink["slots"], flink["parallelism"]) == (1, 0), "a task in each slot"


@pytest.mark.parametrize("name", ["multi-recipient", "multi-recipient-latency"])
def test_flink_goes_on_with_the_slots_that_are_left(name: str) -> None:
    for profile in ("laptop", "paper"):
        of_flink = scenarios.resolve(f"streambench/{name}", profile=profile, engine="flink").engine_options
        assert of_flink["conf"]["jobmanager.scheduler"] == "adaptive"


@pytest.mark.parametrize("latency", [False, True])
@pytest.mark.parametrize(("profile", "nodes"), [("laptop", 4), ("paper", 5)])
@pytest.mark.parametrize("engine", ["spark", "flink"])
def test_a_node_fewer_and_a_node_that_fails(engine: str, profile: str, nodes: int, latency: bool) -> None:
    plans = planned((engine,), profile=profile)
    for program in experiments.PROGRAMS:
        all_nodes = plans[experiments.recipients_name(program, "0.5", latency=latency), engine]
        fewer, failure = (
            plans[experiments.fault_name(program, case, latency=latency), engine]
            for case in (experiments.FEWER, experiments.FAILURE)
        )
        assert options(fewer)[NODES[engine]] == nodes - 1
        assert options(failure) == options(all_nodes)
        assert {one.request.scenario.partitions for one in (all_nodes, fewer, failure) if one.request} == {2}
        throughput = experiments.recipients_name(program, "0.5")
        if latency:
            assert {one.experiment.rate_of for one in (all_nodes, fewer, failure)} == {throughput}, "one rate"
            assert failure.row().faults == ["kill non-recipient at 50%"]
        else:
            assert failure.experiment.half_time_of == throughput
            assert failure.row().faults == ["kill non-recipient"], "its moment is known later"
        assert (fewer.row().faults, fewer.experiment.half_time_of) == ([], "")


def test_kafka_streams_has_no_node_that_works_without_reading() -> None:
    plans = planned(("kafka-streams",))
    gaps = {name for (name, _), one in plans.items() if one.request is None}
    assert gaps == {name for name, _ in plans if name.startswith(("fault-tolerance-", "defaults-"))}
    for name in ("fault-tolerance-identity-fewer", "fault-tolerance-latency-grep-failure"):
        assert "an instance works only on what it reads itself" in plans[name, "kafka-streams"].reason


def test_distinctcount_has_new_values_as_long_as_its_latency_is_measured() -> None:
    for profile in ("laptop", "paper"):
        for name in ("latency-distinctcount", "multi-recipient-latency-distinctcount-half"):
            planned_one = planned(("flink",), profile=profile)[name, "flink"]
            assert planned_one.request is not None and planned_one.settings["field"] == "2"
            load = planned_one.request.scenario.load
            most = planned_one.experiment.most_per_s[profile]
            assert (load.warmup_s + load.measured_s + load.tail_s) * most < SEED_RECORDS


@pytest.mark.parametrize(("profile", "records"), [("laptop", 2_000_000), ("paper", 20_000_000)])
def test_sparks_own_defaults_are_those_of_spark(profile: str, records: int) -> None:
    plans = planned(("spark", "flink"), profile=profile)
    for name, tuned in (("defaults-wordcount", "performance-wordcount-4x"), ("defaults-latency-grep", "latency-grep")):
        assert plans[name, "flink"].request is None
        before, after = options(plans[name, "spark"]), options(plans[tuned, "spark"])
        assert {key: str(before[key]).lower() for key in before if before[key] != after[key]} == dict(
            experiments.SPARK_DEFAULTS
        )
    throughput = plans["defaults-wordcount", "spark"].request
    assert throughput is not None
    assert throughput.scenario.load.records == records
    assert plans["defaults-latency-grep", "spark"].experiment.rate_of == "defaults-grep"


@pytest.mark.parametrize("engine", ENGINES)
def test_one_engine_takes_less_than_150_minutes(engine: str) -> None:
    assert sum(one.estimate_s for one in planned((engine,)).values()) < 150 * 60


def test_the_study_is_described() -> None:
    assert "streambench" in registry.names("studies")
    assert streambench.STUDY.title == streambench.title
    assert set(streambench.STUDY.engines.values()) <= set(registry.names("engines"))
    figures = [exhibit.name for exhibit in streambench.STUDY.exhibits if exhibit.name.startswith("Fig.")]
    assert figures == [f"Fig. {number}" for number in range(2, 8)]


@pytest.mark.parametrize(("profile", "measured_s"), [("laptop", 600.0), ("paper", 172_800.0)])
def test_durability_is_wordcount_at_two_rates_evaluated_by_the_minute(profile: str, measured_s: float) -> None:
    durability = [one for one in streambench.STUDY.experiments if one.scenario == "streambench/durability"]
    resolved = [
        scenarios.resolve(one.scenario, profile=profile, engine="flink", changes=one.settings_in(profile))
        for one in durability
    ]
    assert [one.name for one in durability] == ["durability-10k", "durability-1m"]
    assert [one.load.rate_per_s for one in resolved] == [round(10_000 / 60), round(1_000_000 / 60)]
    assert {(one.workload, one.load.measured_s, one.slice_s) for one in resolved} == {
        ("streambench/wordcount", measured_s, 60)
    }
