"""Purchases and ads in sliding windows of event time, with Spark's operators.

The records are binary. Spark has no function that reads little-endian numbers, so they become columns in Python, as
Arrow batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.engines.programs import built_in_only_limit
from streamgauge.engines.spark.sources import read, timed
from streamgauge.model import Limit

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

_WINDOWED = frozenset({"games/aggregation", "games/join"})

LIMITS = (
    built_in_only_limit(_WINDOWED, customised=()),
    Limit(
        _WINDOWED,
        {"realtime": True},
        "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST: The operator(s) MapInArrowExec … are not in the "
        "operator allowlist for Real-Time Mode.",
    ),
)

_FIELDS = {"n_seq": "i8", "event_ms": "i8", "user": "i4", "gem_pack": "i4", "price": "i4"}
"""In the order in which a record has them; an ad has no price."""


def identity(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Every purchase, unchanged."""
    from pyspark.sql import functions as f

    if job["transport"] == "queue":
        from streamgauge.engines.spark import queues

        whole = f"V{sum(int(kind[1:]) for kind in _FIELDS.values())}"
        records = queues.read(spark, job, "purchases", [("value", whole)], "value binary")
    else:
        records = read(spark, job, "purchases")
    return records.select(f.lit("").alias("key"), "value")


def aggregation(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """The revenue of each gem pack and window."""
    from pyspark.sql import functions as f

    purchases = _records(spark, job, "purchases", "event_ms", "gem_pack", "price")
    windows = timed(purchases, job).groupBy(_window(job), "gem_pack")
    if job["parameters"]["evaluation"] == "recomputed":
        total = f.aggregate("prices", f.lit(0).cast("bigint"), lambda sum_, price: sum_ + price)
        sums = windows.agg(f.collect_list("price").alias("prices")).withColumn("revenue", total)
    else:
        sums = windows.agg(f.sum("price").alias("revenue"))
    return sums.select(
        f.col("gem_pack").cast("string").alias("key"),
        f.to_json(f.struct("gem_pack", _end_ms(), "revenue")).alias("value"),
    )


def join(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Purchases and ads of the same user and gem pack in a window.

    Spark's join of two streams would publish a pair before its window has ended, so both sides are collected by key.
    """
    from pyspark.sql import functions as f

    same = ("event_ms", "user", "gem_pack")
    purchases = _records(spark, job, "purchases", "n_seq", *same, "price")
    ads = _records(spark, job, "ads", "n_seq", *same)
    purchase = f.struct(f.col("n_seq"), f.col("price"))
    both = purchases.select(*same, purchase.alias("purchase"), f.lit(None).cast("bigint").alias("ad")).unionByName(
        ads.select(*same, f.col("n_seq").alias("ad")), allowMissingColumns=True
    )
    groups = (
        timed(both, job)
        .groupBy(_window(job), "user", "gem_pack")
        .agg(f.collect_list("purchase").alias("purchases"), f.collect_list("ad").alias("ads"))
    )
    pairs = groups.select("*", f.explode("purchases").alias("purchase")).select("*", f.explode("ads").alias("ad"))
    result = f.struct(
        _end_ms(), f.col("purchase.n_seq").alias("purchase"), "ad", "user", "gem_pack", f.col("purchase.price")
    )
    return pairs.select(f.col("gem_pack").cast("string").alias("key"), f.to_json(result).alias("value"))


def _window(job: Mapping[str, Any]) -> Column:
    from pyspark.sql import functions as f

    length, slide = (f"{job['parameters'][name]} seconds" for name in ("window_s", "slide_s"))
    return f.window("time", length, slide).alias("window")


def _end_ms() -> Column:
    from pyspark.sql import functions as f

    return f.unix_millis("window.end").alias("window_end_ms")


def _records(spark: SparkSession, job: Mapping[str, Any], stream: str, *names: str) -> DataFrame:
    """These fields of the records of a stream."""
    layout = [(name, f"<{kind}") for name, kind in _FIELDS.items() if stream == "purchases" or name != "price"]
    kinds = {"i8": "bigint", "i4": "int"}
    schema = ", ".join(f"{name} {kinds[_FIELDS[name]]}" for name in names)
    if job["transport"] == "queue":
        from streamgauge.engines.spark import queues

        return queues.read(spark, job, stream, layout, schema)
    return read(spark, job, stream).select("value").mapInArrow(_columns(layout, names), schema)


def _columns(
    layout: list[tuple[str, str]], names: tuple[str, ...]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read_columns(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        record = np.dtype(layout)
        for batch in batches:
            if batch.num_rows:
                values = batch.column(0).cast(pa.binary(record.itemsize))
                records = np.frombuffer(values.buffers()[1], record, batch.num_rows, values.offset * record.itemsize)
                columns = [pa.array(np.ascontiguousarray(records[name])) for name in names]
                yield pa.RecordBatch.from_arrays(columns, list(names))

    return read_columns
