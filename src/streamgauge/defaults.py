"""Default choices, also used as examples in hints."""

from __future__ import annotations

SCENARIO = "ospbench/latency"
TRANSPORT = "kafka"
"""The transport of every run that does not choose another."""
USE_TRANSPORT = f"--set transport={TRANSPORT}"
"""A hint for what only this transport can do."""
