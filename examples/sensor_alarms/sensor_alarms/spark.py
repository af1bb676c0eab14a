"""Shows a program for the engine ``spark``: a function that returns key and value of every result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.engines.spark.sources import read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def alarms(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Publish the readings above the limit. ``job`` is the content of job.json (docs/reference/protocol.md)."""
    from pyspark.sql import functions as f

    celsius = f.split(f.col("value").cast("string"), ";")[2].cast("double")
    return read(spark, job).where(celsius > job["parameters"]["limit_celsius"]).select("key", "value")
