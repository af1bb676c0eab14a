"""The lines of ``samples/*.jsonl``, by the name of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from streamgauge.stored import Count, Moment, Number, Stored


class Sample(Stored):
    t_ns: Moment


class ResourceSample(Sample):
    role: str
    group: str
    cpu_s: Number | None = None
    rss_mb: Number | None = None
    heap_used_mb: Number | None = None
    heap_committed_mb: Number | None = None
    gc_count: Number | None = None
    gc_ms: Number | None = None


class MachineSample(Sample):
    load1: Number | None = None
    cpu_busy: Number | None = None
    steal: Number | None = None
    psi_cpu_some: Number | None = None
    psi_io_some: Number | None = None
    psi_memory_some: Number | None = None


class ClockSample(Sample):
    mono_ns: int
    bracket_ns: int


class PositionsSample(Sample):
    appended: Mapping[str, Count]
    consumed: Count | None


class VisibleSample(Sample):
    since_ns: Count
    partition: Count
    end: Annotated[int, Field(ge=0, le=2**40)]


KINDS: Mapping[str, type[Sample]] = {
    "resources": ResourceSample,
    "machine": MachineSample,
    "clock": ClockSample,
    "positions": PositionsSample,
    "visible": VisibleSample,
}
