"""What can be set of the clicks."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import Field, model_validator

from streamgauge.workloads.parameters import Parameters

CLEARLY_LATE_MS = 2000
"""By how much late records are later than the bound, at least: their window has ended."""


class ClickParameters(Parameters):
    out_of_order_ms: Annotated[int, Field(ge=0, le=60_000)] = Field(
        default=500, description="how far behind the newest event time a record may be; half of it really occurs"
    )
    late_percent: Annotated[int, Field(ge=0, le=50)] = Field(
        default=5, description="share of the records that are too late, from the third second of the load on"
    )
    late_ms: Annotated[int, Field(ge=0, le=3_600_000)] = Field(
        default=10_000, description="how far behind the late records are"
    )
    pages: Annotated[int, Field(ge=1, le=100_000)] = Field(default=50, description="number of keys")

    @model_validator(mode="after")
    def _late_is_late(self) -> Self:
        least_ms = self.out_of_order_ms + CLEARLY_LATE_MS
        if self.late_percent and self.late_ms < least_ms:
            raise ValueError(f"late_ms must be at least {CLEARLY_LATE_MS} above out_of_order_ms ({least_ms})")
        return self
