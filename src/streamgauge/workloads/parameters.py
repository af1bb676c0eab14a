"""Shared by the parameters of several workloads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class Parameters(BaseModel):
    """No unknown keys, no implicit conversion. A workload adds its parameters in a subclass."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class DisorderParameters(Parameters):
    """For workloads whose records carry their event time."""

    out_of_order_ms: Annotated[int, Field(ge=0, le=60_000)] = Field(
        default=50, description="maximum out-of-orderness of records within a partition, ms; the data has none"
    )
    partition_skew_ms: Annotated[int, Field(ge=0, le=60_000)] = Field(
        default=450,
        description="how far one partition may be ahead of another, ms; for engines with one watermark for all "
        "partitions",
    )


def absolute(path: str) -> str:
    """Absolute, because the load workers that read the file run in another directory."""
    return str(Path(path).expanduser().absolute()) if path else ""


class SeedFileParameters(Parameters):
    seed_file: Annotated[str, AfterValidator(absolute)] = Field(
        default="", description="file with your own records, one per line; empty = generated from the seed"
    )
