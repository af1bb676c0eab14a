"""The scenario files: the papers' values, and the data of bursts."""

from __future__ import annotations

from collections import Counter
from importlib import resources
from typing import Any

import numpy as np
import pytest
from user_scenarios import published

from streamgauge import registry
from streamgauge.errors import UsageError
from streamgauge.model import NS_PER_S, Scenario
from streamgauge.studies import ospbench
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.scenario_file import Case


def resolved(name: str, profile: str) -> Scenario:
    """With a stage that needs only the scenario file."""
    return scenarios.resolve(f"ospbench/{name}", profile=profile, changes={"stage": "ingest"}, engine="echo")


@pytest.mark.parametrize("profile", scenarios.PROFILES)
@pytest.mark.parametrize("name", published())
def test_every_stage_of_every_scenario_runs_on_spark(name: str, profile: str) -> None:
    described = scenarios.describe(name)
    for chosen in described.workloads:
        scenarios.resolve(name, profile=profile, changes={described.choice: chosen}, engine="spark")


@pytest.mark.parametrize("name", published())
def test_the_engine_of_a_scenario_is_spark_unless_its_study_has_another(name: str) -> None:
    study = registry.study_description(name.partition("/")[0])
    assert scenarios.resolve(name).engine == study.default_engine


def test_the_papers_spark_settings_match_its_table() -> None:
    options = scenarios.resolve("ospbench/throughput", profile="paper").engine_options
    assert (options["cores"], options["shuffle_partitions"], options["trigger_ms"], options["heap_mb"]) == (
        20,
        5,
        0,
        6144,
    )
    assert options["conf"]["spark.executor.memory"] == "17g"
    assert (
        "-XX:InitiatingHeapOccupancyPercent=35 -XX:ParallelGCThreads=4 -XX:ConcGCThreads=2"
        in (options["conf"]["spark.executor.extraJavaOptions"])
    )


WORKLOADS = ("latency", "throughput", "single-burst", "periodic-burst")


def paper_table(name: str, engine: str) -> dict[str, Any]:
    return scenarios.describe(f"ospbench/{name}").paper.engines[engine]


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_papers_flink_settings_match_its_table(name: str) -> None:
    expected = {
        "taskmanagers": 5,
        "slots": 4,
        "parallelism": 20,
        "heap_mb": 18 * 1024,
        "state_backend": "hashmap",
        "checkpoint_ms": 10_000,
        "buffer_timeout_ms": 0 if name == "latency" else 100,
        "object_reuse": True,
        "pipeline.auto-watermark-interval": "50 ms",
    }
    assert paper_table(name, "flink") == expected


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_papers_kafka_streams_settings_match_its_table(name: str) -> None:
    expected: dict[str, Any] = {
        "instances": 5,
        "threads": 4,
        "heap_mb": 18 * 1024,
        "commit_ms": 1000,
        "cache_mb": 10,
        "emit": "update",
    }
    if name == "latency":
        expected |= {"linger_ms": 0, "producer.compression.type": "none"}
    else:
        expected |= {"linger_ms": 100, "producer.compression.type": "lz4", "producer.batch.size": 200 * 1024}
    expected["idle_ms"] = 300_000 if name == "single-burst" else 0
    assert paper_table(name, "kafka-streams") == expected


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_laptop_waits_and_commits_as_the_paper_does(name: str) -> None:
    """It has fewer cores; settings that determine how long a record waits are the paper's."""
    laptop, paper = (getattr(scenarios.describe(f"ospbench/{name}"), profile).engines for profile in scenarios.PROFILES)
    assert all(laptop["flink"][key] == paper["flink"][key] for key in ("checkpoint_ms", "buffer_timeout_ms"))
    for key in ("commit_ms", "linger_ms", "cache_mb", "emit"):
        assert laptop["kafka-streams"][key] == paper["kafka-streams"][key]


def test_stage_latency_has_the_papers_flink() -> None:
    flink = scenarios.describe("stage-latency/stages").paper.engines["flink"]
    assert flink == {"taskmanagers": 10, "slots": 12, "parallelism": 120, "heap_mb": 12 * 1024}


@pytest.mark.parametrize("profile", scenarios.PROFILES)
@pytest.mark.parametrize("name", scenarios.names())
def test_every_engine_of_a_table_accepts_its_options(name: str, profile: str) -> None:
    tables, cases = (getattr(getattr(scenarios.describe(name), profile), part) for part in ("engines", "cases"))
    workloads = scenarios.describe(name).workloads.values()
    runs = {e for e in ("spark", "flink", "kafka-streams") if registry.engine(e).traits.workloads.issuperset(workloads)}
    assert set(tables) == runs
    for engine in set(tables) & set(registry.names("engines")):
        described = scenarios.describe(name)
        for chosen in described.workloads:
            scenario = scenarios.resolve(name, profile=profile, engine=engine, changes={described.choice: chosen})
            replaced = {key for case in cases.get(engine, ()) for key in case.options}
            for key, value in tables[engine].items():
                if key in replaced:
                    continue
                value_set = scenario.engine_options["conf"].get(key) if "." in key else scenario.engine_options[key]
                assert value_set == (str(value) if "." in key else value)


def test_a_table_of_an_engine_that_is_not_installed_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (resources.files(ospbench) / "latency.toml").read_text(encoding="utf-8")
    before = scenarios.resolve("ospbench/latency")
    more = scenarios.parse_file(f"{text}\n[laptop.engines.not-installed]\nwhatever = 3\n", where="latency.toml")
    monkeypatch.setattr(scenarios, "describe", lambda name: more)
    assert scenarios.resolve("ospbench/latency") == before
    with pytest.raises(UsageError, match="invalid --engine"):
        scenarios.resolve("ospbench/latency", engine="not-installed")


def test_the_stage_whose_rate_is_searched_and_that_of_each_stages_cost() -> None:
    throughput = scenarios.profile_values("ospbench/throughput", "laptop")
    assert (throughput["stage"], throughput["rising_warmup"]) == ("tumbling", True)
    assert scenarios.profile_values("stage-latency/stages", "paper")["rate_per_s"] == 26_000


@pytest.mark.parametrize("name", ["single-burst", "periodic-burst"])
def test_bursts_are_measured_with_tumbling_and_are_not_judged_by_a_rule(name: str) -> None:
    assert scenarios.profile_values(f"ospbench/{name}", "laptop")["stage"] == "tumbling"
    stages = ["ingest", "parse", "join", "tumbling", "sliding"]
    assert scenarios.describe(f"ospbench/{name}").workloads == {stage: f"traffic/{stage}" for stage in stages}
    assert {resolved(name, profile).sustained for profile in scenarios.PROFILES} == {None}


def test_the_papers_single_burst() -> None:
    load = resolved("single-burst", "paper").load
    assert (load.burst_records, load.burst_s, load.rate_per_s, load.measured_s) == (1_800_000, 300.0, 400, 600.0)


@pytest.mark.parametrize("profile", scenarios.PROFILES)
def test_the_measured_interval_begins_when_the_backlog_is_full(profile: str) -> None:
    load = resolved("single-burst", profile).load
    assert load.warmup_s == load.burst_s


def test_the_papers_periodic_bursts() -> None:
    load = resolved("periodic-burst", "paper").load
    assert (load.burst_records, load.burst_s, load.burst_every_s, load.rate_per_s) == (38_000, 0.175, 10.0, 400)
    assert load.warmup_s + load.measured_s == 30 * 60


@pytest.mark.parametrize("name", ["single-burst", "periodic-burst"])
def test_a_point_and_second_has_317_messages_in_a_burst_and_between_two(name: str) -> None:
    """The paper's number of inputs per result of the tumbling window."""
    scenario = resolved(name, "laptop")
    load = scenario.load
    dataset = registry.workload(scenario.workload).dataset(scenario.parameters, scenario.seed, load)
    seconds = load.offsets_ns(np.arange(load.records)) // NS_PER_S
    messages: dict[int, Counter[bytes]] = {}
    for records in dataset.build(0, load.records).values():
        for n_seq, key in zip(records.n_seq, records.keys, strict=True):
            messages.setdefault(int(seconds[n_seq]), Counter())[key] += 1
    in_bursts = {
        (burst.start_ns + step) // NS_PER_S for burst in load.bursts for step in range(0, burst.length_ns, NS_PER_S)
    }
    for chosen in (in_bursts, set(range(30, 80)) - in_bursts):
        rows = [count for second in chosen if second in messages for count in messages[second].values()]
        assert np.mean(rows) == pytest.approx(3.17, abs=0.08)


TUNED = {"state_store": "memory", "trigger_ms": 2000, "gc": "Parallel"}


def options(**changes: str) -> dict[str, Any]:
    return dict(scenarios.resolve("ospbench/throughput", engine="spark", changes=changes).engine_options)


@pytest.mark.parametrize("stage", ["join", "tumbling", "sliding"])
def test_a_case_applies_to_a_stage_and_an_implementation(stage: str) -> None:
    assert {key: options(stage=stage)[key] for key in TUNED} == TUNED
    customised = options(stage=stage, implementation="customised")
    assert (customised["state_store"], customised["trigger_ms"]) == ("rocksdb", 0)


def test_what_the_user_sets_wins_over_a_case() -> None:
    assert options(stage="tumbling", trigger_ms="500", state_store="rocksdb")["trigger_ms"] == 500
    assert options(stage="tumbling", state_store="rocksdb")["state_store"] == "rocksdb"


def test_the_later_of_two_cases_counts_and_an_unknown_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    file = scenarios.describe("ospbench/throughput")
    cases = [
        Case(when={"stage": ["parse"]}, options={"trigger_ms": 1, "heap_mb": 600}),
        Case(when={"gc": ["G1", "Parallel"], "stage": ["parse"]}, options={"trigger_ms": 2}),
        Case(when={"stage": ["ingest"]}, options={"trigger_ms": 3}),
    ]

    def use(*more: Case) -> None:
        profile = file.laptop.model_copy(update={"cases": {"spark": [*cases, *more]}})
        changed = file.model_copy(update={"laptop": profile})
        monkeypatch.setattr(scenarios, "describe", lambda _: changed)

    use()
    assert {key: options(stage="parse")[key] for key in ("trigger_ms", "heap_mb")} == {"trigger_ms": 2, "heap_mb": 600}
    use(Case(when={"stagee": ["parse"]}, options={}))
    with pytest.raises(UsageError, match="stagee"):
        options(stage="parse")
