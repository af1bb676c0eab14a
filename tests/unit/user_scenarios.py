"""Scenarios for what a user brings, and what they cannot do without."""

from __future__ import annotations

from pathlib import Path

from streamgauge import registry
from streamgauge.studies import scenario as scenarios

PROGRAMS = {"command": ("cat",), "pyspark": (__file__,)}
"""A program for each engine that runs one of the user's."""


def published() -> list[str]:
    """The scenarios whose workloads engines have programs for."""
    built_in = registry.engine_workloads()
    return [name for name in scenarios.names() if built_in >= {*scenarios.describe(name).workloads.values()}]


def needed(workload: str) -> dict[str, str]:
    """Settings that the workload has no default for."""
    settings = {"yours/committed": ["data"], "yours/output": ["data", "correlate"]}.get(workload, [])
    known = {"data": f"orders={Path(__file__)}:order", "correlate": "order_id"}
    return {key: known[key] for key in settings}


def order(n: int) -> tuple[str, str]:
    return f"customer-{n % 10}", f'{{"order_id": {n}}}'
