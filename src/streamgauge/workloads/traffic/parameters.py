"""Parameters of the road traffic workloads."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from streamgauge.workloads.parameters import Parameters

HOUR_MS = 3_600_000


class TrafficParameters(Parameters):
    keys: Literal["dataset", "uniform", "normal", "zipf", "one"] = Field(
        default="dataset", description="distribution of records over the keys"
    )


class StatefulParameters(TrafficParameters):
    out_of_order_ms: Annotated[int, Field(ge=0, le=HOUR_MS)] = Field(
        description="maximum out-of-orderness of records, ms"
    )
    join_bound_ms: Annotated[int, Field(ge=0, le=HOUR_MS)] = Field(
        default=1000, description="maximum time between the flow and speed message of a joined pair, ms"
    )


class SlidingParameters(StatefulParameters):
    lookbacks_s: Annotated[list[Annotated[int, Field(ge=1, le=60)]], Field(min_length=1, max_length=4)] = Field(
        description="distances to the earlier seconds that each second is compared with, s"
    )
