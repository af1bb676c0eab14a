"""Parameters of StreamBench's programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from streamgauge.workloads.parameters import Parameters

DELETE = "\x7f"


def _absolute(path: str) -> str:
    """Absolute, because the load workers that read the file run in another directory."""
    return str(Path(path).expanduser().absolute()) if path else ""


def _searchable(pattern: object) -> str:
    if not isinstance(pattern, str):
        # Text that is valid TOML, such as a number, is parsed as TOML.
        raise ValueError("expected text; put a number in quotes, as in --set 'pattern=\"2006\"'")
    if not pattern or min(pattern) < " " or DELETE in pattern or not _is_unicode(pattern):
        raise ValueError("expected at least one character, and no tabs, line breaks or control characters")
    return pattern


def _is_unicode(text: str) -> bool:
    """A command-line argument that is not UTF-8 has surrogates instead of its bytes."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


class StreamBenchParameters(Parameters):
    seed_file: Annotated[str, AfterValidator(_absolute)] = Field(
        default="", description="file with your own records, one per line; empty = generated from the seed"
    )


class SampleParameters(StreamBenchParameters):
    sample_percent: Annotated[int, Field(ge=1, le=99)] = Field(
        default=10, description="approximate share of records to keep, %"
    )


class GrepParameters(StreamBenchParameters):
    pattern: Annotated[str, BeforeValidator(_searchable)] = Field(
        default="bunlir", description="text that a record must contain to be kept (not a regular expression)"
    )


class TextFieldParameters(StreamBenchParameters):
    field: Annotated[int, Field(ge=0, le=4)] = Field(
        default=1, description="field to use: 0 = user id, 1 = query, 2 = query time, 3 = item rank, 4 = click URL"
    )


class DistinctFieldParameters(TextFieldParameters):
    field: Annotated[int, Field(ge=0, le=4)] = Field(
        default=0, description="field to use: 0 = user id, 1 = query, 2 = query time, 3 = item rank, 4 = click URL"
    )


class NumberFieldParameters(StreamBenchParameters):
    field: Annotated[int, Field(ge=0, le=16)] = Field(
        default=1, description="field to use, one of the 17 of a packet record; 1 = IPv4 packets"
    )
