"""Parameters of the readings, and of what is computed from them."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from streamgauge.workloads.parameters import DisorderParameters, Parameters

SENSORS_MOST = 1_000_000
HEIGHT_MOST = 5
WINDOWS_MOST = 6000
"""Windows that a record may be in."""


class SensorParameters(Parameters):
    keys: Annotated[int, Field(ge=0, le=SENSORS_MOST)] = Field(
        default=0,
        description="number of sensors, which share the rate evenly; 0 = as many as the rate, so that each sends one "
        "record per second",
    )


class TumblingParameters(SensorParameters, DisorderParameters):
    window_s: Annotated[int, Field(ge=1, le=3600)] = Field(default=60, description="length of the windows, s")


class HoppingParameters(TumblingParameters):
    keys: Annotated[int, Field(ge=0, le=SENSORS_MOST)] = Field(
        default=10_000, description="number of sensors, which share the rate evenly; 0 = as many as the rate"
    )
    period_ms: Annotated[int, Field(ge=10, le=3_600_000)] = Field(
        default=1000,
        description="time between the starts of two windows, ms; at most window_s",
        json_schema_extra={"harder": "less"},
    )

    @model_validator(mode="after")
    def _windows_fit(self) -> Self:
        window_ms = 1000 * self.window_s
        if window_ms < self.period_ms:
            raise ValueError(f"period_ms {self.period_ms} must not exceed window_s {self.window_s}")
        if window_ms > WINDOWS_MOST * self.period_ms:
            raise ValueError(
                f"window_s {self.window_s} and period_ms {self.period_ms}: a record would be in more than "
                f"{WINDOWS_MOST} windows"
            )
        return self


class HierarchyParameters(DisorderParameters):
    children: Annotated[int, Field(ge=2, le=100)] = Field(
        default=10, description="members of each group: sensors of the lowest groups, groups of the others"
    )
    height: Annotated[int, Field(ge=1, le=HEIGHT_MOST)] = Field(
        default=3, description="levels of groups; there are children to the power of height sensors"
    )

    @property
    def sensors(self) -> int:
        return int(self.children**self.height)

    @model_validator(mode="after")
    def _tree_fits(self) -> Self:
        if self.sensors > SENSORS_MOST:
            raise ValueError(
                f"children {self.children} and height {self.height}: {self.sensors:,} sensors are more than "
                f"{SENSORS_MOST:,}"
            )
        return self
