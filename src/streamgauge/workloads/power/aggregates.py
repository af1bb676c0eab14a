"""Sums of readings by sensor, window and group, and a sink: the correct answers in PySpark batch.

Event time is in the records. Windows begin at multiples of their period; a record at the end of a window belongs to the
next ones only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self

from streamgauge.codec import Codec, DelimitedField
from streamgauge.contracts import ReferenceWorkload, Workload
from streamgauge.model import InputStream, LoadPlan, ResultKind
from streamgauge.workloads.answers import with_fields
from streamgauge.workloads.power import STREAM
from streamgauge.workloads.power.parameters import (
    HEIGHT_MOST,
    HierarchyParameters,
    HoppingParameters,
    SensorParameters,
    TumblingParameters,
)

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pyspark.sql import Column, DataFrame

    from streamgauge.workloads.power.data import Power

SECOND_MS = 1000
SLOTS = 7
"""Of *hopping*: the new key of a reading is its sensor and its second modulo this."""
_SENSOR, _WATTS = DelimitedField(2), DelimitedField(3)


class Readings(Workload):
    """Base of all: one stream of readings."""

    codec: ClassVar[Codec] = Codec(n_seq=DelimitedField(0), event_ms=DelimitedField(1))
    inputs: ClassVar[tuple[InputStream, ...]] = (InputStream(STREAM),)
    late: ClassVar[str] = "event time advances with the load plan, so no record is late"
    searched_as: ClassVar[Mapping[str, str]] = {"generators": "rate_per_s", "keys": "rate_per_s"}
    """The paper's generators are sensors. Where each sends a record per second, their number follows from the rate."""

    def bound(self, parameters: Mapping[str, Any]) -> Self:
        if self.sensors(parameters):
            self.searched_as = {"generators": "keys"}  # type: ignore[misc]
        return self

    def dataset(self, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> Power:
        from streamgauge.workloads.power.data import Power

        return Power(seed, load, sensors=self.sensors(parameters))

    def sensors(self, parameters: Mapping[str, Any]) -> int:
        """Their number; 0 if it follows from the load."""
        return int(parameters["keys"])

    def follows(self, name: str, value: float, parameters: Mapping[str, Any], rate_per_s: int) -> Mapping[str, str]:
        """More sensors send more records, each as often as before."""
        if name != "keys":
            return {}
        return {"rate_per_s": str(round(rate_per_s * value / (self.sensors(parameters) or max(rate_per_s, 1))))}


class Sink(Readings):
    """Consume every reading, turn it into JSON, and publish nothing."""

    name: ClassVar[str] = "power/sink"
    title: ClassVar[str] = "sink: consume every reading, publish nothing"
    kind: ClassVar[ResultKind] = ResultKind.NONE
    outputs: ClassVar[tuple[str, ...]] = ()
    parameters: ClassVar[type[BaseModel]] = SensorParameters


class Summed(Readings, ReferenceWorkload):
    """Base of those with results: sums over event time. Each result is a JSON object."""

    kind: ClassVar[ResultKind] = ResultKind.FINAL_PER_KEY
    fields: ClassVar[str]
    """The fields of a result, as Spark writes a schema."""

    def length_s(self, parameters: Mapping[str, Any]) -> float:
        """Event time from the first reading of a result until a program can know that no further one follows."""
        return float(parameters["window_s"])

    def settles_s(self, parameters: Mapping[str, Any]) -> float:
        disorder_ms = parameters["out_of_order_ms"] + parameters["partition_skew_ms"]
        return float(self.length_s(parameters) + disorder_ms / 1000)

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        return with_fields(output, self.fields)


class Tumbling(Summed):
    """The sum and the number of the readings of each sensor in windows that do not overlap."""

    name: ClassVar[str] = "power/tumbling"
    title: ClassVar[str] = "tumbling: watts of each sensor in windows of event time that do not overlap"
    key: ClassVar[tuple[str, ...]] = ("sensor", "window_end_ms")
    parameters: ClassVar[type[BaseModel]] = TumblingParameters
    fields: ClassVar[str] = "sensor bigint, window_end_ms bigint, watts bigint, records bigint"

    def pause_s(self, parameters: Mapping[str, Any]) -> float:
        return float(parameters["window_s"])

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        window_ms = SECOND_MS * parameters["window_s"]
        parts = _parts(inputs[STREAM], window_ms, {"sensor": _SENSOR.column()})
        return _added(parts.withColumnRenamed("end_ms", "window_end_ms"), self.key, is_first="true")


class Hopping(Summed):
    """The same in windows that overlap, for each sensor and second modulo seven."""

    name: ClassVar[str] = "power/hopping"
    title: ClassVar[str] = "hopping: watts of each sensor and second modulo 7 in overlapping windows of event time"
    key: ClassVar[tuple[str, ...]] = ("sensor", "slot", "window_end_ms")
    parameters: ClassVar[type[BaseModel]] = HoppingParameters
    fields: ClassVar[str] = "sensor bigint, slot bigint, window_end_ms bigint, watts bigint, records bigint"

    def pause_s(self, parameters: Mapping[str, Any]) -> float:
        return float(parameters["period_ms"] / 1000)

    def length_s(self, parameters: Mapping[str, Any]) -> float:
        """A program may know the progress of event time by the beginnings of windows only."""
        return float(parameters["window_s"] + parameters["period_ms"] / 1000)

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        window_ms, period_ms = SECOND_MS * parameters["window_s"], parameters["period_ms"]
        # Windows consist of whole parts of this length: those are summed up once, not for each window that they are in.
        part_ms = math.gcd(window_ms, period_ms)
        slot = f.expr(f"event_ms div {SECOND_MS} % {SLOTS}")
        parts = _parts(inputs[STREAM], part_ms, {"sensor": _SENSOR.column(), "slot": slot})
        # Windows begin at multiples of the period; these have the part in them.
        last_ms = f"((end_ms - {part_ms}) div {period_ms}) * {period_ms}"
        first_ms = f"((end_ms - {part_ms} - {window_ms}) div {period_ms} + 1) * {period_ms}"
        begin_ms = f.explode(f.expr(f"sequence({first_ms}, {last_ms}, {period_ms})")).alias("begin_ms")
        in_windows = parts.select("*", begin_ms).withColumn("window_end_ms", f.col("begin_ms") + window_ms)
        return _added(in_windows, self.key, is_first=f"begin_ms = {first_ms}")


class Hierarchy(Summed):
    """The sum of each group of a tree of sensors in each second. The programs get the tree as data."""

    name: ClassVar[str] = "power/hierarchy"
    title: ClassVar[str] = "hierarchy: watts of each group of a tree of sensors in each second of event time"
    key: ClassVar[tuple[str, ...]] = ("level", "group", "window_end_ms")
    parameters: ClassVar[type[BaseModel]] = HierarchyParameters
    searched_as: ClassVar[Mapping[str, str]] = {}
    fields: ClassVar[str] = "level int, group bigint, window_end_ms bigint, watts bigint, records bigint"

    def bound(self, parameters: Mapping[str, Any]) -> Self:
        return self

    def sensors(self, parameters: Mapping[str, Any]) -> int:
        return HierarchyParameters.model_validate(dict(parameters)).sensors

    def follows(self, name: str, value: float, parameters: Mapping[str, Any], rate_per_s: int) -> Mapping[str, str]:
        """A higher tree has more sensors, each of which sends as often as before."""
        if name != "height" or not 1 <= value <= HEIGHT_MOST:
            return {}  # another height is refused with its value, not with a rate of millions of digits
        return {"rate_per_s": str(round(rate_per_s * parameters["children"] ** (value - parameters["height"])))}

    def length_s(self, parameters: Mapping[str, Any]) -> float:
        return SECOND_MS / 1000

    def program_data(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        from streamgauge.workloads.power.tree import parents

        return {"parents": parents(parameters["children"], parameters["height"])}

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        from streamgauge.workloads.power.tree import ancestors

        readings = inputs[STREAM]
        table = ancestors(self.program_data(parameters)["parents"], "sensor")
        groups = readings.sparkSession.createDataFrame(table)
        seconds = _parts(readings, SECOND_MS, {"sensor": _SENSOR.column()})
        of_groups = seconds.join(f.broadcast(groups), "sensor").withColumnRenamed("end_ms", "window_end_ms")
        return _added(of_groups, self.key, is_first="level = 1")


def _parts(readings: DataFrame, period_ms: int, key: Mapping[str, Column]) -> DataFrame:
    """The readings by key and period, with the end of the period: what sums over several of them are made of."""
    from pyspark.sql import functions as f

    end_ms = f.expr(f"(event_ms div {period_ms} + 1) * {period_ms}")
    return (
        readings.withColumns({**key, "end_ms": end_ms, "watts": _WATTS.column()})
        .groupBy(*key, "end_ms")
        .agg(
            f.sum("watts").alias("watts"),
            f.count("*").alias("records"),
            f.min("appended_ms").alias("appended_min_ms"),
            f.max("appended_ms").alias("appended_max_ms"),
            f.sum("appended_ms").alias("appended_sum_ms"),
            f.max("intended_ns").alias("intended_max_ns"),
            f.bit_or("partition_bit").alias("partitions"),
        )
    )


def _added(parts: DataFrame, key: tuple[str, ...], *, is_first: str) -> DataFrame:
    """The answer. A reading counts as new in one row only: where ``is_first`` holds, in SQL."""
    from pyspark.sql import functions as f

    records = f.sum("records")
    return parts.groupBy(*key).agg(
        f.sum("watts").alias("watts"),
        records.alias("records"),
        records.cast("int").alias("inputs"),
        f.coalesce(f.sum(f.when(f.expr(is_first), f.col("records"))), f.lit(0)).cast("int").alias("new_inputs"),
        f.min("appended_min_ms").alias("appended_min_ms"),
        f.max("appended_max_ms").alias("appended_max_ms"),
        (f.sum("appended_sum_ms") / records).alias("appended_mean_ms"),
        f.max("intended_max_ns").alias("intended_max_ns"),
        f.bit_or("partitions").alias("partitions"),
    )
