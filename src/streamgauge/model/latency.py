"""The name of each kind of latency, by its key in ``summary.json``. Definitions: reference/measurement.md."""

from __future__ import annotations

LATENCY_NAMES = {
    "total": "end-to-end latency",
    "latest": "processing latency",
    "average": "mean-input latency",
    "processing_time": "processing-time latency",
}
