"""What can be set of the workloads on road traffic."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from streamgauge.workloads.parameters import Parameters

HOUR_MS = 3_600_000


class TrafficParameters(Parameters):
    keys: Literal["dataset", "uniform", "normal", "zipf", "one"] = Field(
        default="dataset", description="how records are spread over the keys"
    )


class StatefulParameters(TrafficParameters):
    out_of_order_ms: Annotated[int, Field(ge=0, le=HOUR_MS)] = Field(
        description="how late a record may be against event time"
    )
    join_bound_ms: Annotated[int, Field(ge=0, le=HOUR_MS)] = Field(
        default=1000, description="flow and speed of one lane belong together when appended at most so far apart"
    )


class SlidingParameters(StatefulParameters):
    lookbacks_s: Annotated[list[Annotated[int, Field(ge=1, le=60)]], Field(min_length=1, max_length=4)] = Field(
        description="the seconds before it that a second is compared with"
    )
