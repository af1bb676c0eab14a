"""``calibration.json``: what each machine can show at all, by the machine's description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamgauge.stored import Number, Stored

FORMAT = 1


class Floor(Stored):
    p50: Number | None
    p99: Number | None = None


class Floors(Stored):
    total: Floor
    latest: Floor


class Calibration(Stored):
    """Of one machine."""

    scenario: str
    workload: str | None = None
    rate_per_s: int | None = None
    measured_s: Number | None = None
    at: str
    floor_ms: Floors
    ceiling_per_s: Number
    ceiling_because: str = ""
    repeated: Sequence[Mapping[str, Any]] = ()
    """INVALID runs that were repeated, with their reasons and figures."""


class Calibrations(Stored):
    format: int
    machines: Mapping[str, Calibration]
