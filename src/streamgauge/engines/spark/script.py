"""Runs a user's script as the engine's query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.engines.spark.sources import read
from streamgauge.errors import UsageError
from streamgauge.workloads.own.script import one_line, running

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

NOTHING_MEASURED = "fix the file and run again; nothing was measured"

_open_scripts = ExitStack()
"""Never closed: the query needs the script's definitions as long as this process lives."""


def build(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Key and value of the script's results. Raises UsageError for any mistake in the script."""
    script = job["script"]
    try:
        code = _open_scripts.enter_context(running(Path(script["copy"]), Path(script["path"]), spark))
        return messages(code.call("build", spark, source(spark, job)), code.script.key, script["path"])
    except UsageError as problem:
        raise UsageError(
            problem.what, where=problem.where, got=problem.got, expected=problem.expected, hint=NOTHING_MEASURED
        ) from problem


def start(sink: DataStreamWriter, job: Mapping[str, Any]) -> StreamingQuery:
    """Start the query. Raises UsageError with Spark's message if it rejects the query."""
    from pyspark.errors import PySparkException

    try:
        return sink.start()
    except PySparkException as problem:
        raise refused(problem, job) from problem


def refused(problem: Exception, job: Mapping[str, Any]) -> UsageError:
    return UsageError(
        "Spark rejects the query that build returned",
        where=job["script"]["path"],
        got=one_line(problem),
        hint=NOTHING_MEASURED,
    )


def source(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """The records of all inputs: stream (its name), key and value as strings, timestamp (append time)."""
    from pyspark.sql import functions as f

    stream = f.lit(None).cast("string")
    for name, topic in job["inputs"].items():
        stream = f.when(f.col("topic") == topic, name).otherwise(stream)
    return read(spark, job).select(
        stream.alias("stream"), f.col("key").cast("string"), f.col("value").cast("string"), "timestamp"
    )


def messages(result: Any, key: Sequence[str], path: str) -> DataFrame:
    """The result as Kafka messages. Raises UsageError if it is not a streaming DataFrame or cannot be written.

    A result with only the columns key and value is written unchanged. Otherwise all columns become one JSON object,
    and the columns in ``key`` the Kafka key.
    """
    from pyspark.sql import DataFrame
    from pyspark.sql import functions as f

    expected = "a streaming DataFrame made from source"
    if not isinstance(result, DataFrame):
        raise UsageError("build must return a DataFrame", where=path, got=type(result).__name__, expected=expected)
    if not result.isStreaming:
        raise UsageError(
            "build must return a streaming DataFrame", got="a batch DataFrame", where=path, expected=expected
        )
    columns = result.columns
    if twice := sorted({name for name in columns if columns.count(name) > 1}):
        raise UsageError(f"build returned several columns named {', '.join(twice)}", where=path, got=", ".join(columns))
    if not columns:
        raise UsageError("build returned no columns", where=path, expected="value, or any columns")
    if {"value"} <= set(columns) <= {"key", "value"}:
        kinds = dict(result.dtypes)
        if unfit := [f"{name} is {kinds[name]}" for name in columns if kinds[name] not in ("string", "binary")]:
            raise UsageError(
                "build returned columns that cannot be written to Kafka",
                where=path,
                got=", ".join(unfit),
                expected="string or binary; columns with other names are written as JSON",
            )
        return result
    if lacking := [name for name in key if name not in columns]:
        raise UsageError(
            f"key names a column that build did not return: {', '.join(lacking)}",
            where=path,
            got=f"columns {', '.join(columns)}",
        )
    message = f.to_json(f.struct(*(f.col(f"`{name}`") for name in columns)))
    return result.select(_kafka_key(key).alias("key"), message.alias("value"))


def _kafka_key(key: Sequence[str]) -> Column:
    """Rows with the same key go to the same partition, so they stay in order."""
    from pyspark.sql import functions as f

    if not key:
        return f.lit(None).cast("string")
    return f.concat_ws("|", *(f.col(f"`{name}`").cast("string") for name in key))
