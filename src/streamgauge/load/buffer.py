"""Records built ahead of their send time, so that sending them is cheap."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from dataclasses import dataclass

from streamgauge.contracts import Dataset, Records
from streamgauge.load.share import Share
from streamgauge.model import LoadPlan

BLOCKS_AHEAD = 8
BLOCK_MIN = 100
BLOCK_MAX = 5_000
BURST_AHEAD_MAX = 200_000
"""Records of a burst that are built before it begins: about 60 MB."""


def block_size(rate_per_s: int) -> int:
    """About 10 ms of load: quick to build, and large enough to be built efficiently."""
    return max(BLOCK_MIN, min(BLOCK_MAX, rate_per_s // 100))


def blocks_ahead(plan: LoadPlan, block: int) -> int:
    """A few; with bursts, those of the busiest second, which leaves no time to build records."""
    burst = min(plan.busiest_per_s, BURST_AHEAD_MAX) if plan.bursts else 0
    return max(BLOCKS_AHEAD, -(-burst // block))


@dataclass
class _StreamRecords:
    stream: str
    records: Records
    used: int = 0


@dataclass
class _Block:
    end: int
    streams: list[_StreamRecords]


class RecordBuffer:
    """Holds a few blocks of a worker's records, however long the run is, and returns them in order."""

    def __init__(self, dataset: Dataset, share: Share) -> None:
        self._dataset = dataset
        self._share = share
        self._built = 0
        self._ahead = blocks_ahead(share.plan, share.block * share.of)
        self._blocks: deque[_Block] = deque()

    def add(self) -> bool:
        """Build one more block unless the buffer is full or all are built; returns whether it did."""
        if len(self._blocks) >= self._ahead or self._built >= self._share.records:
            return False
        end = min(self._share.records, self._built + self._share.block)
        first = self._share.n_seq(self._built)
        built = self._dataset.build(first, end - self._built)
        self._blocks.append(
            _Block(first + end - self._built, [_StreamRecords(stream, records) for stream, records in built.items()])
        )
        self._built = end
        return True

    def reach(self, first: int) -> int:
        """How many records from ``first`` on can be cut at once; builds a block if necessary."""
        if not self._blocks:
            self.add()
        return self._blocks[0].end - first if self._blocks else 0

    def cut(self, end: int) -> dict[str, Records]:
        """Remove and return the records before ``end`` by stream; ``end`` must be within ``reach``."""
        block = self._blocks[0]
        slice_ = {}
        for part in block.streams:
            n_seq, keys, values, headers = part.records
            start, stop = part.used, bisect_left(n_seq, end, lo=part.used)
            part.used = stop
            if stop > start:
                cut = slice(start, stop)
                slice_[part.stream] = Records(n_seq[cut], keys[cut], values[cut], headers and headers[cut])
        if end == block.end:
            self._blocks.popleft()
        return slice_
