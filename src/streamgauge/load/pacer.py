"""Determines which records are due, on an absolute schedule: late records are caught up, and none is sent early."""

from __future__ import annotations

from collections.abc import Callable

from streamgauge.load.share import Share
from streamgauge.model import NS_PER_MS

SLICE_NS = NS_PER_MS
"""Records due within this time of each other may be sent together, at its end."""
MAX_SLICE = 2_000
"""Records sent under one timestamp while catching up: about two milliseconds of work."""


class Pacer:
    """Paces a worker's share by an injected clock. Pure arithmetic: it neither sleeps nor sends.

    Every record of the share is taken exactly once, in order, and never before ``start_ns + offset_ns(n)``. Unless it
    is behind, slices are ``SLICE_NS`` apart, or as far apart as the records.
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
        """Drop the records that are due at ``moment_ns`` or later and have not been taken."""
        due = self._share.count_before(moment_ns - self._start_ns)
        self._records = max(min(self._records, due), self._next)

    def idle_ns(self) -> int:
        """Time until the next slice; 0 when one is due or the plan has ended."""
        return 0 if self.done else max(0, self._wake_ns - self._now_ns())

    def take(self, limit: int = MAX_SLICE) -> range:
        """The records to send now, at most ``limit`` of them; empty when none is due."""
        now_ns = self._now_ns()
        # + 1: a record is due at its moment, not only after it.
        due = min(self._records, self._share.count_before(now_ns - self._start_ns + 1))
        records = range(self._next, max(self._next, min(due, self._next + limit)))
        self._next = records.stop
        if self._next < due:
            self._wake_ns = now_ns
        else:
            # Stay on the grid: adding to `now_ns` would let slices drift.
            self._wake_ns = max(self.due_ns(self._next), self._wake_ns + SLICE_NS, now_ns)
        return records
