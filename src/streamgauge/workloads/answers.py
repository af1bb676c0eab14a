"""Shared by the references of several workloads."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

from streamgauge.codec import MessageKey

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


def all_inputs(inputs: Mapping[str, DataFrame]) -> DataFrame:
    """The records of all input streams."""
    return reduce(lambda one, other: one.unionByName(other), inputs.values())


def one_input() -> list[Column]:
    """The columns that describe the input of a row of an answer, if each row has exactly one."""
    from pyspark.sql import functions as f

    return [
        f.lit(1).alias("inputs"),
        f.col("appended_ms").alias("appended_min_ms"),
        f.col("appended_ms").alias("appended_max_ms"),
        f.col("appended_ms").cast("double").alias("appended_mean_ms"),
        f.col("intended_ns").alias("intended_max_ns"),
        f.col("partition_bit").alias("partitions"),
    ]


def unchanged_number() -> Column:
    """The sequence number of a result whose key is that of its record; null for any other key."""
    from pyspark.sql import functions as f

    n_seq = MessageKey().column()
    # 7.0 and 07 are equal as numbers, but not as keys.
    return f.when(n_seq.cast("string") == f.col("key"), n_seq)


def with_fields(output: DataFrame, fields: str) -> DataFrame:
    """The output with the fields of its values, which are JSON objects; null where a value is none.

    ``fields`` are names and types, as Spark writes a schema.
    """
    from pyspark.sql import functions as f

    result = f.from_json(f.col("value").cast("string"), fields).alias("result")
    return output.select("*", result).select(*output.columns, "result.*")
