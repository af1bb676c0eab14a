"""Parameters of the purchases and ads."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from streamgauge.workloads.parameters import DisorderParameters, Parameters

WINDOWS_MOST = 60
"""Windows that a record may be in."""


class RecordParameters(Parameters):
    gem_packs: Annotated[int, Field(ge=1, le=1_000_000)] = Field(default=1000, description="number of gem packs")
    keys: Literal["normal", "uniform", "zipf", "one"] = Field(
        default="normal", description="how often each gem pack occurs; one = every record has the same, not for a join"
    )


class WindowParameters(RecordParameters, DisorderParameters):
    window_s: Annotated[int, Field(ge=1, le=3600)] = Field(default=8, description="length of the windows, s")
    slide_s: Annotated[int, Field(ge=1, le=3600)] = Field(
        default=4,
        description="time between the starts of two windows, s; window_s is a multiple of it",
        json_schema_extra={"harder": "less"},
    )

    @model_validator(mode="after")
    def _windows_fit(self) -> Self:
        if self.window_s % self.slide_s:
            raise ValueError(f"window_s {self.window_s} must be a multiple of slide_s {self.slide_s}")
        if self.window_s // self.slide_s > WINDOWS_MOST:
            raise ValueError(
                f"window_s {self.window_s} and slide_s {self.slide_s}: a record would be in more than {WINDOWS_MOST} "
                "windows"
            )
        return self


class AggregationParameters(WindowParameters):
    evaluation: Literal["incremental", "recomputed"] = Field(
        default="incremental",
        description="how an engine computes a window: record by record, or from all its records when it has ended",
    )


class JoinParameters(WindowParameters):
    selectivity_percent: Annotated[float, Field(ge=0, le=100)] = Field(
        default=1.0, description="share of the purchases for which there was an ad shortly before, %"
    )

    @model_validator(mode="after")
    def _has_keys(self) -> Self:
        if self.keys == "one":
            raise ValueError(
                "keys=one is for the aggregation only: a join is by user and gem pack, so records with one gem pack "
                "still have different keys"
            )
        return self
