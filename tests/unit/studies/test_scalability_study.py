"""The study scalability: its scenarios have the paper's values, and rates that fit their sensors."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge import registry
from streamgauge.campaigns.capacity import CapacitySearch
from streamgauge.errors import Unsupported, UsageError
from streamgauge.evaluate.sustained import LAG_WINDOW_S, least_s
from streamgauge.measure.plan import Request
from streamgauge.model import Scenario
from streamgauge.search_axis import RATE_AXIS
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.scalability.experiments import AXES
from streamgauge.studies.search_axis import axis_of, value_on, with_value
from streamgauge.workloads.power.data import Power

WORKLOADS = {"sink": "sink", "hierarchy": "hierarchy", "windows": "tumbling", "overlapping": "hopping"}
EACH = pytest.mark.parametrize("name", WORKLOADS)
PROFILES = pytest.mark.parametrize("profile", scenarios.PROFILES)


def resolved(name: str, profile: str = "laptop", engine: str = "kafka-streams", **changes: str) -> Scenario:
    return scenarios.resolve(f"scalability/{name}", profile=profile, engine=engine, changes=changes)


def sensors(scenario: Scenario) -> int:
    workload = registry.workload(scenario.workload)
    dataset = workload.dataset(scenario.parameters, scenario.seed, scenario.load)
    assert isinstance(dataset, Power)
    return dataset.sensors


def test_it_has_a_search_for_each_topology_and_number_of_instances() -> None:
    assert {name for name in scenarios.names() if name.startswith("scalability/")} == {
        f"scalability/{name}" for name in WORKLOADS
    }
    experiments = registry.study_description("scalability").experiments
    assert [one.name for one in experiments] == [f"{name}-{n}" for name in WORKLOADS for n in (1, 2, 4, 8, 16)]
    assert {one.cores for one in experiments} == {0, 8, 16}
    for one in experiments:
        instances = one.dimensions["instances"]
        assert one.on("kafka-streams").settings["instances"] == instances
        assert all(int(settings["partitions"]) >= int(instances) for settings in one.profiles.values())


def test_a_search_begins_where_fewer_instances_ended() -> None:
    named = {one.name: one for one in registry.study_description("scalability").experiments}
    assert [named[f"sink-{n}"].rate_of for n in (1, 2, 4)] == ["", "sink-1", "sink-2"]
    for one in named.values():
        assert one.shares == {one.axis.name: 1.0}


def test_the_load_grows_with_what_is_searched() -> None:
    """The paper's sensors send one record per second each, also in a higher tree."""
    tree = resolved("hierarchy")
    assert axis_of("generators", resolved("sink")) == RATE_AXIS
    for height in (1, 3, 5):
        changed = with_value(axis_of("height", tree), tree, height)
        assert changed.load.rate_per_s == sensors(changed) == 10**height
    assert axis_of("period", resolved("overlapping")).harder == "less"


@EACH
@pytest.mark.parametrize("engine", ["kafka-streams", "flink", "spark"])
def test_a_search_stays_within_what_the_scenario_accepts(name: str, engine: str, tmp_path: Path) -> None:
    scenario = resolved(name, engine=engine)
    search = CapacitySearch(Request(scenario, tmp_path), 0.5, AXES[name])
    target = search.target(search.start)
    for value in (target.lowest, target.guess, target.highest):
        search.scenario_at(value)
    if name == "hierarchy":
        assert (target.lowest, target.highest) == (1, 5)


def test_an_impossible_height_is_refused_in_words() -> None:
    tree = resolved("hierarchy")
    with pytest.raises(UsageError, match="height"):
        with_value(axis_of("height", tree), tree, 10_000_000)


@pytest.mark.parametrize(
    ("name", "changes"),
    [("sink", {}), ("windows", {}), ("overlapping", {}), *((name, {"keys": "500"}) for name in ("sink", "windows"))],
)
def test_a_search_for_generators_changes_the_number_of_sensors(name: str, changes: dict[str, str]) -> None:
    """Each sends as often as before."""
    scenario = resolved(name, **changes)
    axis = axis_of("generators", scenario)
    twice = with_value(axis, scenario, 2 * value_on(axis, scenario))
    assert axis.more_is_harder
    assert sensors(twice) == 2 * sensors(scenario)
    assert twice.load.rate_per_s == 2 * scenario.load.rate_per_s


def test_the_sensors_of_a_tree_follow_from_its_height() -> None:
    with pytest.raises(UsageError, match=r"--over generators cannot be searched(.|\n)*height"):
        axis_of("generators", resolved("hierarchy"))


@EACH
@PROFILES
def test_the_rule_has_the_minute_that_it_needs(name: str, profile: str) -> None:
    scenario = resolved(name, profile)
    assert (scenario.workload, scenario.sustained) == (f"power/{WORKLOADS[name]}", "scalability")
    assert scenario.load.measured_s >= least_s("scalability")


@PROFILES
def test_as_many_windows_end_in_the_first_half_minute_as_in_the_last(profile: str) -> None:
    """The rule compares the two, and the backlog is high where a window ends."""
    scenario = resolved("windows", profile)
    load, window_s = scenario.load, scenario.parameters["window_s"]
    begins_s = (load.warmup_s, load.warmup_s + load.measured_s - LAG_WINDOW_S)
    first, last = (sum(s % window_s == 0 for s in range(int(at), int(at) + LAG_WINDOW_S)) for at in begins_s)
    assert first == last > 0


@EACH
@PROFILES
def test_each_sensor_sends_as_many_records_as_in_the_paper(name: str, profile: str) -> None:
    scenario = resolved(name, profile)
    assert scenario.load.rate_per_s / sensors(scenario) == (10 if name == "overlapping" else 1)


@pytest.mark.parametrize("rate", [2**12, 2**17])
def test_the_number_of_sensors_follows_the_rate(rate: int) -> None:
    assert sensors(resolved("sink", rate_per_s=str(rate))) == rate
    assert sensors(resolved("windows", rate_per_s=str(rate), keys="4096")) == 4096


@pytest.mark.parametrize("height", range(1, 6))
def test_the_height_decides_on_the_number_of_sensors(height: int) -> None:
    assert sensors(resolved("hierarchy", height=str(height))) == 10**height


@EACH
def test_the_paper_warms_up_for_three_minutes_and_has_instances_of_2_gib(name: str) -> None:
    scenario = resolved(name, "paper")
    assert (scenario.load.warmup_s, scenario.load.measured_s) == (180.0, 390.0 if name == "windows" else 360.0)
    options = scenario.engine_options
    assert (options["instances"], options["threads"]) == (1, 1)
    assert registry.engine("kafka-streams").memory_mb(options) <= 2048
    assert scenario.partitions == 16


@pytest.mark.parametrize(("period_ms", "windows"), [(1000, 60), (10, 6000)])
def test_the_papers_periods_are_allowed(period_ms: int, windows: int) -> None:
    parameters = resolved("overlapping", "paper", period_ms=str(period_ms)).parameters
    assert 1000 * parameters["window_s"] / parameters["period_ms"] == windows


def test_a_hierarchy_of_kafka_streams_publishes_updates_only() -> None:
    with pytest.raises(Unsupported, match="power/hierarchy with --set emit=close"):
        resolved("hierarchy", emit="close")
    assert resolved("hierarchy").engine_options["emit"] == "update"
