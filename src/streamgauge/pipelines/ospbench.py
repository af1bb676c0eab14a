"""The stages of ospbench: what each computes, and its right answer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, ClassVar

from streamgauge.contracts import Pipeline
from streamgauge.pipelines.messages import n_seq_in

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

STREAMS = ("flow", "speed")

MESSAGE = (
    ("n_seq", "bigint"),
    ("id", "string"),
    ("lane", "string"),
    ("lanes", "int"),
    ("timestamp", "string"),
    ("flow", "int"),
    ("speed", "int"),
    ("period", "int"),
    ("accuracy", "int"),
    ("lat_e6", "int"),
    ("lon_e6", "int"),
)
"""Name and Spark type of every field, in their order; a message has one of flow and speed."""


def ddl(fields: tuple[tuple[str, str], ...]) -> str:
    """The fields as a schema that ``from_json`` takes."""
    return ", ".join(f"`{name}` {kind}" for name, kind in fields)


class Ingest(Pipeline):
    """Publish every message unchanged."""

    name: ClassVar[str] = "ospbench/ingest"
    title: ClassVar[str] = "ingest: publish every message unchanged"
    inputs: ClassVar[tuple[str, ...]] = STREAMS
    key: ClassVar[tuple[str, ...]] = ("n_seq",)
    values: ClassVar[tuple[str, ...]] = ("message",)

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        return _all_inputs(inputs).select("n_seq", f.col("value").alias("message"), *_one_input())

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        return output.withColumns({"n_seq": n_seq_in(f.col("value")), "message": f.col("value")})


class Parse(Pipeline):
    """Parse every message and publish its fields; a field that a message lacks is missing or null."""

    name: ClassVar[str] = "ospbench/parse"
    title: ClassVar[str] = "parse: parse every message, publish its fields"
    inputs: ClassVar[tuple[str, ...]] = STREAMS
    key: ClassVar[tuple[str, ...]] = ("n_seq",)
    values: ClassVar[tuple[str, ...]] = tuple(name for name, _ in MESSAGE if name != "n_seq")

    def reference(self, inputs: Mapping[str, DataFrame], parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        parsed = f.from_json("value", ddl(MESSAGE)).alias("parsed")
        fields = [f.col(f"parsed.{name}") for name in self.values]
        return _all_inputs(inputs).select("*", parsed).select("n_seq", *fields, *_one_input())

    def decode(self, output: DataFrame, parameters: Mapping[str, Any]) -> DataFrame:
        from pyspark.sql import functions as f

        parsed = f.from_json("value", ddl(MESSAGE)).alias("parsed")
        return output.select("*", parsed).select(*output.columns, "parsed.*")


def _all_inputs(inputs: Mapping[str, DataFrame]) -> DataFrame:
    return reduce(lambda one, other: one.unionByName(other), (inputs[name] for name in STREAMS))


def _one_input() -> list[Column]:
    """The columns that say which inputs are behind a row, where each row has one."""
    from pyspark.sql import functions as f

    return [
        f.lit(1).alias("inputs"),
        f.col("appended_ms").alias("appended_max_ms"),
        f.col("appended_ms").cast("double").alias("appended_mean_ms"),
        f.col("intended_ns").alias("intended_max_ns"),
    ]
