"""The pipelines as Structured Streaming queries. Each turns the Kafka source's rows into key and value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def ingest(source: DataFrame, job: Mapping[str, Any]) -> DataFrame:
    """Publish every message unchanged."""
    return source.select("key", "value")


def parse(source: DataFrame, job: Mapping[str, Any]) -> DataFrame:
    """Parse every message and publish its fields."""
    from pyspark.sql import functions as f

    fields = f.from_json(f.col("value").cast("string"), MESSAGE)
    # Null fields are left out: a flow message has no speed, a speed message no flow.
    return source.select("key", f.to_json(fields).alias("value"))


# Both kinds of message, in the order of their fields; a message carries one of flow and speed. Written down here and in
# the reference: a query and the answer that it is checked against share nothing.
MESSAGE = (
    "n_seq bigint, id string, lane string, lanes int, timestamp string, flow int, speed int, "
    "period int, accuracy int, lat_e6 int, lon_e6 int"
)

QUERIES: Mapping[str, Callable[[DataFrame, Mapping[str, Any]], DataFrame]] = {
    "ospbench/ingest": ingest,
    "ospbench/parse": parse,
}
