"""Shared by the references of several workloads."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING

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
