"""Readings of the sensors, in turn."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from streamgauge.contracts import Dataset, Records
from streamgauge.model import LoadPlan
from streamgauge.workloads.chance import mix
from streamgauge.workloads.event_time import FIRST_MS, UNSCHEDULED_PER_S, planned_ms
from streamgauge.workloads.power import STREAM

WATTS_MOST = 3000


class Power(Dataset):
    name: ClassVar[str] = "power"
    streams: ClassVar[tuple[str, ...]] = (STREAM,)
    record_bytes = 32

    def __init__(self, seed: int, load: LoadPlan, *, sensors: int = 0) -> None:
        """Without a number of sensors there are as many as the load has records per second."""
        self._seed = np.uint64(seed % 2**64)
        self._load = load
        self.sensors = sensors or (load.rate_per_s if load.scheduled else UNSCHEDULED_PER_S)

    def build(self, first: int, count: int) -> dict[str, Records]:
        n_seq = np.arange(first, first + count, dtype=np.int64)
        chance = mix(n_seq.astype(np.uint64) ^ mix(np.array([self._seed]))[0])
        watts = (chance % np.uint64(WATTS_MOST + 1)).tolist()
        event_ms = (FIRST_MS + planned_ms(self._load, n_seq)).tolist()
        # Each sensor gets every n-th record, so that all send equally often and at equal intervals.
        keys = [b"%d" % sensor for sensor in (n_seq % self.sensors).tolist()]
        numbers = range(first, first + count)
        values = [b"%d\t%d\t%s\t%d" % record for record in zip(numbers, event_ms, keys, watts, strict=True)]
        return {STREAM: Records(numbers, keys, values)}
