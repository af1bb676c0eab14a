"""Reads topics as fast as the broker serves them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import Consumer

_FIRST_S, _NEXT_S = 20.0, 2.0
_AT_ONCE = 10_000


def served_per_s(reader: Consumer, records: int, most_s: float) -> float | None:
    """Records per second of a reader with assigned partitions that hold so many records, read for at most so long.

    None if nothing was read.
    """
    # The first record comes with the connection; it is not timed.
    left = records - len(reader.consume(1, timeout=_FIRST_S))
    began, read = time.monotonic(), 0
    while read < left and time.monotonic() - began < most_s:
        # Not more than are left: it would wait for them.
        read += len(reader.consume(min(left - read, _AT_ONCE), timeout=_NEXT_S))
    return read / (time.monotonic() - began) if read else None
