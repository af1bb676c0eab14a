"""What the parameter models of all workloads have in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Parameters(BaseModel):
    """Nothing unknown, nothing converted silently. A workload adds its own parameters in a subclass."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)
