"""What is used where the user names nothing, and as the example in hints."""

from __future__ import annotations

SCENARIO = "ospbench/latency"
TRANSPORT = "kafka"
"""Carries the records of every run."""
