"""Reads topics as fast as the broker serves them.

What is timed is how fast records reach the client's own queue, by its statistics: handing each one to Python would be
several times slower than most engines read.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confluent_kafka import Consumer

RECORDS_MOST = 1_000_000
"""They stay in memory, a few hundred bytes each."""
_FIRST_S = 20.0
_LOOK_S = 0.02
_SETTINGS = {
    "statistics.interval.ms": round(_LOOK_S * 1000),
    # Nothing is taken from the queue, so that it must hold everything.
    "queued.min.messages": 10_000_000,
    "queued.max.messages.kbytes": 1024 * 1024,
}
_US_PER_S = 1_000_000


def served_per_s(
    new_reader: Callable[..., Consumer],
    ends: Mapping[tuple[str, int], int],
    most_s: float,
    first_s: float = _FIRST_S,
) -> float | None:
    """Records per second, of partitions (topic, number) with these ends, read for at most so long after the first ones.

    ``new_reader`` returns a client with the settings that it gets as keywords. None if nothing came within ``first_s``,
    and if all came at once.
    """
    from confluent_kafka import OFFSET_BEGINNING, TopicPartition

    wanted = min(sum(ends.values()), RECORDS_MOST)
    if not wanted:
        return None
    looks: list[tuple[int, int]] = []  # microseconds of the client's clock, records until then

    def note(text: str) -> None:
        statistics = json.loads(text)
        if statistics["rxmsgs"]:
            looks.append((statistics["ts"], statistics["rxmsgs"]))

    reader = new_reader(**_SETTINGS, stats_cb=note)
    try:
        reader.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for topic, partition in ends])
        deadline = time.monotonic() + first_s
        while time.monotonic() < deadline and not (looks and looks[-1][1] >= wanted):
            began = bool(looks)
            reader.poll(0)  # reports the statistics
            if looks and not began:
                deadline = time.monotonic() + most_s
            time.sleep(_LOOK_S / 2)
    finally:
        reader.close()
    # The first records come with the connection. What came after them is timed until the last ones came.
    times = {read: at_us for at_us, read in reversed(looks)}
    if len(times) < 2:
        return None
    first, last = min(times), max(times)
    return (last - first) * _US_PER_S / (times[last] - times[first])
