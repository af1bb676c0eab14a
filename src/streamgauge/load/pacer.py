"""Says which records are due, on an absolute schedule: late records stay owed, and none leaves early."""

from __future__ import annotations

from collections.abc import Callable

from streamgauge.load.share import Share
from streamgauge.model import NS_PER_MS

SLICE_NS = NS_PER_MS
"""Records that fall due within this time of each other may leave together, at its end."""
MAX_SLICE = 2_000
"""Records handed over under one stamp while catching up: about two milliseconds of work."""


class Pacer:
    """Walks through a worker's share by a clock that it is given. Pure arithmetic: it neither sleeps nor sends.

    Every record of the share is taken exactly once, in order, never before ``start_ns + offset_ns(n)``. While
    there is no debt, slices lie ``SLICE_NS`` apart, or wait for the next record where records are rarer.
    """

    def __init__(self, share: Share, start_ns: int, now_ns: Callable[[], int]) -> None:
        self._share = share
        self._start_ns = start_ns
        self._now_ns = now_ns
        self._records = share.records
        self._next = 0
        self._wake_ns = start_ns

    @property
    def done(self) -> bool:
        """Whether every record has been taken."""
        return self._next >= self._records

    @property
    def taken_records(self) -> int:
        return self._next

    def due_ns(self, own: int) -> int:
        """When a record should leave."""
        return self._start_ns + self._share.offset_ns(own)

    def end_at(self, moment_ns: int) -> None:
        """Leave out what is due at that moment or later; what has been taken stays taken."""
        due = self._share.count_before(moment_ns - self._start_ns)
        self._records = max(min(self._records, due), self._next)

    def idle_ns(self) -> int:
        """How long there is nothing to send; 0 when a slice is due, or when the plan has ended."""
        return 0 if self.done else max(0, self._wake_ns - self._now_ns())

    def take(self, limit: int = MAX_SLICE) -> range:
        """The records to send now, at most ``limit`` of them; empty when none is due."""
        now_ns = self._now_ns()
        # A record is due at its moment, not only after it, hence + 1.
        due = min(self._records, self._share.count_before(now_ns - self._start_ns + 1))
        records = range(self._next, max(self._next, min(due, self._next + limit)))
        self._next = records.stop
        if self._next < due:
            self._wake_ns = now_ns
        else:
            # The grid is kept as long as it holds: adding to `now_ns` would let slices drift apart.
            self._wake_ns = max(self.due_ns(self._next), self._wake_ns + SLICE_NS, now_ns)
        return records
