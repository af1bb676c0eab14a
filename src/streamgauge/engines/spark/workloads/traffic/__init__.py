"""Road traffic: each stage returns key and value of every result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.engines.programs import stateless_limit
from streamgauge.engines.spark.sources import read
from streamgauge.engines.spark.workloads.traffic import built_in
from streamgauge.model import Limit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Both kinds of message, in the order of their fields; a message has either flow or speed. Defined here and in the
# reference: a query and the answer it is checked against share no code.
MESSAGE = (
    "n_seq bigint, id string, lane string, lanes int, timestamp string, flow int, speed int, "
    "period int, accuracy int, lat_e6 int, lon_e6 int"
)

STATEFUL = frozenset({"traffic/join", "traffic/tumbling", "traffic/sliding"})

LIMITS = (
    stateless_limit({"traffic/ingest", "traffic/parse"}),
    Limit(
        frozenset({"traffic/join", "traffic/tumbling"}),
        {"implementation": "built-in", "realtime": True},
        "STREAMING_REAL_TIME_MODE.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST: The operator(s) ShuffleExchangeExec, "
        "StreamingSymmetricHashJoinExec … are not in the operator allowlist for Real-Time Mode.",
    ),
    Limit(
        STATEFUL,
        {"implementation": "customised", "realtime": True},
        "STDS_FAILED_TO_READ_OPERATOR_METADATA: Failed to read the operator metadata for checkpointLocation … "
        "and batchId=0.",
    ),
    Limit(
        STATEFUL,
        {"implementation": "customised", "state_store": "memory"},
        "UNSUPPORTED_FEATURE.STORE_BACKEND_NOT_SUPPORTED_FOR_TWS: Store backend HDFSBackedStateStoreProvider is not "
        "supported by TransformWithState operator.",
    ),
    # An aggregation of an aggregation; real-time mode publishes updates.
    *(
        Limit(
            frozenset({"traffic/sliding"}),
            {"implementation": "built-in", **updates},
            "Detected pattern of possible 'correctness' issue due to global watermark.",
        )
        for updates in ({"output_mode": "update"}, {"realtime": True})
    ),
)


def ingest(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Publish every message unchanged."""
    return read(spark, job).select("key", "value")


def parse(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Parse every message and publish its fields."""
    from pyspark.sql import functions as f

    fields = f.from_json(f.col("value").cast("string"), MESSAGE)
    # Null fields are left out: a flow message has no speed, a speed message no flow.
    return read(spark, job).select("key", f.to_json(fields).alias("value"))


def join(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Flow and speed of the same timestamp, point and lane, appended at most ``join_bound_ms`` apart."""
    return _customised(spark, job, None) if _is_customised(job) else built_in.join(spark, job)


def tumbling(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """The number of cars and the mean speed of each point and second."""
    return _customised(spark, job, ()) if _is_customised(job) else built_in.tumbling(spark, job)


def sliding(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """The relative change of flow and speed of each point and second against earlier seconds."""
    lookbacks_s = tuple(job["parameters"]["lookbacks_s"])
    if _is_customised(job):
        return _customised(spark, job, lookbacks_s)
    return built_in.sliding(spark, job, lookbacks_s)


def _is_customised(job: Mapping[str, Any]) -> bool:
    return bool(job["options"]["implementation"] == "customised")


def _customised(spark: SparkSession, job: Mapping[str, Any], lookbacks_s: tuple[int, ...] | None) -> DataFrame:
    # The module imports pyspark, which must not happen when programs are listed.
    from streamgauge.engines.spark.workloads.traffic import customised

    return customised.query(spark, job, lookbacks_s)
