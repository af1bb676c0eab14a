"""Clicks: ``n_seq``, event time in milliseconds and page, separated by tabs; the page is the key."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from streamgauge.contracts import Dataset, Records
from streamgauge.model import LoadPlan
from streamgauge.workloads.chance import mix
from streamgauge.workloads.clicks import STREAM
from streamgauge.workloads.event_time import FIRST_MS, planned_ms

LATE_FROM_MS = 2000
"""Before this, no window has ended."""


class Clicks(Dataset):
    name: ClassVar[str] = "clicks"
    streams: ClassVar[tuple[str, ...]] = (STREAM,)
    record_bytes = 35

    def __init__(
        self, seed: int, load: LoadPlan, *, out_of_order_ms: int, late_percent: int, late_ms: int, pages: int
    ) -> None:
        self._seed = np.uint64(seed % 2**64)
        self._load = load
        self._jitter_ms = out_of_order_ms // 2
        self._late_percent, self._late_ms = late_percent, late_ms
        self._pages = pages

    def build(self, first: int, count: int) -> dict[str, Records]:
        n_seq = np.arange(first, first + count, dtype=np.int64)
        chance = mix(n_seq.astype(np.uint64) ^ mix(np.array([self._seed]))[0])
        due_ms = planned_ms(self._load, n_seq)
        behind_ms = (chance % np.uint64(self._jitter_ms + 1)).astype(np.int64)
        late = (chance >> np.uint64(40)) % np.uint64(100) < self._late_percent
        late &= due_ms >= LATE_FROM_MS
        event_ms = FIRST_MS + due_ms - np.where(late, self._late_ms, behind_ms)
        pages = ((chance >> np.uint64(20)) % np.uint64(self._pages)).tolist()
        keys = [b"page-%d" % page for page in pages]
        values = [
            b"%d\t%d\t%s" % record for record in zip(range(first, first + count), event_ms.tolist(), keys, strict=True)
        ]
        return {STREAM: Records(range(first, first + count), keys, values)}
