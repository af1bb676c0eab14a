"""What all messages have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column


def n_seq_in(value: Column) -> Column:
    """The sequence number in a JSON message; null when it has none.

    A regular expression takes a quarter of the time of parsing the whole message. It cannot be fooled by a
    string in it, where the quotes would be escaped.
    """
    from pyspark.sql import functions as f

    return f.regexp_extract(value, r'"n_seq"\s*:\s*(\d+)', 1).try_cast("bigint")
