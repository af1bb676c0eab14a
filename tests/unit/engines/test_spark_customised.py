"""The stateful processor in pyspark's test harness: state and timers as in Spark, without a JVM."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.tws_tester import TwsTester

from streamgauge.engines.spark.workloads.traffic.customised import PointProcessor
from streamgauge.engines.spark.workloads.traffic.point import IDLE_MS, Stage

BOUND_MS = 1000


def in_spark(lookbacks_s: tuple[int, ...] | None) -> Any:
    processor = PointProcessor(Stage(BOUND_MS, lookbacks_s))
    return TwsTester(processor, timeMode="EventTime", eventTimeExtractor=lambda row: row.appended_ms)


def pair(lane: str, at_ms: int, cars: int = 1, kmh: int = 50) -> list[Row]:
    common = {"appended_ms": at_ms, "id": "p", "timestamp": str(at_ms), "lane": lane, "lanes": 2}
    return [Row(**common, flow=cars, speed=None), Row(**common, flow=None, speed=kmh)]


def published(rows: list[Row]) -> list[tuple[str, int, int]]:
    values = [(row.key, json.loads(row.value)) for row in rows]
    return [(key, value["window_end_ms"], value["n"]) for key, value in values]


def timers(spark: Any) -> list[int]:
    spark.handle.setGroupingKey("p")
    return list(spark.handle.listTimers())


def test_a_join_leaves_no_state_and_no_timer() -> None:
    spark = in_spark(None)
    output = spark.test("p", pair("lane1", 100))
    assert [json.loads(row.value)["speed"] for row in output] == [50]
    assert spark.peekValueState("point", "p") is None and timers(spark) == []


def test_a_timer_publishes_an_incomplete_second() -> None:
    spark = in_spark(())
    assert spark.test("p", pair("lane1", 100)) == []
    assert timers(spark) == [1000 + BOUND_MS]
    assert published(spark.setWatermark(999 + BOUND_MS)) == []
    assert published(spark.setWatermark(1000 + BOUND_MS)) == [("p", 1000, 1)]
    assert spark.peekValueState("point", "p") is None and timers(spark) == []


def test_a_point_has_one_timer_that_moves_to_an_earlier_due_time() -> None:
    spark = in_spark(())
    assert published(spark.test("p", pair("lane1", 100) + pair("lane2", 110))) == [("p", 1000, 2)]
    assert timers(spark) == [1000 + BOUND_MS + IDLE_MS]
    assert spark.test("p", pair("lane1", 900)) == []
    assert timers(spark) == [1000 + BOUND_MS]
    assert published(spark.setWatermark(1000 + BOUND_MS)) == [("p", 1000, 3)]


def test_the_state_of_a_silent_point_is_dropped() -> None:
    spark = in_spark((1, 2))
    spark.test("p", pair("lane1", 100) + pair("lane2", 110))
    assert spark.peekValueState("point", "p") is not None
    assert spark.setWatermark(1000 + BOUND_MS + 2000 + IDLE_MS) == []
    assert spark.peekValueState("point", "p") is None and timers(spark) == []


def test_a_timer_that_fires_early_is_set_again() -> None:
    spark = in_spark(())
    spark.test("p", pair("lane1", 100))
    spark.test("p", pair("lane2", 200))  # complete, but the timer stays
    spark.test("p", pair("lane1", 1900) + pair("lane2", 1910))
    assert spark.setWatermark(1000 + BOUND_MS) == []
    assert timers(spark) == [2000 + BOUND_MS + IDLE_MS]
