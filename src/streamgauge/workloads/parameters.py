"""The base class of the parameters of all workloads."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Parameters(BaseModel):
    """No unknown keys, no implicit conversion. A workload adds its parameters in a subclass."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)
