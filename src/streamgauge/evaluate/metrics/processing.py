"""How fast input that was there before the engine was processed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamgauge.evaluate.facts import Facts
from streamgauge.evaluate.metrics import consumed
from streamgauge.evaluate.recorded import batches
from streamgauge.evaluate.summary import Figures
from streamgauge.evaluate.tally import answered_inputs, answered_until_ms
from streamgauge.model import NS_PER_MS, NS_PER_S, ResultKind
from streamgauge.model.samples import PositionsSample
from streamgauge.notices import Notice, notice
from streamgauge.rundir import RunDir

BYTES_PER_MB = 1_000_000
FASTER = 1.2
"""The transport must serve the input this many times as fast as the engine takes it; else it may be the limit."""
NEARLY_ALL = 0.99
"""The last result of a filter is the end where at least this share of the input comes before its record."""


@dataclass(frozen=True)
class Seen:
    """What shows when everything was processed; moments by this machine's clock, None where they are not known."""

    first_ms: float | None
    last_ms: float | None
    """Of the first and the last result."""
    answered: int
    """Records with a result."""
    kept_until_ms: int | None = None
    """Of a filter without missing results: when the last record that it keeps was appended."""
    consumed_ms: float | None = None
    """When all input was first known to be consumed."""
    delay_ms: float | None = None
    """How much earlier that may have been so."""

    @classmethod
    def of(cls, run: RunDir, facts: Facts, figures: Figures, first_ms: float | None, last_ms: float | None) -> Seen:
        """``first_ms`` and ``last_ms``: the moments of the first and the last result, by this machine's clock."""
        appended = int(figures.stamps.appended_per_second.sum())
        consumed_ns = consumed.consumed_all_ns(run.samples(PositionsSample), appended)
        is_filter = facts.workload.kind is ResultKind.FILTER
        kept_until_ms = answered_until_ms(figures.tally) if is_filter else None
        consumed_ms = None if consumed_ns is None else consumed_ns / NS_PER_MS
        # After a fault, Flink shows with its next checkpoint what it had consumed before.
        delay_s = None if facts.faults else facts.manifest.engine.consumed_delay_s
        delay_ms = None if delay_s is None else 1000 * delay_s
        return cls(first_ms, last_ms, answered_inputs(figures.tally), kept_until_ms, consumed_ms, delay_ms)


@dataclass(frozen=True)
class Processing:
    """From when the engine was usable, or its first result, to the end (see ``measure``)."""

    records: int
    """Of all inputs."""
    bytes: int
    startup_s: float
    """From the engine's first process to the moment when all of them were usable."""
    seconds: float | None
    """None where the end is not known."""
    by_consumed: bool = False
    """Whether the end is when everything was known to be consumed."""
    seconds_at_least: float | None = None
    """Where the end is when everything was known to be consumed: to when that may have been so, or the last result."""
    processed: int | None = None
    """Records until the end; None for all."""
    generated_per_s: float | None = None
    """How fast the load was written."""
    served_per_s: float | None = None
    """How fast a plain reader got the input out of the transport, after the run."""
    end_ms: float | None = None
    """When everything was done, by this machine's clock; None where that is not known."""

    @property
    def per_s(self) -> float | None:
        return None if not self.seconds else (self.processed or self.records) / self.seconds

    def warnings(self, server: str) -> list[Notice]:
        if self.by_consumed and self.seconds is None:
            return [notice("throughput-unknown")]
        noted = [notice("throughput-by-consumption")] if self.by_consumed else []
        if self.per_s and self.served_per_s is not None and self.served_per_s < FASTER * self.per_s:
            noted.append(notice("served-slowly", server=server, served=self.served_per_s, taken=self.per_s))
        return noted

    def figures(self) -> dict[str, Any]:
        per_s, at_most = self.per_s, None
        if self.seconds and self.seconds_at_least is not None:
            at_most = self.records / self.seconds_at_least
        return {
            "records": self.records,
            "bytes": self.bytes,
            "startup_s": self.startup_s,
            "seconds": self.seconds,
            "records_per_s": per_s,
            "mb_per_s": None if per_s is None else per_s * self.bytes / self.records / BYTES_PER_MB,
            **({} if at_most is None else {"records_per_s_at_most": at_most}),
            "generated_per_s": self.generated_per_s,
            "served_per_s": self.served_per_s,
        }


def measure(run: RunDir, facts: Facts, seen: Seen) -> Processing | None:
    """The end is the last result where all records have one. So it is of a filter whose last kept record is nearly the
    last of all: what comes after it is left out. Otherwise it is when everything was known to be consumed.

    None for a load that is not there before the engine, and for an engine that never became usable.
    """
    outcome = facts.outcome
    start_ns, ready_ns = outcome.engine_start_ns, outcome.engine_ready_ns
    if facts.plan.shape != "preloaded" or start_ns is None or ready_ns is None:
        return None
    records, size, kept = input_size(run, facts, seen.kept_until_ms)
    by_last_kept = kept >= NEARLY_ALL * records
    by_consumed = seen.answered < records and not by_last_kept
    end_ms = seen.last_ms
    if by_consumed:
        end_ms = None if seen.consumed_ms is None else max(seen.consumed_ms, seen.last_ms or 0.0)
    # An engine may publish before it reports that it is ready.
    begin_ns = ready_ns if seen.first_ms is None else min(ready_ns, seen.first_ms * NS_PER_MS)

    def seconds_to(moment_ms: float) -> float:
        return max(moment_ms * NS_PER_MS - begin_ns, NS_PER_MS) / NS_PER_S

    earliest_ms = seen.last_ms
    if end_ms is not None and seen.delay_ms is not None:
        earliest_ms = max(end_ms - seen.delay_ms, seen.last_ms or 0.0)
    took_ns = (outcome.load_end_ns or 0) - (outcome.load_start_ns or 0)
    return Processing(
        records=records,
        bytes=size,
        startup_s=(ready_ns - start_ns) / NS_PER_S,
        seconds=None if end_ms is None else seconds_to(end_ms),
        by_consumed=by_consumed,
        seconds_at_least=None if not by_consumed or earliest_ms is None else seconds_to(earliest_ms),
        processed=kept if by_last_kept else None,
        generated_per_s=records / (took_ns / NS_PER_S) if took_ns > 0 else None,
        served_per_s=outcome.served_per_s,
        end_ms=end_ms,
    )


def input_size(run: RunDir, facts: Facts, until_ms: int | None) -> tuple[int, int, int]:
    """Records of all inputs, the bytes of their values, and how many were appended until that moment."""
    import pyarrow.compute as pc

    records = size = kept = 0
    for stream in facts.inputs:
        for batch in batches(run, stream, ["value", "appended_ms"]):
            records += batch.num_rows
            size += pc.sum(pc.binary_length(batch.column(0))).as_py() or 0
            if until_ms is not None:
                kept += pc.sum(pc.less_equal(batch.column(1), until_ms)).as_py() or 0
    return records, size, kept
