"""What can be set of StreamBench's programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from streamgauge.workloads.parameters import Parameters

DELETE = "\x7f"


def _absolute(path: str) -> str:
    """The load workers, which read the file, run in another directory."""
    return str(Path(path).expanduser().absolute()) if path else ""


def _searchable(pattern: object) -> str:
    if not isinstance(pattern, str):
        # Text that is also TOML, such as a number, is read as what TOML makes of it.
        raise ValueError("expected a text; put a number in quotes, as in --set 'pattern=\"2006\"'")
    if not pattern or min(pattern) < " " or DELETE in pattern or not _is_unicode(pattern):
        raise ValueError("expected a text of at least one character, without tabs, line ends or control characters")
    return pattern


def _is_unicode(text: str) -> bool:
    """An argument of the command line that is not UTF-8 has surrogates in the place of its bytes."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


class StreamBenchParameters(Parameters):
    seed_file: Annotated[str, AfterValidator(_absolute)] = Field(
        default="", description="your own records, one per line; empty: generated from the seed"
    )


class SampleParameters(StreamBenchParameters):
    sample_percent: Annotated[int, Field(ge=1, le=99)] = Field(
        default=10, description="how many of 100 records are kept, about"
    )


class GrepParameters(StreamBenchParameters):
    pattern: Annotated[str, BeforeValidator(_searchable)] = Field(
        default="bunlir", description="the text that a record must contain to be kept; not a regular expression"
    )


class TextFieldParameters(StreamBenchParameters):
    field: Annotated[int, Field(ge=0, le=4)] = Field(
        default=1, description="0: user id, 1: query, 2: query time, 3: item rank, 4: click URL"
    )


class DistinctFieldParameters(TextFieldParameters):
    field: Annotated[int, Field(ge=0, le=4)] = Field(
        default=0, description="0: user id, 1: query, 2: query time, 3: item rank, 4: click URL"
    )


class NumberFieldParameters(StreamBenchParameters):
    field: Annotated[int, Field(ge=0, le=16)] = Field(
        default=1, description="which of the 17 fields of a packet record; 1: IPv4 packets"
    )
