"""The queue of one stream, in the memory of its generator."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from streamgauge.queue_protocol import Ends


class Gone(Exception):
    """Nothing can be read at this offset: its record was acknowledged and dropped, or it is beyond the end."""


class _Block(NamedTuple):
    first: int
    end: int
    records: memoryview


class EventQueue:
    """Fixed-width records by offset. They stay until they are acknowledged, so that a reader can ask again.

    ``on_handed`` is called when records are handed over for the first time: first offset, how many, and when.
    """

    def __init__(
        self,
        width: int,
        on_handed: Callable[[int, int, int], None] = lambda first, count, at_ns: None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self.width = width
        self._on_handed, self._now_ns = on_handed, now_ns
        self._blocks: deque[_Block] = deque()
        self._begin = self._handed = self._end = 0
        self._changed = threading.Condition()

    @property
    def ends(self) -> Ends:
        with self._changed:
            return Ends(self._begin, self._handed, self._end)

    @property
    def waiting(self) -> int:
        """Records that were never handed over."""
        return self._end - self._handed

    def put(self, records: bytes | memoryview) -> None:
        count, rest = divmod(len(records), self.width)
        if rest:
            raise ValueError(f"{len(records)} bytes are not a whole number of records of {self.width}")
        with self._changed:
            if count:
                self._blocks.append(_Block(self._end, self._end + count, memoryview(records)))
                self._end += count
                self._changed.notify_all()

    def fetch(self, offset: int, most: int, wait_s: float) -> tuple[int, list[memoryview]]:
        """How many records from ``offset`` on, at most ``most``, and their bytes; waits up to ``wait_s`` for the first.

        Raises Gone, also for an offset beyond the end.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._end > offset, wait_s)
            if offset < self._begin or offset > self._end:
                raise Gone
            parts, found = self._parts(offset, most)
            if found and offset + found > self._handed:
                new = max(self._handed, offset)
                self._on_handed(new, offset + found - new, self._now_ns())
                self._handed = offset + found
            return found, parts

    def acknowledge(self, offset: int) -> None:
        """Records below it are not needed any more."""
        with self._changed:
            self._begin = max(self._begin, min(offset, self._handed))
            while self._blocks and self._blocks[0].end <= self._begin:
                self._blocks.popleft()

    def _parts(self, offset: int, most: int) -> tuple[list[memoryview], int]:
        parts, found = [], 0
        for block in self._blocks_from(offset):
            start = max(offset, block.first)
            end = min(block.end, start + most - found)
            parts.append(block.records[(start - block.first) * self.width : (end - block.first) * self.width])
            found += end - start
            if found >= most:
                break
        return parts, found

    def _blocks_from(self, offset: int) -> list[_Block]:
        """From the newest back: a reader that keeps up is near the end, while acknowledged ones may be far behind."""
        needed = []
        for block in reversed(self._blocks):
            if block.end <= offset:
                break
            needed.append(block)
        needed.reverse()
        return needed
