"""When results of transactions could be read, by the ends that were seen during the run.

An engine may write in transactions without declaring it. The recorded output shows it: the mark of each commit and each
aborted record take an offset that no record has.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.evaluate.column import column_function
from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics.latency import Distribution
from streamgauge.evaluate.recorded import is_recorded, output_batches
from streamgauge.evaluate.tally import Ints
from streamgauge.model import NS_PER_MS
from streamgauge.model.samples import VisibleSample
from streamgauge.notices import Notice, notice
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OFFSETS_MAX = 2**44
"""More than any partition holds: (partition, offset) as one number keeps its order."""
PLACE = f"partition * {OFFSETS_MAX} + offset"
NEVER = -1
COARSE_MS = 100.0


@dataclass(frozen=True)
class Stamper:
    """The places of the ends that were seen, rising, and when; behind the last one nothing was ever visible."""

    places: Ints
    at_ms: Ints

    def emitted_ms(self, places: Ints) -> Ints:
        """The first moment at which the end lay beyond each of these places; NEVER where none did."""
        positions = np.searchsorted(self.places, places, side="right")
        same_partition = self.places[positions] // OFFSETS_MAX == places // OFFSETS_MAX
        return np.where(same_partition, self.at_ms[positions], NEVER)


@dataclass(frozen=True)
class Visible:
    """What was seen of the output of a transactional engine."""

    stamper: Stamper
    ends: Mapping[int, int]
    """The last one of each partition."""
    moment_ns: Ints
    """When each end was seen."""
    doubt_ns: Ints
    """By how much earlier it may have been there."""
    moved: Ints
    """By how many records it had moved."""

    @classmethod
    def read(cls, run: RunDir, facts: Facts) -> Visible | None:
        """None where the transport's own stamps will do: results could be read as soon as they were appended.

        Also None for undeclared transactions that were not watched; see ``undeclared``.
        """
        samples = run.samples(VisibleSample)
        if not facts.manifest.engine.transactional and not (samples and undeclared(run, facts)):
            return None
        rows = [(line.partition, line.end, line.t_ns, line.since_ns) for line in samples]
        partition, end, t_ns, since_ns = np.array(rows, np.int64).reshape(-1, 4).T
        places = partition * OFFSETS_MAX + end
        order = np.argsort(places, kind="stable")
        partition, end, t_ns, since_ns, places = (column[order] for column in (partition, end, t_ns, since_ns, places))
        before = np.where(np.diff(partition, prepend=-1) == 0, np.roll(end, 1), 0)
        # Something stands behind the last place, so that every search finds something.
        stamper = Stamper(np.append(places, np.iinfo(np.int64).max), np.append(t_ns // NS_PER_MS, NEVER))
        ends = dict(zip(partition.tolist(), end.tolist(), strict=True))
        return cls(stamper, ends, t_ns, t_ns - since_ns, end - before)

    def stamped(self, output: DataFrame) -> DataFrame:
        """The rows that became visible, ``appended_ms`` being the moment when they did."""
        from pyspark.sql import functions as f

        emitted_ms = column_function(self.stamper.emitted_ms, sys.modules[__name__])
        # Not by the stamps themselves: Spark would compute them twice.
        conditions = [f"partition = {partition} and offset < {end}" for partition, end in self.ends.items()]
        return output.where(" or ".join(conditions) or "false").withColumn("appended_ms", emitted_ms(f.expr(PLACE)))

    def resolution_ms(self, moments: Moments) -> dict[str, float | None]:
        """By how much too late results may have been stamped, from the start of the measured interval on."""
        doubts_ms = self._doubts_ms(moments)
        return {"p50": doubts_ms.percentile(500), "p99": doubts_ms.percentile(990), "max": doubts_ms.max}

    def warnings(self, moments: Moments) -> list[Notice]:
        doubts_ms = self._doubts_ms(moments)
        if doubts_ms.max is None or doubts_ms.max <= COARSE_MS:
            return []
        coarse = int(doubts_ms.counts[doubts_ms.values > COARSE_MS].sum())
        return [
            notice("visible-coarse", worst_ms=doubts_ms.max, coarse=coarse, count=doubts_ms.count, limit_ms=COARSE_MS)
        ]

    def _doubts_ms(self, moments: Moments) -> Distribution:
        measured = self.moment_ns >= moments.measured_start_ns
        return Distribution.of(self.doubt_ns[measured] / NS_PER_MS, self.moved[measured])


def undeclared(run: RunDir, facts: Facts) -> int:
    """Places of the output without a record that can be read, as transactions leave them, of an engine that declares no
    transactions."""
    if facts.manifest.engine.transactional:
        return 0
    return unused_places(run, facts) + (facts.outcome.hidden or 0)


def unused_places(run: RunDir, facts: Facts) -> int:
    """Offsets below the ends of the outputs at which nothing was recorded; 0 where they were not recorded."""
    if not facts.outputs or facts.workload.folded or not is_recorded(run, facts.outputs):
        return 0
    known = facts.outcome.ends
    ends = np.array(
        [
            int(known.get(stream.name, {}).get(str(partition), 0))
            for stream in facts.outputs
            for partition in range(stream.partitions)
        ],
        np.int64,
    )
    rows = 0
    for batch in output_batches(run, facts, ["partition", "offset"]):
        np.maximum.at(ends, batch.column("partition").to_numpy(), batch.column("offset").to_numpy() + 1)
        rows += batch.num_rows
    return int(ends.sum()) - rows


def findings(run: RunDir, facts: Facts, visible: Visible | None) -> tuple[list[Notice], list[Notice]]:
    """Why undeclared transactions make a run INVALID, and what the reader should know of transactions."""
    messages = []
    if hidden := facts.outcome.hidden:
        messages.append(notice("open-transaction", places=hidden))
    if not undeclared(run, facts):
        return [], messages
    engine = facts.manifest.engine
    if visible is not None:
        return [], [*messages, notice("transactions-noticed", engine=engine.name)]
    if not (places := unused_places(run, facts)):
        # Nothing was committed, so nothing needs a stamp.
        return [], [*messages, notice("transactions-uncommitted", engine=engine.name)]
    option = "; try again with --set delivery=exactly-once" if engine.name == "command" else ""
    return [notice("undeclared-transactions", engine=engine.name, places=places, option=option)], messages


def output_stamps_ms(batch: Any, visible: Visible | None) -> Ints:
    """When the rows of a recorded batch (partition, offset, appended_ms) could be read; not of those never visible."""
    if visible is None:
        appended_ms: Ints = batch.column("appended_ms").to_numpy()
        return appended_ms
    partition, offset = (batch.column(name).to_numpy().astype(np.int64) for name in ("partition", "offset"))
    stamps_ms = visible.stamper.emitted_ms(partition * OFFSETS_MAX + offset)
    visible_ms: Ints = stamps_ms[stamps_ms != NEVER]
    return visible_ms
