"""Seeded record builders: records as a pure function of seed and sequence number."""

from __future__ import annotations

from streamgauge.contracts import Dataset
from streamgauge.datasets.traffic import Traffic
from streamgauge.registry import unknown

NAMES: tuple[str, ...] = (Traffic.name,)


def make(name: str, seed: int, rate_per_s: int) -> Dataset:
    """The data set of that name, scaled to the rate. Raises UsageError for an unknown name."""
    if name == Traffic.name:
        return Traffic.for_rate(seed, rate_per_s)
    raise unknown("data set", name, NAMES)
