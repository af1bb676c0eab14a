"""The pipelines as Structured Streaming queries. Each gives key and value of every result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from streamgauge.engines.spark import built_in
from streamgauge.engines.spark.sources import read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def ingest(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Publish every message unchanged."""
    return read(spark, job).select("key", "value")


def parse(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Parse every message and publish its fields."""
    from pyspark.sql import functions as f

    fields = f.from_json(f.col("value").cast("string"), MESSAGE)
    # Null fields are left out: a flow message has no speed, a speed message no flow.
    return read(spark, job).select("key", f.to_json(fields).alias("value"))


# Both kinds of message, in the order of their fields; a message carries one of flow and speed. Written down here and in
# the reference: a query and the answer that it is checked against share nothing.
MESSAGE = (
    "n_seq bigint, id string, lane string, lanes int, timestamp string, flow int, speed int, "
    "period int, accuracy int, lat_e6 int, lon_e6 int"
)

Query = Callable[["SparkSession", Mapping[str, Any]], "DataFrame"]

LOOKBACKS_S: Mapping[str, tuple[int, ...]] = {"ospbench": (1, 2), "stage-latency": (4, 9)}
"""The seconds before it that a second is compared with, in the last stage of each study."""


def query_of(pipeline: str, implementation: str) -> Query:
    """The query of a pipeline. Raises KeyError for one that the engine's traits do not list."""
    study, _, stage = pipeline.partition("/")
    lookbacks_s = LOOKBACKS_S[study]
    if implementation == "customised":
        from streamgauge.engines.spark import customised

        looks_back = {"join": None, "tumbling": (), "sliding": lookbacks_s}[stage]
        return partial(customised.query, lookbacks_s=looks_back)
    built_in_queries: Mapping[str, Query] = {
        "ingest": ingest,
        "parse": parse,
        "join": built_in.join,
        "tumbling": built_in.tumbling,
        "sliding": partial(built_in.sliding, lookbacks_s=lookbacks_s),
    }
    return built_in_queries[stage]
