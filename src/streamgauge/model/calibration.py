"""``calibration.json``: latency floor and throughput ceiling of each machine, by its description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamgauge.stored import Number, Stored

FORMAT = 1


class Floor(Stored):
    p50: Number | None
    p99: Number | None = None


class Floors(Stored):
    total: Floor
    latest: Floor


class RepeatedRun(Stored):
    """A run that was repeated because it was INVALID."""

    rate_per_s: int
    reasons: Sequence[str]
    total_p50: Number | None = None
    total_p99: Number | None = None
    rate_output: Number | None = None


class Calibration(Stored):
    """The calibration of one machine."""

    scenario: str
    workload: str | None = None
    rate_per_s: int | None = None
    measured_s: Number | None = None
    at: str
    floor_ms: Floors
    ceiling_per_s: Number
    ceiling_because: str = ""
    repeated: Sequence[RepeatedRun] = ()


class Calibrations(Stored):
    format: int
    machines: Mapping[str, Calibration]
