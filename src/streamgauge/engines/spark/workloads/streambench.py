"""StreamBench's programs: each returns key and value of every result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.engines.programs import built_in_only_limit, stateless_limit
from streamgauge.engines.spark.sources import read
from streamgauge.model import Limit

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

RUNNING = frozenset({"streambench/wordcount", "streambench/distinctcount", "streambench/statistics"})
STATELESS = frozenset(f"streambench/{name}" for name in ("identity", "sample", "projection", "grep", "sink"))

REDISTRIBUTED = RUNNING | STATELESS

LIMITS = (
    Limit(
        REDISTRIBUTED,
        {"redistribute": True, "realtime": True},
        "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST: The operator(s) ShuffleExchangeExec … are not in "
        "the operator allowlist for Real-Time Mode.",
    ),
    stateless_limit(STATELESS),
    built_in_only_limit(RUNNING, customised=()),
    Limit(
        RUNNING,
        {"output_mode": "append"},
        "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION: Invalid streaming output mode: append. This output mode is not "
        "supported for streaming aggregations without watermark on streaming DataFrames/DataSets.",
    ),
    Limit(
        RUNNING,
        {"realtime": True},
        "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST: The operator(s) HashAggregateExec, "
        "ShuffleExchangeExec … are not in the operator allowlist for Real-Time Mode.",
    ),
    Limit(
        frozenset({"streambench/sink"}),
        {"realtime": True},
        "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST: The sink(s) NoopTable is not in the sink "
        "allowlist for Real-Time Mode.",
    ),
)

SEARCHLOG = "\t"
PACKETS = " "
"""Field separators of the two data sets."""


def identity(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Publish every record unchanged."""
    return _records(spark, job)


def sample(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Publish a sample of the records, chosen by a hash of the sequence number."""
    from pyspark.sql import functions as f

    n_seq = f.col("key").cast("string").cast("bigint")
    hashed = ((n_seq % 2**31) * 2654435761) % 2**32
    bound = job["parameters"]["sample_percent"] * 2**32 // 100
    return _records(spark, job).where(hashed < bound)


def projection(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Publish one field of every record."""
    return _records(spark, job).select("key", _field(job, SEARCHLOG).alias("value"))


def grep(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Publish the records that contain the pattern."""
    from pyspark.sql import functions as f

    has_pattern = f.col("value").cast("string").contains(job["parameters"]["pattern"])
    return _records(spark, job).where(has_pattern)


def wordcount(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """The number of occurrences of each word so far."""
    from pyspark.sql import functions as f

    words = (
        _records(spark, job).select(f.explode(f.split(_field(job, SEARCHLOG), " ")).alias("word")).where("word != ''")
    )
    counts = words.groupBy("word").agg(f.count("*").alias("n"))
    return counts.select(f.col("word").alias("key"), f.to_json(f.struct("word", "n")).alias("value"))


def distinctcount(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """The number of distinct values of a field so far."""
    from pyspark.sql import functions as f

    values = _records(spark, job).select(_field(job, SEARCHLOG).alias("found")).dropDuplicates(["found"])
    # In update mode, an aggregation without a key would publish its result again for a batch that adds nothing.
    counts = values.groupBy(f.lit("distinct").alias("key")).agg(f.count("*").alias("n"))
    return counts.select("key", f.to_json(f.struct("n")).alias("value"))


def statistics(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Count, minimum, maximum, sum and mean of a numeric field so far."""
    from pyspark.sql import functions as f

    values = _records(spark, job).select(_field(job, PACKETS).cast("bigint").alias("found"))
    aggregates = values.groupBy().agg(
        f.count("found").alias("n"),
        f.min("found").alias("min"),
        f.max("found").alias("max"),
        f.sum("found").alias("sum"),
    )
    fields = f.struct("n", "min", "max", "sum", (f.col("sum") / f.col("n")).alias("mean"))
    # Without a key there is a row for no records, too: that of a first batch that is empty.
    found = aggregates.where(f.col("n") > 0)
    return found.select(f.lit("statistics").alias("key"), f.to_json(fields).alias("value"))


def sink(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Read every record, publish nothing."""
    return _records(spark, job)


def _records(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Key and value of every record; with ``redistribute``, spread over all task slots right after the source."""
    records = read(spark, job).select("key", "value")
    return records.repartition(job["options"]["cores"]) if job["options"]["redistribute"] else records


def _field(job: Mapping[str, Any], separator: str) -> Column:
    from pyspark.sql import functions as f

    return f.get(f.split(f.col("value").cast("string"), separator), f.lit(job["parameters"]["field"]))
