"""Threat detection: flow records of a network, and the neural network that classifies them."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

FEATURES = (
    "duration_ms",
    "protocol",
    "port",
    "packets_out",
    "packets_in",
    "bytes_out",
    "bytes_in",
    "syn",
    "rst",
    "fin",
    "flows_2s",
    "ports_2s",
)
LABEL = "label"
CLASSES = ("normal", "dos", "probe")
SEPARATOR = ","
DIGITS_MAX = 15
"""Of a feature, so that no intermediate result of the network exceeds 53 bits."""


@cache
def network() -> dict[str, Any]:
    """The trained network (docs/reference/workloads-threat.md). tools/train_threat.py writes its file."""
    text = (resources.files(__name__) / "network.json").read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content
