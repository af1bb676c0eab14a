"""The study sustainable: its scenarios, what each experiment runs, and the paper's numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from written_runs import capacity

from streamgauge import registry
from streamgauge.campaigns.probes import lengths_s
from streamgauge.campaigns.reproduction_pace import Pace, find_pace
from streamgauge.campaigns.reproduction_plan import PlannedExperiment, ReproductionRequest, plan
from streamgauge.errors import UsageError
from streamgauge.model import Scenario
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.sustainable import STUDY, experiments, numbers
from streamgauge.studies.sustainable.numbers import FLINK, SPARK, STORM
from streamgauge.study import Mark

ENGINES = ("spark", "flink")
NODES = {"spark": "workers", "flink": "taskmanagers"}
PROFILES = pytest.mark.parametrize(
    ("profile", "nodes", "generators"), [("paper", (2, 4, 8), (16, 32, 64)), ("laptop", (1, 2, 4), (1, 2, 4))]
)
FOUND = 10_000
SIZES = ("1×", "2×", "4×")

# As the paper prints them.
TABLE_1 = """
Storm 0.4 M/s 0.69 M/s 0.99 M/s
Spark 0.38 M/s 0.64 M/s 0.91 M/s
Flink 1.2 M/s 1.2 M/s 1.2 M/s
"""
TABLE_2 = """
Storm 1.4 0.07 5.7 (2.3, 2.7, 3.4) 2.1 0.1 12.2 (3.7, 5.8, 7.7) 2.2 0.2 17.7 (3.8, 6.4, 9.2)
Storm(90%) 1.1 0.08 5.7 (1.8, 2.1, 2.8) 1.6 0.04 9.2 (2.9, 4.1, 6.3) 1.9 0.2 11 (3.3, 5, 7.6)
Spark 3.6 2.5 8.5 (4.6, 4.9, 5.9) 3.3 1.9 6.9 (4.1, 4.3, 4.9) 3.1 1.2 6.9 (3.8, 4.1, 4.7)
Spark(90%) 3.4 2.3 8 (3.9, 4.5, 5.4) 2.8 1.6 6.9 (3.4, 3.7, 4.8) 2.7 1.7 5.9 (3.6, 3.9, 4.8)
Flink 0.5 0.004 12.3 (1.4, 2.2, 5.2) 0.2 0.004 5.1 (0.6, 1.2, 2.4) 0.2 0.004 5.4 (0.6, 1.2, 3.9)
Flink(90%) 0.3 0.003 5.8 (0.7, 1.1, 2) 0.2 0.004 5.1 (0.6, 1.3, 2.4) 0.2 0.002 5.4 (0.5, 0.8, 3.4)
"""
TABLE_3 = """
Spark 0.36 M/s 0.63 M/s 0.94 M/s
Flink 0.85 M/s 1.12 M/s 1.19 M/s
"""
TABLE_4 = """
Spark 7.7 1.3 21.6 (11.2, 12.4, 14.7) 6.7 2.1 23.6 (10.2, 11.7, 15.4) 6.2 1.8 19.9 (9.4, 10.4, 13.2)
Spark(90%) 7.1 2.1 17.9 (10.3, 11.1, 12.7) 5.8 1.8 13.9 (8.7, 9.5, 10.7) 5.7 1.7 14.1 (8.6, 9.4, 10.6)
Flink 4.3 0.01 18.2 (7.6, 8.5, 10.5) 3.6 0.02 13.8 (6.7, 7.5, 8.6) 3.2 0.02 14.9 (6.2, 7, 8.4)
Flink(90%) 3.8 0.02 13 (6.7, 7.5, 8.7) 3.2 0.02 12.7 (6.1, 6.9, 8) 3.2 0.02 14.9 (6.2, 6.9, 8.3)
"""
TABLE_5 = """
Data skew ☆ ☆☆☆ ☆☆
Fluctuating aggregation ☆ ☆☆☆ ☆☆☆
Fluctuating join N/A ☆☆ ☆☆☆
Average latency ☆☆ ☆☆ ☆☆☆
Bounded latency ☆ ☆☆☆ ☆☆
Large windows ☆☆ ☆☆ ☆☆☆
Throughput ☆☆ ☆☆ ☆☆☆
"""
SYSTEMS = {"Storm": STORM, "Spark": SPARK, "Flink": FLINK}


def printed(table: str) -> dict[tuple[str, str], list[float]]:
    """The numbers of each line, by system and load."""
    found = {}
    for line in table.strip().splitlines():
        system, *values = re.findall(r"[A-Z][a-z]+|[\d.]+", line.replace("(90%)", ""))
        load = "90 %" if "(90%)" in line else "100 %"
        found[SYSTEMS[system], load] = [float(value) for value in values]
    return found


def planned(engines: Sequence[str] = ENGINES, **changes: Any) -> dict[tuple[str, str], PlannedExperiment]:
    plans = plan(ReproductionRequest("sustainable", Path("out"), engines=tuple(engines), **changes))
    return {(one.experiment.name, one.engine): one for one in plans}


def scenario(one: PlannedExperiment) -> Scenario:
    assert one.request is not None, one.reason
    return one.request.scenario


def paced(one: PlannedExperiment, plans: Mapping[tuple[str, str], PlannedExperiment], profile: str) -> dict[str, int]:
    """What follows for it from a search that found 10,000 records per second."""

    def searched(name: str) -> Any:
        before = plans[name, one.engine]
        assert before.experiment.purpose == "capacity"
        return before.row().with_changes(verdict="VALID", capacity=capacity(interval=(FOUND, 12_500)))

    pace = find_pace(one.experiment, profile, searched)
    assert isinstance(pace, Pace)
    return dict(pace.rates)


def test_the_study_is_described() -> None:
    assert "sustainable" in registry.names("studies")
    assert [exhibit.name for exhibit in STUDY.exhibits] == [
        *("Table I", "Table II", "Fig. 4", "Table III", "Table IV", "Fig. 5", "Experiment 3", "Experiment 4", "Fig. 6"),
        *("Fig. 7", "Fig. 8", "Experiment 7", "Fig. 9", "Fig. 10", "Fig. 11", "Table V", "Broker"),
    ]
    assert STUDY.engines == {FLINK: "flink"}, "the paper's Spark has DStreams"


@pytest.mark.parametrize("profile", ["laptop", "paper"])
@pytest.mark.parametrize("name", sorted({one.scenario for one in STUDY.experiments}))
@pytest.mark.parametrize("engine", ENGINES)
def test_every_scenario_resolves_on_both_engines(name: str, profile: str, engine: str) -> None:
    resolved = scenarios.resolve(name, profile=profile, engine=engine)
    assert (resolved.transport, resolved.sustained) == ("queue", "sustainable")
    assert resolved.workload == ("games/join" if name == "sustainable/join" else "games/aggregation")


@pytest.mark.parametrize("profile", ["laptop", "paper"])
def test_both_engines_run_every_experiment(profile: str) -> None:
    plans = planned(profile=profile)
    assert {key: one.reason for key, one in plans.items() if one.reason} == {
        ("overloaded-unlimited", "flink"): "the study defines this experiment for spark only, not for flink"
    }
    assert len(plans) == 2 * len(STUDY.experiments)
    searches = [one for one in plans.values() if one.experiment.purpose == "capacity"]
    assert {one.resolution for one in searches} == {0.25 if profile == "laptop" else 0.1}


@PROFILES
def test_a_cluster_has_as_many_nodes_as_the_profile_says(
    profile: str, nodes: tuple[int, ...], generators: tuple[int, ...]
) -> None:
    for (name, engine), one in planned(profile=profile).items():
        if (name, engine) == ("overloaded-unlimited", "flink"):
            continue
        place = SIZES.index(one.experiment.dimensions.get("cluster", SIZES[0]))
        found = scenario(one)
        assert found.engine_options[NODES[engine]] == nodes[place]
        assert found.generators == generators[place]
        if engine == "spark":
            assert found.engine_options["cluster"] == "standalone"


def test_a_node_has_one_task_in_the_laptop_profile_and_16_in_the_paper() -> None:
    for profile, tasks in (("laptop", 1), ("paper", 16)):
        plans = planned(profile=profile)
        assert scenario(plans["aggregation-4x", "spark"]).engine_options["worker_cores"] == tasks
        assert scenario(plans["aggregation-4x", "flink"]).engine_options["slots"] == tasks


@pytest.mark.parametrize("program", ["aggregation", "join"])
def test_a_search_begins_where_that_of_the_smaller_cluster_ended(program: str) -> None:
    plans = planned()
    for size, before in (("1", ""), ("2", f"{program}-1x"), ("4", f"{program}-2x")):
        one = plans[f"{program}-{size}x", "flink"]
        assert (one.experiment.rate_of, one.experiment.purpose) == (before, "capacity")
        if before:
            assert paced(one, plans, "laptop") == {"rate_per_s": FOUND}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("profile", ["laptop", "paper"])
def test_latency_is_measured_at_100_and_90_percent_of_what_was_found(profile: str, engine: str) -> None:
    plans = planned((engine,), profile=profile)
    for program in experiments.PROGRAMS:
        for size in ("1x", "2x", "4x"):
            for load, rate in (("100", FOUND), ("90", 9000)):
                one = plans[f"{program}-latency-{size}-{load}", engine]
                assert one.experiment.rate_of == f"{program}-{size}", "on the same cluster"
                assert paced(one, plans, profile) == {"rate_per_s": rate}
                assert scenario(one).workload == f"games/{program}"


def test_a_fluctuating_load_is_between_90_and_30_percent() -> None:
    plans = planned()
    for program in experiments.PROGRAMS:
        one = plans[f"fluctuating-{program}", "spark"]
        assert paced(one, plans, "laptop") == {"rate_per_s": 9000, "to_per_s": 3000}
        assert (scenario(one).load.shape, scenario(one).workload) == ("fluctuating", f"games/{program}")
        assert one.experiment.rate_of == f"{program}-1x"
    high, low = ({mark.value for mark in numbers.FLUCTUATING if mark.metric == f"rate.{at}"} for at in ("high", "low"))
    assert (high, low) == ({840_000}, {280_000})


def test_overload_is_half_as_much_again_and_limits_the_batches_of_spark() -> None:
    plans = planned()
    spark, flink = plans["overloaded", "spark"], plans["overloaded", "flink"]
    assert paced(spark, plans, "laptop") == {"rate_per_s": 15_000, "batch_records": FOUND}
    assert paced(flink, plans, "laptop") == {"rate_per_s": 15_000}
    assert scenario(spark).queue_s == 120 > scenario(plans["aggregation-1x", "spark"]).queue_s


@pytest.mark.parametrize("profile", ["laptop", "paper"])
def test_the_scheduler_is_late_with_batches_of_all_that_waits(profile: str) -> None:
    [exhibit] = [one for one in STUDY.exhibits if one.name == "Fig. 11"]
    plans = planned(("spark",), profile=profile)
    full, overloaded = (plans[one.name, "spark"] for one in exhibit.experiments)
    assert paced(full, plans, profile) == {"rate_per_s": FOUND}
    assert paced(overloaded, plans, profile) == {"rate_per_s": 15_000}
    assert {scenario(one).engine_options["batch_records"] for one in (full, overloaded)} == {0}
    assert scenario(overloaded).queue_s == 120


@pytest.mark.parametrize("profile", ["laptop", "paper"])
def test_runs_at_100_and_90_percent_are_as_long_as_the_one_that_confirms_a_search(profile: str) -> None:
    plans = planned(profile=profile)
    for engine in ENGINES:
        for one in (*experiments.LATENCY["aggregation"], *experiments.LATENCY["join"]):
            _, _, confirming_s = lengths_s(scenario(plans[one.rate_of, engine]), "confirm")
            assert scenario(plans[one.name, engine]).load.measured_s == confirming_s


def test_large_windows_are_computed_in_both_ways() -> None:
    plans = planned()
    for evaluation in ("incremental", "recomputed"):
        one = plans[f"large-windows-{evaluation}", "flink"]
        parameters = scenario(one).parameters
        assert (parameters["window_s"], parameters["slide_s"], parameters["evaluation"]) == (60, 60, evaluation)
        assert one.experiment.purpose == "capacity"
    small = scenario(plans["aggregation-1x", "flink"]).parameters
    assert (small["window_s"], small["slide_s"], small["evaluation"]) == (8, 4, "incremental")


@pytest.mark.parametrize("profile", ["laptop", "paper"])
def test_a_window_ends_in_the_shortest_probe_of_every_search(profile: str) -> None:
    searches = [one for one in planned(profile=profile).values() if one.experiment.purpose == "capacity"]
    assert {scenario(one).parameters["window_s"] for one in searches} == {8, 60}
    for one in searches:
        found = scenario(one)
        _, least_s, _ = lengths_s(found, "bracket")
        slide_s, from_s = found.parameters["slide_s"], found.load.warmup_s
        first_end_s = (from_s // slide_s + 1) * slide_s
        assert from_s < first_end_s <= from_s + least_s, one.name


def test_skew_is_one_key_on_every_cluster() -> None:
    plans = planned()
    for size in ("1x", "2x", "4x"):
        one = plans[f"skew-{size}", "spark"]
        assert (scenario(one).parameters["keys"], one.experiment.rate_of) == ("one", f"aggregation-{size}")


@pytest.mark.parametrize("profile", ["laptop", "paper"])
def test_a_broker_is_compared_at_half_the_rate_of_the_queues(profile: str) -> None:
    plans = planned(profile=profile)
    for engine in ENGINES:
        for program in experiments.PROGRAMS:
            queue, kafka = (plans[f"broker-{program}-{transport}", engine] for transport in ("queue", "kafka"))
            assert (scenario(queue).transport, scenario(kafka).transport) == ("queue", "kafka")
            assert paced(queue, plans, profile) == paced(kafka, plans, profile) == {"rate_per_s": FOUND // 2}
            assert queue.experiment.rate_of == kafka.experiment.rate_of == f"{program}-1x"
        search = plans["broker-aggregation-capacity", engine]
        assert (scenario(search).transport, search.experiment.purpose) == ("kafka", "capacity")
    others = [one for one in plans.values() if one.request and not one.experiment.name.startswith("broker-")]
    assert {scenario(one).transport for one in others} == {"queue"}


def test_kafka_streams_leaves_gaps() -> None:
    plans = planned(("kafka-streams",))
    for (name, _), one in plans.items():
        engines = "spark" if name == "overloaded-unlimited" else "spark, flink"
        assert one.reason == f"the study defines this experiment for {engines} only, not for kafka-streams"
        assert (one.request, one.row().state) == (None, "not run")


@pytest.mark.parametrize(
    "setting", ["rate_per_s", "to_per_s", "measured_s", "generators", "workers", "taskmanagers", "batch_records"]
)
def test_a_reproduction_does_not_change_what_the_study_sets(setting: str) -> None:
    with pytest.raises(UsageError, match="the study itself sets"):
        planned(changes={setting: "1"})


@pytest.mark.parametrize(("table", "marks"), [(TABLE_1, numbers.TABLE_1), (TABLE_3, numbers.TABLE_3)])
def test_throughputs_are_the_papers(table: str, marks: Sequence[Mark]) -> None:
    rates = {(mark.system, mark.dimensions["cluster"]): mark.value for mark in marks}
    assert rates == {
        (system, size): pytest.approx(1e6 * rate)
        for (system, _), of_system in printed(table).items()
        for size, rate in zip(SIZES, of_system, strict=True)
    }


@pytest.mark.parametrize(("table", "marks"), [(TABLE_2, numbers.TABLE_2), (TABLE_4, numbers.TABLE_4)])
def test_latencies_are_the_papers(table: str, marks: Sequence[Mark]) -> None:
    found = {
        (mark.system, mark.dimensions["load"], mark.dimensions["cluster"], mark.metric): mark.value for mark in marks
    }
    columns = [f"latency.{name}" for name in ("mean", "min", "max", "p90", "p95", "p99")]
    places = [(size, column) for size in SIZES for column in columns]
    assert found == {
        (system, load, *place): value
        for (system, load), values in printed(table).items()
        for place, value in zip(places, values, strict=True)
    }


def test_stars_are_the_papers() -> None:
    found: dict[str, list[str]] = {}
    for line in TABLE_5.strip().splitlines():
        *words, storm, spark, flink = line.split()
        found["-".join(words).lower().removeprefix("data-")] = [storm, spark, flink]
    stars = {(mark.metric, mark.system): "☆" * int(mark.value) for mark in numbers.TABLE_5}
    assert stars == {
        (f"stars.{criterion}", system): given
        for criterion, of_criterion in found.items()
        for system, given in zip((STORM, SPARK, FLINK), of_criterion, strict=True)
        if given != "N/A"
    }
