"""How fast input that was there before the engine was processed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from streamgauge.evaluate.facts import Facts
from streamgauge.evaluate.recorded import batches
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.notices import Notice, notice
from streamgauge.rundir import RunDir

BYTES_PER_MB = 1_000_000
FASTER = 1.2
"""The transport must serve the input this many times as fast as the engine takes it; else it may be the limit."""


@dataclass(frozen=True)
class Processing:
    """Of all input records: from when the engine was usable, or its first result, to the end (see ``measure``)."""

    records: int
    bytes: int
    startup_s: float
    """From the engine's first process to the moment when all of them were usable."""
    seconds: float | None
    """None where the end is not known."""
    by_consumed: bool = False
    """Whether the end is when everything was known to be consumed."""
    generated_per_s: float | None = None
    """How fast the load was written."""
    served_per_s: float | None = None
    """How fast a plain reader got the input out of the transport, after the run."""
    end_ms: float | None = None
    """When everything was done, by this machine's clock; None where that is not known."""

    @property
    def per_s(self) -> float | None:
        return None if not self.seconds else self.records / self.seconds

    def warnings(self, server: str) -> list[Notice]:
        if self.by_consumed and self.seconds is None:
            return [notice("throughput-unknown")]
        noted = [notice("throughput-by-consumption")] if self.by_consumed else []
        if self.per_s and self.served_per_s is not None and self.served_per_s < FASTER * self.per_s:
            noted.append(notice("served-slowly", server=server, served=self.served_per_s, taken=self.per_s))
        return noted

    def figures(self) -> dict[str, Any]:
        per_s = self.per_s
        mb_per_s = None if not self.seconds else self.bytes / BYTES_PER_MB / self.seconds
        return {
            "records": self.records,
            "bytes": self.bytes,
            "startup_s": self.startup_s,
            "seconds": self.seconds,
            "records_per_s": per_s,
            "mb_per_s": mb_per_s,
            "generated_per_s": self.generated_per_s,
            "served_per_s": self.served_per_s,
        }


def measure(
    run: RunDir,
    facts: Facts,
    first_ms: float | None,
    last_ms: float | None,
    answered: int,
    consumed_ms: float | None,
    waiting_ms: float | None = None,
) -> Processing | None:
    """``first_ms`` and ``last_ms`` are the moments of the first and the last result, by this machine's clock.

    The last result is the end where all records were ``answered``. Otherwise records after it may still have been
    processed: the end is then ``consumed_ms``, when everything was known to be consumed, if that is later. Of a filter,
    the last result is the end if it came after ``waiting_ms``, when input was last seen to wait: the records that it
    keeps are spread over all of them.

    None for a load that is not there before the engine, and for an engine that never became usable.
    """
    start_ns, ready_ns = facts.outcome.engine_start_ns, facts.outcome.engine_ready_ns
    if facts.plan.shape != "preloaded" or start_ns is None or ready_ns is None:
        return None
    records, size = input_size(run, facts)
    by_consumed = answered < records
    if waiting_ms is not None and consumed_ms is not None and (last_ms or 0.0) > waiting_ms:
        by_consumed = False
    if by_consumed:
        last_ms = None if consumed_ms is None else max(consumed_ms, last_ms or 0.0)
    # An engine may publish before it reports that it is ready.
    begin_ns = ready_ns if first_ms is None else min(ready_ns, first_ms * NS_PER_MS)
    seconds = None if last_ms is None else max(last_ms * NS_PER_MS - begin_ns, NS_PER_MS) / NS_PER_S
    outcome = facts.outcome
    took_ns = (outcome.load_end_ns or 0) - (outcome.load_start_ns or 0)
    generated = records / (took_ns / NS_PER_S) if took_ns > 0 else None
    startup_s = (ready_ns - start_ns) / NS_PER_S
    return Processing(records, size, startup_s, seconds, by_consumed, generated, outcome.served_per_s, last_ms)


def input_size(run: RunDir, facts: Facts) -> tuple[int, int]:
    """Records of all inputs, and the bytes of their values."""
    import pyarrow.compute as pc

    records = size = 0
    for stream in facts.inputs:
        for batch in batches(run, stream, ["value"]):
            records += batch.num_rows
            size += pc.sum(pc.binary_length(batch.column(0))).as_py() or 0
    return records, size
