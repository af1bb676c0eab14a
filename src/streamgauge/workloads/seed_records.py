"""Seed records that are kept in memory and replayed in a loop.

Record *i* has the value of seed record *i* mod the number of seed records; its key is *i* in decimal digits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from streamgauge.contracts import Dataset, Records

if TYPE_CHECKING:
    import numpy as np

STREAM = "records"
SEED_RECORDS = 100_000
"""How many are generated where the user has no file."""
KEY_BYTES = 8
"""Approximate length of a sequence number."""

_TAILS = [b"%d" % n for n in range(10_000)]
_PADDED_TAILS = [b"%04d" % n for n in range(10_000)]


class SeedRecords(Dataset):
    """Values that are replayed in a loop."""

    streams: ClassVar[tuple[str, ...]] = (STREAM,)

    def __init__(self, values: list[bytes]) -> None:
        self.values = values
        """Values of the seed records."""
        self.record_bytes = KEY_BYTES + -(-sum(map(len, values)) // len(values))

    def build(self, first: int, count: int) -> dict[str, Records]:
        start = first % len(self.values)
        values = self.values[start : start + count]
        repeats, rest = divmod(count - len(values), len(self.values))
        if repeats or rest:
            values += self.values * repeats + self.values[:rest]
        return {STREAM: Records(range(first, first + count), decimal_keys(first, count), values)}


def decimal_keys(first: int, count: int) -> list[bytes]:
    """The numbers from ``first`` on in decimal. Digits above the last four change only once in 10,000."""
    keys: list[bytes] = []
    while len(keys) < count:
        high, low = divmod(first + len(keys), 10_000)
        tails = slice(low, low + count - len(keys))
        if high:
            head = b"%d" % high
            keys += [head + tail for tail in _PADDED_TAILS[tails]]
        else:
            keys += _TAILS[tails]
    return keys


def random_numbers(seed: int, stream: int) -> np.random.Generator:
    """Random numbers of a data set; ``stream`` differs between data sets."""
    import numpy as np

    return np.random.Generator(np.random.Philox(key=[seed % 2**64, stream]))
