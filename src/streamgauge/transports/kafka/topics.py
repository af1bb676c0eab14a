"""The settings of a run's topics, and offsets of them as Spark takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from streamgauge.model import Stream

TOPIC_SETTINGS: Mapping[str, str] = {
    "message.timestamp.type": "LogAppendTime",
    # Independent of the cluster's defaults: one replica suffices, and nothing is deleted.
    "min.insync.replicas": "1",
    "cleanup.policy": "delete",
    "retention.ms": "-1",
    "retention.bytes": "-1",
}

SEGMENT_BYTES = 16 * 1024 * 1024
"""Where records are removed during a run: the broker frees whole files alone, and never the one that it writes."""
TRIMMED_SETTINGS: Mapping[str, str] = {**TOPIC_SETTINGS, "segment.bytes": str(SEGMENT_BYTES)}


def offsets_json(stream: Stream, offsets: Mapping[int, int]) -> str:
    return json.dumps({stream.address: {str(partition): offset for partition, offset in offsets.items()}})
