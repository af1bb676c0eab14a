"""When each record should have left, as a column of Spark."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from streamgauge import shapes
from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics.generator import Ledger
from streamgauge.evaluate.tally import Ints
from streamgauge.model import NS_PER_S
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column


@dataclass(frozen=True)
class WhenSent:
    """A load without a schedule meant each record to leave when it did: the slice that it was in says when."""

    first: Ints
    offset_ns: Ints

    @classmethod
    def read(cls, run: RunDir, moments: Moments) -> WhenSent:
        ledger = Ledger.read(run)
        order = np.argsort(ledger.first)
        return cls(ledger.first[order], ledger.sent_ns[order] - moments.load_start_ns)

    def offsets_ns(self, n_seq: Ints) -> Ints:
        found: Ints = self.offset_ns[np.maximum(np.searchsorted(self.first, n_seq, side="right") - 1, 0)]
        return found


def intended(run: RunDir, facts: Facts, moments: Moments) -> Column:
    """The moment of the record ``n_seq``. Raises LedgerProblem where only the ledger could tell, and cannot."""
    from pyspark.sql import functions as f

    plan = facts.plan
    if plan.is_one_rate and plan.arrivals == "even":
        # As LoadPlan.offset_ns, without a way through Python.
        return f.expr(f"{moments.load_start_ns} + n_seq * {NS_PER_S} div {plan.rate_per_s}")
    schedule = plan if plan.scheduled else WhenSent.read(run, moments)
    return f.lit(moments.load_start_ns) + _column_function(schedule.offsets_ns)(f.col("n_seq"))


def _column_function(offsets_ns: Callable[[Ints], Ints]) -> Callable[[Column], Column]:
    import pyarrow as pa
    from pyspark import cloudpickle
    from pyspark.sql import functions as f

    # The machines of another Spark need not have this package.
    for module in (shapes, sys.modules[__name__]):
        cloudpickle.register_pickle_by_value(module)

    def column(n_seq: pa.Array) -> pa.Array:
        return pa.array(offsets_ns(n_seq.fill_null(0).to_numpy(zero_copy_only=False)))

    # Spark wants to see the types themselves, not their names.
    column.__annotations__ = {"n_seq": pa.Array, "return": pa.Array}
    made: Callable[[Column], Column] = f.arrow_udf(column, "bigint")
    return made
