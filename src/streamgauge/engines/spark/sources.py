"""The job's input topics as streaming DataFrames."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.jvm.kafka_clients import java_settings_for

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read(spark: SparkSession, job: Mapping[str, Any], *streams: str) -> DataFrame:
    """The records of these inputs (all, if none is named), as returned by Spark's Kafka source."""
    topics = [job["inputs"][name] for name in streams or job["inputs"]]
    reader = (
        spark.readStream.format("kafka")
        .options(**{f"kafka.{key}": value for key, value in java_settings_for(job["endpoints"]).items()})
        .option("subscribe", ",".join(topics))
        .option("startingOffsets", "earliest")
    )
    # Real-time mode has no micro-batches to limit.
    if (most := job["options"]["batch_records"]) and not job["options"]["realtime"]:
        reader = reader.option("maxOffsetsPerTrigger", most)
    return reader.load()


def timed(records: DataFrame, job: Mapping[str, Any]) -> DataFrame:
    """Records with their ``event_ms`` as a timestamp, ``time``. There is one watermark for all partitions."""
    from pyspark.sql import functions as f

    with_time = records.withColumn("time", f.timestamp_millis("event_ms"))
    return with_time.withWatermark("time", f"{disorder_ms(job)} milliseconds")


def disorder_ms(job: Mapping[str, Any]) -> int:
    """How far a record may be behind the newest one."""
    parameters = job["parameters"]
    return int(parameters["out_of_order_ms"] + parameters["partition_skew_ms"])
