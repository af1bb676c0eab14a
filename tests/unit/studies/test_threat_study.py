"""The study of threat detection: its scenarios, experiments and numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge.campaigns import reproduction_plan
from streamgauge.campaigns.reproduction_estimate import run_s
from streamgauge.campaigns.reproduction_plan import PlannedExperiment, ReproductionRequest, plan
from streamgauge.errors import UsageError
from streamgauge.measure.faults import parse
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.threat import FLINK, SPARK_STREAMING, STORM, STUDY
from streamgauge.studies.threat.exhibits import LOST
from streamgauge.study import Exhibit, Experiment, OnEngine, Study

ENGINES = ("spark", "flink", "kafka-streams")


@pytest.fixture
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduction_plan, "usable_cores", lambda: 8)


def planned(engines: tuple[str, ...] = ENGINES, **changes: object) -> dict[tuple[str, str], PlannedExperiment]:
    plans = plan(ReproductionRequest("threat", Path("out"), engines=engines, **changes))
    return {(one.experiment.name, one.engine): one for one in plans}


def test_the_exhibits_are_those_of_the_paper() -> None:
    assert [exhibit.name for exhibit in STUDY.exhibits] == ["Fig. 4", "Fig. 5", "Fig. 6"]
    lost = {mark.system: mark.value for mark in STUDY.exhibits[2].marks if mark.metric == LOST}
    assert lost == {STORM: 22.2, FLINK: 12.8, SPARK_STREAMING: 0}
    assert STUDY.engines == {FLINK: "flink"}, "the engines storm and spark-streaming are to come"


@pytest.mark.parametrize("profile", ["laptop", "paper"])
@pytest.mark.parametrize("name", ["threat/parallelism", "threat/node-failure"])
@pytest.mark.parametrize("engine", ENGINES)
def test_every_scenario_resolves_on_every_engine(name: str, profile: str, engine: str) -> None:
    scenario = scenarios.resolve(name, profile=profile, engine=engine)
    assert scenario.workload == "threat/classify"


@pytest.mark.parametrize("profile", ["laptop", "paper"])
def test_parallelism_is_the_number_of_cores(eight_cores: None, profile: str) -> None:
    plans = planned(profile=profile)
    for cores in range(1, 9):
        for engine, option in zip(ENGINES, ("worker_cores", "parallelism", "threads"), strict=True):
            one = plans[f"parallelism-{cores}", engine]
            assert one.request is not None
            scenario = one.request.scenario
            assert scenario.engine_options[option] == cores
            assert (scenario.load.shape, scenario.partitions, scenario.faults) == ("preloaded", 8, ())
            assert one.runs > 1, "there is an interval"
            assert one.row().settings[option] == str(cores)
            assert scenario.engine_options.get("workers", 1) == 1
            assert scenario.engine_options.get("cluster", "standalone") == "standalone"


@pytest.mark.parametrize("profile", ["laptop", "paper"])
def test_every_node_of_flink_has_a_task_to_lose(profile: str) -> None:
    options = scenarios.resolve("threat/node-failure", profile=profile, engine="flink").engine_options
    assert (options["slots"], options["parallelism"]) == (1, 0), "a task in each slot"


def test_a_machine_with_fewer_cores_leaves_a_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reproduction_plan, "usable_cores", lambda: 3)
    plans = planned()
    for engine in ENGINES:
        run = [cores for cores in range(1, 9) if plans[f"parallelism-{cores}", engine].request is not None]
        assert run == [1, 2, 3]
        assert plans["parallelism-4", engine].reason == "it needs more cores than the 3 of this machine"
        assert plans["parallelism-4", engine].row().state == "not run"


@pytest.mark.parametrize(("engine", "role"), [("flink", "taskmanager-1"), ("kafka-streams", "streams-1")])
def test_one_of_several_workers_fails_at_50_s(engine: str, role: str) -> None:
    one = planned()["node-failure", engine]
    assert one.request is not None
    scenario = one.request.scenario
    assert scenario.faults == (parse(f"kill {role} at 50s"),)
    assert one.row().faults == [f"kill {role} at 50s"]
    workers = {"flink": "taskmanagers", "kafka-streams": "instances"}[engine]
    assert scenario.engine_options[workers] == 2
    assert scenario.load.measured_s > 50


@pytest.mark.parametrize("profile", ["laptop", "paper"])
def test_flink_goes_on_with_the_taskmanagers_that_are_left(profile: str) -> None:
    options = scenarios.resolve("threat/node-failure", profile=profile, engine="flink").engine_options
    assert options["taskmanagers"] >= 2
    assert options["conf"]["jobmanager.scheduler"] == "adaptive", "the job must fit on the nodes that are left"


@pytest.mark.parametrize(
    ("scenario", "profile", "trigger_ms"),
    [
        ("node-failure", "paper", 500),
        ("node-failure", "laptop", 500),
        ("parallelism", "paper", 500),
        ("parallelism", "laptop", 0),
    ],
)
def test_micro_batches_are_those_of_the_paper(scenario: str, profile: str, trigger_ms: int) -> None:
    options = scenarios.resolve(f"threat/{scenario}", profile=profile, engine="spark").engine_options
    assert options["trigger_ms"] == trigger_ms


@pytest.mark.parametrize(("profile", "workers"), [("laptop", 2), ("paper", 7)])
def test_a_worker_of_spark_fails_where_spark_has_workers(profile: str, workers: int) -> None:
    one = planned(profile=profile)["node-failure", "spark"]
    assert one.experiment.faults == ("kill worker-1 at 50s",)
    assert one.request is not None
    options = one.request.scenario.engine_options
    assert (options["cluster"], options["workers"], options["master"]) == ("standalone", workers, "")
    assert options["cores"] == workers


def test_the_estimate_knows_that_a_cluster_starts_slowly() -> None:
    on_a_cluster = planned(("spark",), runs=1)["node-failure", "spark"]
    in_one_jvm = scenarios.resolve("threat/node-failure", engine="spark")
    assert on_a_cluster.estimate_s > run_s(in_one_jvm) + 4


def test_an_engine_without_settings_of_its_own_leaves_a_gap() -> None:
    one = planned(("echo",))["parallelism-1", "echo"]
    assert one.request is None
    assert one.reason == "the study defines this experiment for spark, flink, kafka-streams only, not for echo"


def test_what_an_engine_has_besides_is_added() -> None:
    both = Experiment(
        "threat/parallelism",
        "both",
        settings={"records": "10", "heap_mb": "300"},
        faults=("pause broker for 1s at 5s",),
        engines={"flink": OnEngine({"heap_mb": "400"}, ("kill taskmanager-1 at 50s",))},
    )
    on_flink = both.on("flink")
    assert on_flink.settings == {"records": "10", "heap_mb": "400"}
    assert on_flink.faults == ("pause broker for 1s at 5s", "kill taskmanager-1 at 50s")
    assert both.on("spark").settings == both.settings
    study = Study("A study", "nowhere", "total", (Exhibit("Fig. 1", "An exhibit", lambda _: [], (both,)),))
    assert study.sets == {"engine", "records", "heap_mb"}


@pytest.mark.parametrize("setting", ["worker_cores", "parallelism", "threads", "workers"])
def test_a_reproduction_does_not_change_what_the_study_sets(setting: str) -> None:
    with pytest.raises(UsageError, match="the study itself sets"):
        planned(changes={setting: "1"})
