"""What one of several load workers sends: every n-th block of the plan, so that each record is sent exactly once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streamgauge.model import LoadPlan


@dataclass(frozen=True)
class Share:
    """The part of worker ``index`` of ``of``. Its records are numbered from 0 without gaps."""

    plan: LoadPlan
    index: int
    of: int
    block: int
    """Consecutive records that one worker sends."""

    @cached_property
    def records(self) -> int:
        return self._mine_among(self.plan.records)

    def n_seq(self, own: int) -> int:
        """The sequence number of this worker's record ``own``."""
        block, place = divmod(own, self.block)
        return (block * self.of + self.index) * self.block + place

    def offset_ns(self, own: int) -> int:
        return self.plan.offset_ns(self.n_seq(own))

    def count_before(self, elapsed_ns: int) -> int:
        return self._mine_among(self.plan.count_before(elapsed_ns))

    def _mine_among(self, records: int) -> int:
        """How many of the plan's first ``records`` belong to this worker."""
        rounds, rest = divmod(records, self.block * self.of)
        return rounds * self.block + min(max(rest - self.index * self.block, 0), self.block)
