"""Parameters of StreamBench's programs."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field

from streamgauge.workloads.parameters import SeedFileParameters

DELETE = "\x7f"


def _searchable(pattern: object) -> str:
    if not isinstance(pattern, str):
        raise ValueError("expected text")
    if not pattern or min(pattern) < " " or DELETE in pattern or not _is_unicode(pattern):
        raise ValueError("expected at least one character, and no tabs, line breaks or control characters")
    return pattern


def _is_unicode(text: str) -> bool:
    """A command-line argument that is not UTF-8 has surrogates instead of its bytes."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


class SampleParameters(SeedFileParameters):
    sample_percent: Annotated[int, Field(ge=1, le=99)] = Field(
        default=10, description="approximate share of records to keep, %"
    )


class GrepParameters(SeedFileParameters):
    pattern: Annotated[str, BeforeValidator(_searchable)] = Field(
        default="bunlir", description="text that a record must contain to be kept (not a regular expression)"
    )


class TextFieldParameters(SeedFileParameters):
    field: Annotated[int, Field(ge=0, le=4)] = Field(
        default=1, description="field to use: 0 = user id, 1 = query, 2 = query time, 3 = item rank, 4 = click URL"
    )


class DistinctFieldParameters(TextFieldParameters):
    field: Annotated[int, Field(ge=0, le=4)] = Field(
        default=0, description="field to use: 0 = user id, 1 = query, 2 = query time, 3 = item rank, 4 = click URL"
    )


class NumberFieldParameters(SeedFileParameters):
    field: Annotated[int, Field(ge=0, le=16)] = Field(
        default=1, description="field to use, one of the 17 of a packet record; 1 = IPv4 packets"
    )
