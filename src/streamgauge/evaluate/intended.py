"""When each record should have left, as a column of Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from streamgauge import shapes
from streamgauge.evaluate.column import column_function
from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics.generator import Ledger
from streamgauge.evaluate.tally import Ints
from streamgauge.rundir import RunDir
from streamgauge.shapes import Segment

if TYPE_CHECKING:
    from pyspark.sql import Column

SQL_SEGMENTS = 128
"""A plan of more segments (a long ramp) is worked out in Python: Spark would not compile that many cases well."""


@dataclass(frozen=True)
class WhenSent:
    """A load without a schedule meant each record to leave when it did: its slice has the moment."""

    first: Ints
    offset_ns: Ints

    @classmethod
    def read(cls, run: RunDir, moments: Moments) -> WhenSent:
        ledger = Ledger.read(run)
        order = np.argsort(ledger.first)
        return cls(ledger.first[order], ledger.sent_ns[order] - moments.load_start_ns)

    def offsets_ns(self, n_seq: Ints) -> Ints:
        offsets: Ints = self.offset_ns[np.maximum(np.searchsorted(self.first, n_seq, side="right") - 1, 0)]
        return offsets


def offset_sql(segments: Sequence[Segment]) -> str:
    """``LoadPlan.offset_ns`` of even arrivals, without a way through Python: the segment is found by halving."""
    if len(segments) > 1:
        middle = len(segments) // 2
        before, after = offset_sql(segments[:middle]), offset_sql(segments[middle:])
        return f"(case when n_seq < {segments[middle].first} then {before} else {after} end)"
    [segment] = segments
    records = max(segment.records, 1)
    # Whole and rest apart: the plain product would not fit into 64 bits.
    whole, rest = divmod(segment.length_ns, records)
    inside = f"(n_seq - {segment.first})"
    return f"({segment.start_ns} + {inside} * {whole} + {inside} * {rest} div {records})"


def intended(run: RunDir, facts: Facts, moments: Moments) -> Column:
    """The moment of the record ``n_seq``. Raises LedgerProblem where only the ledger has it, and there is none."""
    from pyspark.sql import functions as f

    plan = facts.plan
    if plan.scheduled and plan.arrivals == "even" and len(plan.segments) <= SQL_SEGMENTS:
        return f.expr(f"{moments.load_start_ns} + {offset_sql(plan.segments)}")
    schedule = plan if plan.scheduled else WhenSent.read(run, moments)
    offset_ns = column_function(schedule.offsets_ns, shapes, sys.modules[__name__])
    return f.lit(moments.load_start_ns) + offset_ns(f.col("n_seq"))
