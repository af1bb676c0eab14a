"""Shows a data set: temperatures of sensors, each a pure function of the seed and its sequence number.

A reading is ``n_seq;sensor;celsius``, such as ``17;s-3;83.4``. Its key is the sensor.
"""

from __future__ import annotations

from typing import ClassVar
from zlib import crc32

from streamgauge.contracts import Dataset, Records

STREAM = "readings"


class Readings(Dataset):
    """Temperatures, uniformly distributed from 0.0 to 99.9 °C."""

    name: ClassVar[str] = "sensor readings"
    streams: ClassVar[tuple[str, ...]] = (STREAM,)
    record_bytes: int = 24

    def __init__(self, seed: int, sensors: int) -> None:
        self._seed, self._sensors = seed, sensors

    def build(self, first: int, count: int) -> dict[str, Records]:
        numbers = range(first, first + count)
        keys = [b"s-%d" % (n % self._sensors) for n in numbers]
        values = [b"%d;%s;%.1f" % (n, key, self._celsius(n)) for n, key in zip(numbers, keys, strict=True)]
        return {STREAM: Records(numbers, keys, values)}

    def _celsius(self, n: int) -> float:
        return crc32(b"%d %d" % (self._seed, n)) % 1000 / 10
