"""Records per second: offered by the plan, appended to the inputs, emitted to the output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics.level import mean_level
from streamgauge.evaluate.metrics.trend import Series
from streamgauge.evaluate.recorded import batches, output_batches
from streamgauge.evaluate.tally import Floats, Ints
from streamgauge.evaluate.visible import Visible, output_stamps_ms
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.rundir import RunDir

OUTPUT_COLUMNS = ["partition", "offset", "appended_ms"]


@dataclass(frozen=True)
class Stamps:
    """Figures of the recorded streams that need no matching."""

    appended_per_second: Ints
    output_per_second: Ints
    output_measured: int
    """Rows of the output that were emitted in the measured interval."""
    probe_appended_ms: Ints
    """When each probed record was appended; −1: it is not in the input."""
    appended_level: Floats = field(default_factory=lambda: np.zeros(0))
    """Input records that had been appended, on average over each second."""
    appended_measured: int = 0
    """Input records that were appended in the measured interval."""
    first_output_ms: int | None = None
    last_output_ms: int | None = None
    backlog_appended: int = 0
    """Records of a single burst that were appended before the engine was started."""
    output_moments_ms: Sequence[Ints] = ()
    """When something came out of each partition, rising, each moment once; empty for a run without faults."""
    never_visible: int = 0
    """Rows of a transactional output that were recorded, but not seen to become visible."""
    ingested_per_second: Ints | None = None
    """Input records handed to the engine for the first time; None where the transport does not stamp that."""
    ingested_level: Floats | None = None
    """Input records that had been handed over, on average over each second."""

    @property
    def queued_level(self) -> Floats | None:
        """Input records that waited to be handed over, on average over each second."""
        return None if self.ingested_level is None else self.appended_level - self.ingested_level

    @property
    def first_and_last_ms(self) -> tuple[int | None, int | None]:
        """When the first result came out, and the last."""
        return self.first_output_ms, self.last_output_ms


def rows_recorded(run: RunDir, facts: Facts) -> dict[str, int]:
    """How many records each stream has, from the files' own headers."""
    import pyarrow.dataset as ds

    return {stream.name: ds.dataset(run.recorded(stream.name)).count_rows() for stream in facts.streams}


def rows_visible(run: RunDir, facts: Facts, visible: Visible) -> int:
    """How many records of the output became visible."""
    return sum(len(output_stamps_ms(batch, visible)) for batch in output_batches(run, facts, OUTPUT_COLUMNS))


def read_stamps(run: RunDir, facts: Facts, moments: Moments, probes: Ints, visible: Visible | None) -> Stamps:
    """Count the recorded stamps by second, and look up when the records ``probes`` (n_seq) were appended."""
    import pyarrow.compute as pc

    appended, output, ingested = np.zeros((3, moments.seconds), np.int64)
    # One byte for each record, so that few of them have to be looked for.
    is_probe = np.zeros(max(facts.plan.records, 1), bool)
    is_probe[probes[(probes >= 0) & (probes < len(is_probe))]] = True
    order = np.argsort(probes)
    sorted_probes, probe_ms = probes[order], np.full(len(probes), -1, np.int64)
    appended_rest_ms, ingested_rest_ms = np.zeros((2, moments.seconds), np.int64)
    stamps_handing = facts.transport.stamps_handing
    appended_measured, output_measured, backlog_appended, never_visible = 0, 0, 0, 0
    first_output_ms, last_output_ms = None, None
    start_ms, end_ms = moments.measured_start_ns // NS_PER_MS, moments.observed_end_ns // NS_PER_MS
    partitions = sum(stream.partitions for stream in facts.outputs)
    output_moments_ms = [np.zeros(0, np.int64) for _ in range(partitions if facts.faults else 0)]
    backlog_ms = (facts.outcome.engine_start_ns or 0) // NS_PER_MS
    for stream in facts.inputs:
        for batch in batches(run, stream, ["n_seq", "appended_ms", *(["ingested_ms"] if stamps_handing else [])]):
            n_seq, stamp_ms = batch.column(0).fill_null(-1).to_numpy(), batch.column(1).to_numpy()
            count_by_second(appended, stamp_ms, moments, appended_rest_ms)
            if stamps_handing:
                # Null: it never left its queue.
                count_by_second(ingested, batch.column(2).drop_null().to_numpy(), moments, ingested_rest_ms)
            appended_measured += int(((stamp_ms >= start_ms) & (stamp_ms < end_ms)).sum())
            probed = np.flatnonzero((n_seq >= 0) & (n_seq < len(is_probe)))
            probed = probed[is_probe[n_seq[probed]]]
            probe_ms[order[np.searchsorted(sorted_probes, n_seq[probed])]] = stamp_ms[probed]
            if facts.plan.shape == "single-burst":
                of_burst = (n_seq >= 0) & (n_seq < facts.plan.burst_records)
                backlog_appended += int((of_burst & (stamp_ms <= backlog_ms)).sum())
    for batch in output_batches(run, facts, OUTPUT_COLUMNS):
        stamp_ms = output_stamps_ms(batch, visible)
        never_visible += batch.num_rows - len(stamp_ms)
        count_by_second(output, stamp_ms, moments)
        output_measured += int(((stamp_ms >= start_ms) & (stamp_ms < end_ms)).sum())
        if len(stamp_ms):
            first_here_ms = int(stamp_ms.min())
            first_output_ms = first_here_ms if first_output_ms is None else min(first_output_ms, first_here_ms)
            last_output_ms = max(last_output_ms or 0, int(stamp_ms.max()))
        for partition, known_ms in enumerate(output_moments_ms):
            mine = batch.filter(pc.equal(batch.column("partition"), partition))
            output_moments_ms[partition] = np.union1d(known_ms, output_stamps_ms(mine, visible))
    every_second = np.arange(moments.seconds)
    return Stamps(
        appended_per_second=appended,
        output_per_second=output,
        output_measured=output_measured,
        probe_appended_ms=probe_ms,
        appended_level=mean_level(every_second, appended, appended_rest_ms, moments.seconds),
        appended_measured=appended_measured,
        first_output_ms=first_output_ms,
        last_output_ms=last_output_ms,
        backlog_appended=backlog_appended,
        output_moments_ms=output_moments_ms,
        never_visible=never_visible,
        ingested_per_second=ingested if stamps_handing else None,
        ingested_level=mean_level(every_second, ingested, ingested_rest_ms, moments.seconds)
        if stamps_handing
        else None,
    )


def no_stamps(moments: Moments, probes: Ints) -> Stamps:
    """Of a run whose streams were not recorded."""
    none = np.zeros(moments.seconds, np.int64)
    return Stamps(none, none, 0, np.full(len(probes), -1, np.int64), none.astype(np.float64))


def offered_per_second(facts: Facts, moments: Moments) -> Ints:
    """What the plan wanted to send in each second."""
    count = facts.plan.count_before
    bounds = [min(count(second * NS_PER_S), facts.plan.records) for second in range(moments.seconds + 1)]
    sums = np.array(bounds, np.int64)
    return sums[1:] - sums[:-1]


def in_seconds_of_load(backlog: Series, facts: Facts, moments: Moments) -> Series:
    """Each second's backlog over the rate that was offered in it; seconds without any are left out.

    Under a load that rises, a backlog that rises with it is the same wait.
    """
    offered = offered_per_second(facts, moments)[np.asarray(backlog.seconds, np.int64)].astype(np.float64)
    if not facts.plan.scheduled:
        # Without a schedule there is no rate but the mean one: all records leave in the measured interval.
        offered[:] = facts.plan.records / (moments.observed_s or 1.0)
    some = offered > 0
    return Series(backlog.seconds[some], backlog.values[some] / offered[some])


def count_by_second(counts: Ints, stamp_ms: Ints, moments: Moments, rest_ms: Ints | None = None) -> None:
    """Add them up; in ``rest_ms`` also what was left of each one's second."""
    since_ms = stamp_ms - moments.load_start_ms
    second = np.clip(since_ms // 1000, 0, len(counts) - 1)
    counts += np.bincount(second, minlength=len(counts))
    if rest_ms is not None:
        rest_ms += np.bincount(second, 1000 - since_ms % 1000, minlength=len(counts)).astype(np.int64)
