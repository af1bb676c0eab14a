"""The stateful stages with Spark's operators: watermarks, a stream-stream join, windows.

Everything runs in the JVM. In append mode a result is published when the watermark makes it final; a window over a
window supports no other mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.engines.spark.sources import read

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

FLOW = "timestamp string, id string, lane string, lanes int, flow int"
SPEED = "timestamp string, id string, lane string, speed int"


def join(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Flow and speed of the same timestamp, point and lane, appended at most ``join_bound_ms`` apart."""
    return _published(_joined(spark, job), "timestamp", "id", "lane", "lanes", "flow", "speed")


def tumbling(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """The number of cars and the mean speed of each point and second."""
    from pyspark.sql import functions as f

    rows = _seconds(spark, job).withColumn("window_end_ms", f.unix_millis("second.end"))
    return _published(rows, "id", "window_end_ms", "flow", "speed", "n")


def sliding(spark: SparkSession, job: Mapping[str, Any], lookbacks_s: tuple[int, ...]) -> DataFrame:
    """The relative change of flow and speed of each point and second against earlier seconds."""
    from pyspark.sql import functions as f

    length = f"{max(lookbacks_s) + 1} seconds"
    shown = f.window(f.window_time("second"), length, "1 second").alias("shown")
    back_s = f.expr("(unix_millis(shown.end) - unix_millis(second.end)) div 1000").alias("back_s")
    # Keep only the seconds that the last one is compared with.
    needed = (
        _seconds(spark, job)
        .select("id", shown, "second", "flow", "speed", "n")
        .select("id", "shown", back_s, "flow", "speed", "n")
        .where(f.col("back_s").isin(0, *lookbacks_s))
    )
    values = [
        f.max(f.when(f.col("back_s") == back, f.col(name))).alias(f"{name}_{back}")
        for back in (0, *lookbacks_s)
        for name in ("flow", "speed")
    ]
    compared = needed.groupBy("shown", "id").agg(*values, f.sum("n").alias("n")).where("flow_0 is not null")
    changes = {
        f"{name}_change_{back}": _change(f.col(f"{name}_0"), f.col(f"{name}_{back}"))
        for back in lookbacks_s
        for name in ("flow", "speed")
    }
    rows = compared.withColumns({"window_end_ms": f.unix_millis("shown.end"), **changes})
    return _published(rows, "id", "window_end_ms", *changes, "n")


def _joined(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    from pyspark.sql import functions as f

    bound = f"interval {job['parameters']['join_bound_ms']} milliseconds"
    flow = _messages(spark, job, "flow", FLOW).alias("flow")
    speed = _messages(spark, job, "speed", SPEED).alias("speed")
    same = [f.col(f"flow.{name}") == f.col(f"speed.{name}") for name in ("timestamp", "id", "lane")]
    near = f.expr(f"flow.appended <= speed.appended + {bound} and speed.appended <= flow.appended + {bound}")
    return flow.join(speed, [*same, near]).select("flow.*", "speed.speed")


def _messages(spark: SparkSession, job: Mapping[str, Any], stream: str, fields: str) -> DataFrame:
    from pyspark.sql import functions as f

    late = f"{job['parameters']['out_of_order_ms']} milliseconds"
    message = f.from_json(f.col("value").cast("string"), fields).alias("message")
    records = read(spark, job, stream).select(f.col("timestamp").alias("appended"), message)
    return records.select("appended", "message.*").withWatermark("appended", late)


def _seconds(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    from pyspark.sql import functions as f

    # By the flow message's time: the later of the two would carry no watermark.
    second = f.window("appended", "1 second").alias("second")
    joined = _joined(spark, job)
    sums = joined.groupBy(second, "id").agg(
        f.sum("flow").alias("flow"), f.sum("speed").alias("speeds"), f.count("*").alias("n")
    )
    return sums.select("second", "id", "flow", f.expr("speeds / n").alias("speed"), "n")


def _change(now: Column, before: Column) -> Column:
    from pyspark.sql import functions as f

    return f.when(before != 0, (now - before) / before)


def _published(rows: DataFrame, *fields: str) -> DataFrame:
    """Null fields are omitted."""
    from pyspark.sql import functions as f

    return rows.select(f.col("id").alias("key"), f.to_json(f.struct(*fields)).alias("value"))
