"""Clicks in event-time windows, with Spark's operators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.engines.programs import built_in_only_limit
from streamgauge.engines.spark.sources import read
from streamgauge.model import Limit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOWED = frozenset({"clicks/windowed"})

LIMITS = (
    built_in_only_limit(WINDOWED, customised=()),
    Limit(
        WINDOWED,
        {"realtime": True},
        "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST: The operator(s) HashAggregateExec, "
        "ShuffleExchangeExec … are not in the operator allowlist for Real-Time Mode.",
    ),
)


def windowed(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """The clicks of each page and second. Records behind the watermark are dropped."""
    from pyspark.sql import functions as f

    fields = f.split(f.col("value").cast("string"), "\t")
    clicks = read(spark, job).select(
        f.timestamp_millis(fields[1].cast("bigint")).alias("clicked"), fields[2].alias("page")
    )
    counts = (
        clicks.withWatermark("clicked", f"{job['parameters']['out_of_order_ms']} milliseconds")
        .groupBy(f.window("clicked", "1 second").alias("second"), "page")
        .agg(f.count("*").alias("n"))
    )
    value = f.to_json(f.struct("page", f.unix_millis("second.end").alias("window_end_ms"), "n"))
    return counts.select(f.col("page").alias("key"), value.alias("value"))
