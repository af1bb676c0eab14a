"""Seeded record builders: records as a pure function of seed and sequence number."""

from __future__ import annotations

from streamgauge.contracts import Dataset
from streamgauge.datasets.traffic import Traffic
from streamgauge.registry import unknown

NAMES: tuple[str, ...] = (Traffic.name,)


def make(name: str, seed: int, rate_per_s: int, keys: str = "dataset") -> Dataset:
    """The data set of that name, scaled to the rate, its keys spread that way. Raises UsageError for unknown names."""
    if name == Traffic.name:
        return Traffic.for_rate(seed, rate_per_s, keys)
    raise unknown("data set", name, NAMES)
