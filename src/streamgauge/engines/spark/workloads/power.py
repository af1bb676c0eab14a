"""Sums of sensor readings over event time, with Spark's operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.engines.programs import built_in_only_limit, stateless_limit
from streamgauge.engines.spark.sources import disorder_ms, read, timed
from streamgauge.model import Limit

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, GroupedData, SparkSession

_SUMMED = frozenset({"power/tumbling", "power/hopping", "power/hierarchy"})
_SINK = frozenset({"power/sink"})

LIMITS = (
    stateless_limit(_SINK),
    built_in_only_limit(_SUMMED, customised=()),
    Limit(
        _SINK,
        {"realtime": True},
        "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST: The sink(s) NoopTable is not in the sink "
        "allowlist for Real-Time Mode.",
    ),
    Limit(
        _SUMMED,
        {"realtime": True},
        "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST: The operator(s) HashAggregateExec, "
        "ShuffleExchangeExec … are not in the operator allowlist for Real-Time Mode.",
    ),
)


def sink(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Every reading as JSON, to be discarded: the workload has no output."""
    from pyspark.sql import functions as f

    value = f.to_json(f.struct("sensor", "event_ms", "watts")).alias("value")
    return _readings(spark, job).select(f.col("sensor").cast("string").alias("key"), value)


def tumbling(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """The sum and the number of the readings of each sensor in windows that do not overlap."""
    from pyspark.sql import functions as f

    window = f.window("time", f"{job['parameters']['window_s']} seconds").alias("window")
    return _results(timed(_readings(spark, job), job).groupBy(window, "sensor"), "window.end", "sensor")


def hopping(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """The same for each sensor and second modulo seven, in windows that overlap.

    Spark's own sliding windows are planned as a projection for each window that a record is in: with 6,000 of them, a
    heap of 1 GB was full after minutes. Here a record has a row for each, and the end of the window is the event time.
    """
    from pyspark.sql import functions as f

    window_ms, period_ms = 1000 * job["parameters"]["window_s"], job["parameters"]["period_ms"]
    first_end = f"((event_ms - {window_ms}) div {period_ms} + 1) * {period_ms} + {window_ms}"
    last_end = f"(event_ms div {period_ms}) * {period_ms} + {window_ms}"
    ends_ms = f.expr(f"sequence({first_end}, {last_end}, {period_ms})")
    rows = _readings(spark, job).select(
        "sensor", "watts", f.expr("event_ms div 1000 % 7").alias("slot"), f.explode(ends_ms).alias("end_ms")
    )
    # The newest end is up to a window ahead of the newest record.
    ends = rows.withColumn("end", f.timestamp_millis("end_ms"))
    ends = ends.withWatermark("end", f"{window_ms + disorder_ms(job)} milliseconds")
    return _results(ends.groupBy("end", "sensor", "slot"), "end", "sensor", "slot")


def hierarchy(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """The sum of each group in each second.

    A query publishes what comes out of its last operator, not what comes out of those before. So there are two
    aggregations whatever the height: one for the lowest groups, and one that adds their sums for every group above.
    """
    import pyarrow as pa
    from pyspark.sql import functions as f

    from streamgauge.workloads.power import tree

    of_sensors, *above = job["data"]["parents"]
    lowest = spark.createDataFrame(pa.table({"sensor": range(len(of_sensors)), "lowest": of_sensors}))
    # A lowest group is also its own group of level 1.
    groups = spark.createDataFrame(tree.ancestors([range(max(of_sensors) + 1), *above], "lowest"))
    second = f.window("time", "1 second").alias("second")
    readings = timed(_readings(spark, job), job).join(f.broadcast(lowest), "sensor")
    sums = readings.groupBy(second, "lowest").agg(f.sum("watts").alias("watts"), f.count("*").alias("records"))
    of_groups = sums.join(f.broadcast(groups), "lowest").select("second", "watts", "records", "level", "group")
    window = f.window(f.window_time("second"), "1 second").alias("window")
    return _results(
        of_groups.groupBy(window, "level", "group"), "window.end", "level", "group", records=f.sum("records")
    )


def _readings(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    from pyspark.sql import functions as f

    fields = f.split(f.col("value").cast("string"), "\t")
    names = ("event_ms", "sensor", "watts")
    return read(spark, job).select(*(fields[place].cast("bigint").alias(name) for place, name in enumerate(names, 1)))


def _results(groups: GroupedData, end: str, *key: str, records: Column | None = None) -> DataFrame:
    """Key and value of the sum of each group, whose window ends at ``end``."""
    from pyspark.sql import functions as f

    sums = groups.agg(f.sum("watts").alias("watts"), (f.count("*") if records is None else records).alias("records"))
    end_ms = f.unix_millis(end).alias("window_end_ms")
    return sums.select(
        f.concat_ws(":", *key).alias("key"), f.to_json(f.struct(*key, end_ms, "watts", "records")).alias("value")
    )
