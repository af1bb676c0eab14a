"""What Spark runs of each study, and what it refuses, in its own words: the error class and what it says first."""

from __future__ import annotations

from streamgauge.engines.stages import NOTHING_TO_CUSTOMISE, STATEFUL
from streamgauge.model import Limit

CHAINED = frozenset({"traffic/sliding"})
"""An aggregation of an aggregation."""

LIMITS = (
    NOTHING_TO_CUSTOMISE,
    Limit(
        STATEFUL,
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
    Limit(
        CHAINED,
        {"implementation": "built-in", "output_mode": "update"},
        "Detected pattern of possible 'correctness' issue due to global watermark.",
    ),
)
