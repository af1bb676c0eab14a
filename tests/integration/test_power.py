"""Sums of readings: the correct answers, computed by hand, what is accepted, and Spark's programs in batch mode."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamgauge import registry
from streamgauge.contracts import ReferenceWorkload
from streamgauge.engines.spark import programs
from streamgauge.engines.spark.workloads import power
from streamgauge.evaluate import match, tally
from streamgauge.model import NS_PER_MS

T0_MS = 1_767_225_600_000
"""All times below are milliseconds after this. Its second is a multiple of seven."""
_INPUT = (
    "key string, value string, partition int, offset bigint, appended_ms bigint, n_seq bigint, event_ms bigint, "
    "intended_ns bigint, partition_bit bigint"
)
_OUTPUT = "key string, value string, partition int, offset bigint, appended_ms bigint"

# Event time, sensor, watts.
READINGS = (
    (0, 0, 100),
    (500, 1, 50),
    (999, 0, 10),
    (1000, 2, 7),  # in the next second
    (1999, 0, 1),
    (2500, 3, 5),
)
PARAMETERS: dict[str, dict[str, int]] = {
    "tumbling": {"window_s": 2},
    "hopping": {"window_s": 2, "period_ms": 500},
    "hopping-uneven": {"window_s": 1, "period_ms": 800},
    "hierarchy": {"children": 2, "height": 2},
    "hierarchy-high": {"children": 2, "height": 3},
}
Sums = dict[tuple[int, ...], tuple[int, int, int, int]]
ANSWERS: dict[str, Sums] = {
    # Key, with the end of the window: watts, records, of them new, latest event time
    "tumbling": {
        (0, 2000): (111, 3, 3, 1999),
        (1, 2000): (50, 1, 1, 500),
        (2, 2000): (7, 1, 1, 1000),
        (3, 4000): (5, 1, 1, 2500),
    },
    # Sensor, second modulo seven, end. A reading is in four windows and new in the one that ends first.
    "hopping": {
        (0, 0, 500): (100, 1, 1, 0),
        (0, 0, 1000): (110, 2, 1, 999),
        (0, 0, 1500): (110, 2, 0, 999),
        (0, 0, 2000): (110, 2, 0, 999),
        (0, 0, 2500): (10, 1, 0, 999),
        (1, 0, 1000): (50, 1, 1, 500),
        (1, 0, 1500): (50, 1, 0, 500),
        (1, 0, 2000): (50, 1, 0, 500),
        (1, 0, 2500): (50, 1, 0, 500),
        (2, 1, 1500): (7, 1, 1, 1000),
        (2, 1, 2000): (7, 1, 0, 1000),
        (2, 1, 2500): (7, 1, 0, 1000),
        (2, 1, 3000): (7, 1, 0, 1000),
        (0, 1, 2000): (1, 1, 1, 1999),
        (0, 1, 2500): (1, 1, 0, 1999),
        (0, 1, 3000): (1, 1, 0, 1999),
        (0, 1, 3500): (1, 1, 0, 1999),
        (3, 2, 3000): (5, 1, 1, 2500),
        (3, 2, 3500): (5, 1, 0, 2500),
        (3, 2, 4000): (5, 1, 0, 2500),
        (3, 2, 4500): (5, 1, 0, 2500),
    },
    # Windows of 1 s that begin at multiples of 800 ms, as T0 is one: most readings are in a single window.
    "hopping-uneven": {
        (0, 0, 200): (100, 1, 1, 0),
        (0, 0, 1000): (110, 2, 1, 999),
        (0, 0, 1800): (10, 1, 0, 999),
        (1, 0, 1000): (50, 1, 1, 500),
        (2, 1, 1800): (7, 1, 1, 1000),
        (0, 1, 2600): (1, 1, 1, 1999),
        (3, 2, 2600): (5, 1, 1, 2500),
        (3, 2, 3400): (5, 1, 0, 2500),
    },
    # Level, group, end of the second. Group 0 of level 1 has the sensors 0 and 3, group 1 has 1 and 2; level 2 has all.
    "hierarchy": {
        (1, 0, 1000): (110, 2, 2, 999),
        (1, 1, 1000): (50, 1, 1, 500),
        (2, 0, 1000): (160, 3, 0, 999),
        (1, 0, 2000): (1, 1, 1, 1999),
        (1, 1, 2000): (7, 1, 1, 1000),
        (2, 0, 2000): (8, 2, 0, 1999),
        (1, 0, 3000): (5, 1, 1, 2500),
        (2, 0, 3000): (5, 1, 0, 2500),
    },
    # Of eight sensors, 0 is in group 0 of level 1, 1 and 2 in group 3, 3 in group 2. Group 0 of level 2 has 0 and 3.
    "hierarchy-high": {
        (1, 0, 1000): (110, 2, 2, 999),
        (1, 3, 1000): (50, 1, 1, 500),
        (2, 0, 1000): (160, 3, 0, 999),
        (3, 0, 1000): (160, 3, 0, 999),
        (1, 0, 2000): (1, 1, 1, 1999),
        (1, 3, 2000): (7, 1, 1, 1000),
        (2, 0, 2000): (8, 2, 0, 1999),
        (3, 0, 2000): (8, 2, 0, 1999),
        (1, 2, 3000): (5, 1, 1, 2500),
        (2, 1, 3000): (5, 1, 0, 2500),
        (3, 0, 3000): (5, 1, 0, 2500),
    },
}
EACH = pytest.mark.parametrize("name", ANSWERS)


def workload(name: str) -> ReferenceWorkload:
    found = registry.workload(f"power/{name.partition('-')[0]}")
    assert isinstance(found, ReferenceWorkload)
    return found


def parameters(name: str) -> dict[str, Any]:
    content: dict[str, Any] = workload(name).parameters(**PARAMETERS[name]).model_dump()
    return content


def inputs(spark: Any) -> dict[str, Any]:
    """Sent at their event time, appended 20 ms later, to the partition of their sensor."""
    rows = []
    for n_seq, (event_ms, sensor, watts) in enumerate(READINGS):
        at_ms = T0_MS + event_ms
        value = f"{n_seq}\t{at_ms}\t{sensor}\t{watts}"
        place = (sensor % 2, n_seq, at_ms + 20, n_seq, at_ms, at_ms * NS_PER_MS, 1 << sensor % 2)
        rows.append((str(sensor), value, *place))
    return {"readings": spark.createDataFrame(rows, _INPUT)}


def right(name: str) -> list[dict[str, int]]:
    return [
        {**dict(zip(workload(name).key, (*key, T0_MS + end_ms), strict=True)), "watts": watts, "records": records}
        for (*key, end_ms), (watts, records, *_) in ANSWERS[name].items()
    ]


def fates(spark: Any, name: str, values: list[dict[str, int]]) -> set[int]:
    published = [("key", json.dumps(value), 0, place, T0_MS + 20_000) for place, value in enumerate(values)]
    decoded = workload(name).decode(spark.createDataFrame(published, _OUTPUT), parameters(name))
    answer = workload(name).reference(inputs(spark), parameters(name))
    results = decoded.withColumnRenamed("appended_ms", "emitted_ms")
    return {row["fate"] for row in match.judge(match.compare(answer, results, workload(name).key)).collect()}


@EACH
def test_the_sums_of_each_key(spark: Any, name: str) -> None:
    found = workload(name).reference(inputs(spark), parameters(name)).collect()
    assert {
        (*(row[column] for column in workload(name).key[:-1]), row["window_end_ms"] - T0_MS): (
            row["watts"],
            row["records"],
            row["new_inputs"],
            row["intended_max_ns"] // NS_PER_MS - T0_MS,
        )
        for row in found
    } == ANSWERS[name]
    assert all(row["inputs"] == row["records"] for row in found)
    assert sum(row["new_inputs"] for row in found) == len(READINGS)
    assert all(row["appended_max_ms"] * NS_PER_MS == row["intended_max_ns"] + 20 * NS_PER_MS for row in found)


def test_the_stamps_are_those_of_all_readings_of_a_result(spark: Any) -> None:
    found = workload("hierarchy").reference(inputs(spark), parameters("hierarchy")).collect()
    (row,) = (one for one in found if (one["level"], one["window_end_ms"]) == (2, T0_MS + 1000))
    stamps = (row["appended_min_ms"], row["appended_mean_ms"], row["appended_max_ms"])
    assert [stamp - T0_MS for stamp in stamps] == pytest.approx([20, 20 + (0 + 500 + 999) / 3, 1019], abs=0.01)
    assert row["partitions"] == 0b11


@EACH
def test_right_results_are_accepted(spark: Any, name: str) -> None:
    assert fates(spark, name, right(name)) == {tally.MATCHED}


@EACH
@pytest.mark.parametrize(
    ("column", "fate"), [("watts", tally.WRONG), ("records", tally.WRONG), ("window_end_ms", tally.MISSING)]
)
def test_results_that_are_off_by_one_or_in_another_window(spark: Any, name: str, column: str, fate: int) -> None:
    values = right(name)
    values[0][column] += 1
    assert fate in fates(spark, name, values)


@EACH
def test_sparks_program_gives_the_same(spark: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    records = inputs(spark)["readings"]
    monkeypatch.setattr(power, "read", lambda *_: records)
    job = {"parameters": parameters(name), "data": workload(name).program_data(parameters(name))}
    found = programs.find(workload(name).name)(spark, job).collect()
    expected = {json.dumps(one, sort_keys=True) for one in right(name)}
    assert {json.dumps(json.loads(row["value"]), sort_keys=True) for row in found} == expected
    for row in found:
        key = [str(json.loads(row["value"])[column]) for column in workload(name).key[:-1]]
        assert row["key"] == ":".join(key)


def test_sparks_sink_turns_every_reading_into_json(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    records = inputs(spark)["readings"]
    monkeypatch.setattr(power, "read", lambda *_: records)
    found = programs.find("power/sink")(spark, {"parameters": {}}).collect()
    assert [(row["key"], json.loads(row["value"])) for row in found] == [
        (str(sensor), {"sensor": sensor, "event_ms": T0_MS + event_ms, "watts": watts})
        for event_ms, sensor, watts in READINGS
    ]
