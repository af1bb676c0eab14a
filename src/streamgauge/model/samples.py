"""The lines of ``samples/*.jsonl``, by the name of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, TypeVar

from pydantic import Field

from streamgauge.stored import Count, Moment, Number, Stored, at_least_zero


class Sample(Stored):
    kind: ClassVar[str]
    """The name of the file."""

    t_ns: Moment


SampleKind = TypeVar("SampleKind", bound=Sample)


class ResourceSample(Sample):
    kind = "resources"

    role: str
    group: str
    cpu_s: Number | None = None
    rss_mb: Number | None = None
    heap_used_mb: Number | None = None
    heap_committed_mb: Number | None = None
    gc_count: Number | None = None
    gc_ms: Number | None = None
    received_mb: Number | None = None
    """Over TCP, so far; None where the system does not report it, like the two below."""
    sent_mb: Number | None = None
    from_transport_mb: Number | None = None
    """Of ``received_mb``: what was read from the transport; None also where its ports are not known."""


class MachineSample(Sample):
    kind = "machine"

    load1: Number | None = None
    cpu_busy: Number | None = None
    steal: Number | None = None
    psi_cpu_some: Number | None = None
    psi_io_some: Number | None = None
    psi_memory_some: Number | None = None


class ClockSample(Sample):
    kind = "clock"

    mono_ns: int
    bracket_ns: int


class PositionsSample(Sample):
    kind = "positions"

    appended: Mapping[str, Count]
    """Records of each stream."""
    consumed: Count | None
    consumed_since_ns: Moment | None = None
    """When so many were first seen to be consumed, where the run looks more often than it samples."""
    sent: Count | None = None
    lag: Number | None = None
    """Records waiting for the engine, on average since the previous sample."""
    lag_by_partition: Mapping[str, Sequence[Count]] | None = None
    """Records of each input, partition by partition, that the engine has not taken; None where that is not known."""


class BatchSample(Sample):
    """A batch that the engine reported, when it reported it."""

    kind = "batches"

    batch: Count
    began_ms: Moment | None = None
    """By the engine's clock; early runs do not have it."""
    duration_ms: Annotated[float, at_least_zero(most=1e12)]
    rows: Count
    query: str = ""
    """Which of several queries; empty where there is one."""
    parts_ms: Mapping[str, Number] = {}
    """How long each step of the batch took, by the engine's name for it."""
    input_per_s: Number | None = None
    processed_per_s: Number | None = None
    state_rows: Count | None = None
    state_mb: Number | None = None
    watermark_ms: int | None = None


class CommitSample(Sample):
    """A batch of a query that its checkpoint shows as committed."""

    kind = "commits"

    query: str
    batch: Count
    committed_ms: Moment
    watermark_ms: int
    """The watermark of the batch; 0 if the query has none."""
    ends: Mapping[str, Mapping[str, Count]]
    """The end offsets of the batch, by stream address and partition."""


class DiskSample(Sample):
    """What the files of a run take that is evaluated in slices."""

    kind = "disk"

    run_mb: Number
    """The run directory."""
    work_mb: Mapping[str, Number] = {}
    """Each directory of the working directory, which is removed after the run."""


class VisibleSample(Sample):
    kind = "visible"

    since_ns: Count
    partition: Count
    end: Annotated[int, Field(ge=0, le=2**40)]
