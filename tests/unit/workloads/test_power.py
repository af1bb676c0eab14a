"""Readings of sensors: records as a function of their number."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError

from streamgauge import registry
from streamgauge.codec import Message
from streamgauge.contracts import Records
from streamgauge.model import LoadPlan
from streamgauge.workloads.event_time import FIRST_MS
from streamgauge.workloads.power import tree
from streamgauge.workloads.power.data import WATTS_MOST, Power
from streamgauge.workloads.power.parameters import HierarchyParameters, HoppingParameters, TumblingParameters

LOAD = LoadPlan(rate_per_s=500, warmup_s=0, measured_s=20, tail_s=0)
NAMES = ("sink", "tumbling", "hopping", "hierarchy")


def build(
    name: str, first: int = 0, count: int = 2000, seed: int = 1, load: LoadPlan = LOAD, **changes: Any
) -> Records:
    workload = registry.workload(f"power/{name}")
    parameters = workload.parameters(**changes).model_dump()
    return workload.dataset(parameters, seed, load).build(first, count)["readings"]


def columns(records: Records) -> list[tuple[int, ...]]:
    """Number, event time, sensor and watts of each record."""
    return [tuple(map(int, value.split(b"\t"))) for value in records.values]


@pytest.mark.parametrize("name", NAMES)
def test_a_record_is_a_function_of_its_number(name: str) -> None:
    whole, part = build(name, 0, 300), build(name, 100, 50)
    assert (part.keys, part.values) == (whole.keys[100:150], whole.values[100:150])
    assert build(name, 0, 300, seed=2).values != whole.values
    mean = sum(len(key or b"") + len(value) for key, value in zip(whole.keys, whole.values, strict=True)) / 300
    assert mean == pytest.approx(Power.record_bytes, rel=0.2)


def test_the_codec_finds_number_and_event_time() -> None:
    codec, records = registry.workload("power/sink").codec, build("sink")
    messages = [Message(key, value) for key, value in zip(records.keys, records.values, strict=True)]
    assert codec.event_ms is not None
    assert [codec.n_seq.read(message) for message in messages] == list(records.n_seq) == list(range(2000))
    planned = [FIRST_MS + LOAD.offset_ns(n) // 1_000_000 for n in range(2000)]
    assert [codec.event_ms.read(message) for message in messages] == planned


def test_the_sensor_is_the_key_and_watts_are_whole_numbers() -> None:
    records = build("sink")
    fields = columns(records)
    assert [b"%d" % sensor for _, _, sensor, _ in fields] == records.keys
    watts = [watts for *_, watts in fields]
    assert min(watts) >= 0 and max(watts) <= WATTS_MOST and len(set(watts)) > 900


@pytest.mark.parametrize(
    ("name", "changes", "sensors"),
    [
        ("sink", {}, 500),
        ("tumbling", {}, 500),
        ("tumbling", {"keys": 20}, 20),
        ("hopping", {"keys": 50}, 50),
        ("hierarchy", {"children": 3, "height": 4}, 81),
    ],
)
def test_sensors_share_the_rate_evenly(name: str, changes: dict[str, int], sensors: int) -> None:
    """Without a number of sensors, each sends one record per second."""
    times: dict[int, list[int]] = {}
    for _, event_ms, sensor, _ in columns(build(name, **changes)):
        times.setdefault(sensor, []).append(event_ms)
    assert sorted(times) == list(range(sensors))
    gaps = {later - earlier for one in times.values() for earlier, later in pairwise(one)}
    assert gaps == {1000 * sensors // LOAD.rate_per_s}


def test_a_load_without_a_schedule_has_sensors_with_one_record_per_second_too() -> None:
    load = LoadPlan(rate_per_s=0, warmup_s=0, measured_s=0, tail_s=0, shape="preloaded", preloaded=50_000)
    of_one = [event_ms for _, event_ms, sensor, _ in columns(build("sink", 0, 50_000, load=load)) if sensor == 7]
    assert [event_ms - of_one[0] for event_ms in of_one] == [0, 1000, 2000, 3000, 4000]


def test_windows_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValidationError, match="period_ms 1001 must not exceed window_s 1"):
        HoppingParameters(window_s=1, period_ms=1001)
    with pytest.raises(ValidationError, match="a record would be in more than 6000 windows"):
        HoppingParameters(window_s=61, period_ms=10)
    assert HoppingParameters(window_s=60, period_ms=10).keys == 10_000


def test_a_tree_that_is_too_large_is_refused() -> None:
    assert HierarchyParameters(height=5).sensors == 100_000
    with pytest.raises(ValidationError, match="10,000,000,000 sensors are more than 1,000,000"):
        HierarchyParameters(children=100, height=5)


def test_the_tree_is_complete_and_not_in_the_order_of_its_members() -> None:
    levels = tree.parents(3, 3)
    assert [len(level) for level in levels] == [27, 9, 3]
    for level in levels:
        assert {*level} == {*range(len(level) // 3)} and all(level.count(group) == 3 for group in level)
    assert levels[0][:4] != [0, 0, 0, 1]
    assert tree.parents(2, 2) == [[0, 1, 1, 0], [0, 0]]
    assert tree.ancestors(tree.parents(2, 2), "sensor").to_pydict() == {
        "sensor": [0, 1, 2, 3] * 2,
        "level": [1] * 4 + [2] * 4,
        "group": [0, 1, 1, 0, 0, 0, 0, 0],
    }


def test_results_are_final_when_their_window_has_ended() -> None:
    disorder = {"out_of_order_ms": 500, "partition_skew_ms": 1500}
    windows = TumblingParameters(window_s=10, **disorder).model_dump()
    assert registry.workload("power/tumbling").settles_s(windows) == 12.0
    assert registry.workload("power/hierarchy").settles_s(HierarchyParameters(**disorder).model_dump()) == 3.0
    hopping = HoppingParameters(window_s=10, period_ms=500, **disorder).model_dump()
    assert registry.workload("power/hopping").settles_s(hopping) == 12.5
    assert registry.workload("power/sink").settles_s({}) == 0.0
