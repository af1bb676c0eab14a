"""What one of several load workers sends: every so-manieth block of the plan, so that nothing is sent twice or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from streamgauge.model import LoadPlan


@dataclass(frozen=True)
class Share:
    """The part of worker ``index`` of ``of``. Its own records are numbered from 0 on, without gaps."""

    plan: LoadPlan
    index: int
    of: int
    block: int
    """Records in a row that one worker sends."""

    @cached_property
    def records(self) -> int:
        return self._mine_among(self.plan.records)

    def n_seq(self, own: int) -> int:
        """The number in the plan of this worker's record ``own``."""
        block, place = divmod(own, self.block)
        return (block * self.of + self.index) * self.block + place

    def offset_ns(self, own: int) -> int:
        return self.plan.offset_ns(self.n_seq(own))

    def count_before(self, elapsed_ns: int) -> int:
        return self._mine_among(self.plan.count_before(elapsed_ns))

    def _mine_among(self, records: int) -> int:
        """How many of the plan's first ``records`` are this worker's."""
        rounds, rest = divmod(records, self.block * self.of)
        return rounds * self.block + min(max(rest - self.index * self.block, 0), self.block)
