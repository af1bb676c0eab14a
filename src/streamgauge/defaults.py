"""Default choices, also used as examples in hints."""

from __future__ import annotations

SCENARIO = "ospbench/latency"
TRANSPORT = "kafka"
"""The transport of every run that does not choose another."""
