"""The stateful stages as one ``transformWithState`` per query, keyed by measurement point.

The state of a point is a single value, so that a batch costs one read and one write per point.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming import StatefulProcessor

from streamgauge.engines.spark.sinks import output_mode
from streamgauge.engines.spark.sources import read
from streamgauge.engines.spark.workloads.traffic.point import Message, Point, Result, Stage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StatefulProcessorHandle

FIELDS = "id string, timestamp string, lane string, lanes int, flow int, speed int"
PUBLISHED = "key string, value string"


class PointProcessor(StatefulProcessor):  # type: ignore[misc]  # pyspark has no types for it
    """Feeds each point's messages to its `Point` and stores it between batches."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._state = handle.getValueState("point", "point string")

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        point = self._stored(key)
        results = [joined for row in rows if (joined := point.take(_message(row)))]
        results += point.settle(timerValues.getCurrentWatermarkInMs())
        self._store(point)
        return _published(point, results)

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Row]:
        point = self._stored(key)
        point.timer_ms = None
        results = point.settle(timerValues.getCurrentWatermarkInMs())
        self._store(point)
        return _published(point, results)

    def close(self) -> None:
        pass

    def _stored(self, key: Any) -> Point:
        stored = self._state.get()
        return Point.load(key[0], self._stage, stored and stored[0])

    def _store(self, point: Point) -> None:
        """Also sets a timer for when the point is due; one that fires early is harmless."""
        due_ms = point.due_ms()
        if due_ms is not None and (point.timer_ms is None or due_ms < point.timer_ms):
            if point.timer_ms is not None:
                self._handle.deleteTimer(point.timer_ms)
            self._handle.registerTimer(due_ms)
            point.timer_ms = due_ms
        if point.empty and point.timer_ms is None:
            self._state.clear()
        else:
            self._state.update((point.dump(),))


def query(spark: SparkSession, job: Mapping[str, Any], lookbacks_s: tuple[int, ...] | None) -> DataFrame:
    """The stage that ``lookbacks_s`` selects (see `Stage`)."""
    from pyspark.sql import functions as f

    parameters = job["parameters"]
    message = f.from_json(f.col("value").cast("string"), FIELDS).alias("message")
    messages = (
        read(spark, job)
        .withWatermark("timestamp", f"{parameters['out_of_order_ms']} milliseconds")
        .select(f.unix_millis("timestamp").alias("appended_ms"), message)
        .select("appended_ms", "message.*")
    )
    processor = PointProcessor(Stage(parameters["join_bound_ms"], lookbacks_s))
    return messages.groupBy("id").transformWithState(processor, PUBLISHED, output_mode(job).capitalize(), "EventTime")


def _message(row: Row) -> Message:
    return Message(row.timestamp, row.lane, row.lanes, row.flow, row.speed, row.appended_ms)


def _published(point: Point, results: list[Result]) -> Iterator[Row]:
    return iter([Row(key=point.id, value=json.dumps(result, separators=(",", ":"))) for result in results])
