"""Purchases and ads as fixed-width binary records, which numpy and a Java ByteBuffer read without parsing.

Little-endian; a purchase has 28 bytes, an ad 24::

    n_seq int64 | event_ms int64 | user int32 | gem_pack int32 | price int32 (purchases only)

With both streams, even numbers are purchases and odd ones ads.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import numpy.typing as npt

from streamgauge.contracts import Dataset, Records
from streamgauge.model import LoadPlan
from streamgauge.packed import Packed
from streamgauge.workloads.chance import mix
from streamgauge.workloads.event_time import FIRST_MS, planned_ms
from streamgauge.workloads.games import ADS, PURCHASES
from streamgauge.workloads.keys import spread

AD = np.dtype([("n_seq", "<i8"), ("event_ms", "<i8"), ("user", "<i4"), ("gem_pack", "<i4")])
PURCHASE = np.dtype([*AD.descr, ("price", "<i4")])

USERS = 2**30
"""Users without an ad have numbers from here on, the others numbers below."""
PRICE_MOST = 100

_Ints = npt.NDArray[np.int64]
_Fields = npt.NDArray[np.void]
_U64 = npt.NDArray[np.uint64]


class Games(Dataset):
    name: ClassVar[str] = "games"
    streams: ClassVar[tuple[str, ...]] = (PURCHASES, ADS)

    def __init__(
        self, seed: int, load: LoadPlan, *, gem_packs: int, keys: str, selectivity_percent: float | None = None
    ) -> None:
        """``keys``: how often each gem pack occurs; users are spread evenly. Without selectivity there are no ads."""
        self._seed = seed
        self._load = load
        self._gem_packs = spread(keys, gem_packs)
        self._selectivity = None if selectivity_percent is None else selectivity_percent / 100
        self.widths = {PURCHASES: PURCHASE.itemsize}
        if selectivity_percent is not None:
            self.widths[ADS] = AD.itemsize
        self.record_bytes = 8 + sum(self.widths.values()) // len(self.widths)

    def build(self, first: int, count: int) -> dict[str, Records]:
        n_seq = np.arange(first, first + count, dtype=np.int64)
        if self._selectivity is None:
            return {PURCHASES: _packed(self._purchases(n_seq, n_seq))}
        bought, shown = n_seq[n_seq % 2 == 0], n_seq[n_seq % 2 == 1]
        # Some purchases follow the ad before them: its user buys its gem pack.
        follows = (self._uniform(bought, 3) < self._selectivity) & (bought > 0)
        purchases = self._purchases(bought, np.where(follows, bought - 1, bought))
        purchases["user"] += np.where(follows, 0, USERS).astype(np.int32)
        return {PURCHASES: _packed(purchases), ADS: _packed(self._records(AD, shown, shown))}

    def _purchases(self, n_seq: _Ints, like: _Ints) -> _Fields:
        purchases = self._records(PURCHASE, n_seq, like)
        purchases["price"] = 1 + (self._chance(n_seq, 4) % np.uint64(PRICE_MOST)).astype(np.int32)
        return purchases

    def _records(self, kind: np.dtype[np.void], n_seq: _Ints, like: _Ints) -> _Fields:
        """Records with these numbers, each with user and gem pack of the record ``like``."""
        records = np.zeros(len(n_seq), kind)
        records["n_seq"], records["event_ms"] = n_seq, FIRST_MS + planned_ms(self._load, n_seq)
        records["user"] = (self._chance(like, 1) % np.uint64(USERS)).astype(np.int32)
        records["gem_pack"] = self._gem_packs(self._uniform(like, 2))
        return records

    def _chance(self, n_seq: _Ints, purpose: int) -> _U64:
        salt = mix(np.array([(self._seed + purpose) % 2**64], np.uint64))[0]
        return mix(n_seq.astype(np.uint64) ^ salt)

    def _uniform(self, n_seq: _Ints, purpose: int) -> npt.NDArray[np.float64]:
        """In [0, 1)."""
        uniform: npt.NDArray[np.float64] = (self._chance(n_seq, purpose) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        return uniform


def _packed(records: _Fields) -> Records:
    """The key is the number of the record, so that records spread evenly over partitions."""
    values = Packed(records.tobytes(), records.dtype.itemsize)
    return Records(records["n_seq"].tolist(), Packed(records["n_seq"].tobytes(), 8), values)
