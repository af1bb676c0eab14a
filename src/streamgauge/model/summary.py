"""``summary.json``: the results of a run (docs/reference/summary.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from pydantic import AliasChoices, Field

from streamgauge.stored import Count, Figures, Number, Positive, Stored

FORMAT: Final = 1

VerdictWord = Literal["VALID", "INVALID", "FAILED"]
State = Literal["steady", "drifting", "overloaded"]
Bounds = tuple[Number, Number]
"""The ends of an interval."""


class EngineUsed(Stored):
    name: str
    version: str
    options: Mapping[str, Any] = {}


class ScriptUsed(Stored):
    """A user's script."""

    name: str
    sha256: str
    reference: str | None = None
    """The sha256 of the file with the reference that results were checked against."""


class Rates(Stored):
    offered: Number | None
    achieved: Number | None
    worst_second: Number | None = None
    appended: Number | None = None
    output: Number | None


class GeneratorFigures(Stored):
    late_p50_ms: Number | None = None
    late_p99_ms: Number | None = None
    late_max_ms: Number | None = None
    late_p99_limit_ms: Positive | None = None
    late_max_limit_ms: Positive | None = None
    errors: Number | None = None


class Backlog(Stored):
    end: Number | None
    slope_per_s: Number | None
    slope_ci: Bounds | None = None
    slope_percent: Number | None = None
    slope_percent_ci: Bounds | None = None


class Trend(Stored):
    total_ms_per_s: Number | None = None
    total_ci: Bounds | None = None


class OneBurst(Stored):
    """One burst of a periodic load."""

    start_s: Number
    width_ms: Number | None = None
    wide: bool = False
    p50_before_ms: Number | None = None
    p50_peak_ms: Number | None = None
    p99_peak_ms: Number | None = None
    elevated_s: Number | None = None


class BurstFigures(Stored):
    """A single burst has the first three fields after ``kind``, periodic bursts the others."""

    kind: Literal["single", "periodic"]
    records: Number | None = None
    first_output_s: Number | None = None
    caught_up_s: Number | None = None
    bursts: Sequence[OneBurst] = ()
    wide: Number | None = None
    elevated_s: Number | None = None
    p99_peak_ms: Number | None = None


class ClockFigures(Stored):
    step_max_ms: Number | None = None
    broker_offset_ms: Bounds | None = None


class SloResult(Stored):
    run: str | None = None
    """In a set of runs: the run."""
    slo: str
    value: Number | None
    at_least: Number | None = None
    at_most: Number | None = None
    """The largest value there is, where too few results leave a percentile unknown."""
    limit: Number
    unit: str
    passed: bool


class FaultFigures(Stored):
    """How a run recovered from a fault."""

    fault: str
    number: Number | None = None
    """From 1, in the order of the request; None in early summaries."""
    verb: str
    role: str
    planned_s: Number | None = None
    acted_s: Number | None = None
    restarted_s: Number | None = None
    ended_s: Number | None = None
    took_effect: bool
    why_not: str | None
    latency: str | None
    outage_s: Number | None = None
    gap_before_s: Number | None = None
    first_output_s: Number | None = None
    latency_limit_ms: Number | None = None
    latency_back_s: Number | None = None
    backlog_limit: Number | None = None
    backlog_back_s: Number | None = None
    outage_worst_s: Number | None = None
    gap_before_worst_s: Number | None = None
    partitions: Number | None = None
    partitions_judged: Number | None = None
    partitions_affected: Number | None = None
    partitions_silent: Number | None = None

    @property
    def asked_and_hit(self) -> str:
        """The fault as it was asked for and, where that does not name the role, the one that it acted on."""
        return self.fault if f" {self.role} " in self.fault else f"{self.fault} ({self.role})"


class NodeFigures(Stored):
    """What a node of the engine received while the engine worked. None: not known."""

    role: str
    received_mb: Number | None = None
    from_transport_mb: Number | None = None
    reads: bool | None = None
    """Whether it read the input itself (``model.nodes``)."""


class Growth(Stored):
    """A trend, with its 95 % interval."""

    per_hour: Number
    low: Number
    high: Number


class Durability(Stored):
    """Of a run that was evaluated in slices."""

    index: Number | None
    """The share of the measured interval in which the system was available."""
    unavailable_s: Number
    gaps: Number
    longest_gap_s: Number
    gap_limit_s: Number
    """A longer silence is an outage."""
    failed_records: Number
    failed_rate: Number | None
    slices: Number
    slices_s: Number
    evaluated_s: Number
    """Up to which second of the run the slices were evaluated."""
    complete: bool
    growth_mb_per_hour: Mapping[str, Growth] = {}
    """Resident memory, by group of processes."""
    heap_growth_mb_per_hour: Growth | None = None
    """The heap of the engine's JVMs after garbage collections."""
    disk_growth_mb_per_hour: Mapping[str, Growth] = {}


class Repetition(Stored):
    """One run of a set."""

    run: str
    directory: str
    verdict: VerdictWord
    state: State | None
    total_p50: Number | None
    total_p99: Number | None
    rate_output: Number | None
    reasons: Sequence[str]
    invalid_attempts: Sequence[Repetition] = ()


class MedianInterval(Stored):
    total_p50: Bounds | None
    seed: int


class QueryMeasured(Stored):
    """A query of a user's script, by what its checkpoint shows."""

    name: str
    sink: str
    output_mode: str
    batches: Count
    """Committed in the measured interval."""
    records: Count
    not_committed: Count
    """Records of the measured interval that no batch has committed."""
    committed_ms: Figures
    """From the arrival of a record to the commit of its batch."""
    medians_ms: Sequence[Number | None] = ()
    """The median of the records that arrived in each second since the start of the load."""
    windows: Count = 0
    window_ms: Figures | None = None
    """From the arrival of a window's last record to the commit that has its result."""


class Summary(Stored):
    format: Literal[1] = FORMAT
    run: str
    study: str = ""
    scenario: str = ""
    profile: str = ""
    engine: EngineUsed
    script: ScriptUsed | None = Field(None, validation_alias=AliasChoices("script", "job"))
    """``job`` in early summaries."""
    verdict: VerdictWord
    validated: bool | None = None
    """False if the script has no reference. None in files of versions without scripts."""
    guarantee: str | None = None
    """For a run with faults: what was lost and duplicated, in one sentence; None if unknown."""
    state: State | None
    state_reason: str | None = None
    sustained: bool | None
    closed_loop: bool = False
    interrupted: bool = False
    reasons: Sequence[str]
    warnings: Sequence[str]
    results: Figures
    latency_ms: Mapping[str, Figures | None]
    """By kind of latency: count, missing, percentiles and their lower bounds (``p99_at_least``)."""
    rate_per_s: Rates
    generator: GeneratorFigures | None
    backlog: Backlog | None
    trend: Trend | None = None
    burst: BurstFigures | None = None
    clock: ClockFigures | None = None
    resources: Mapping[str, Figures] = {}
    """By group of processes."""
    repetitions: Sequence[Repetition] = ()
    slo: Sequence[SloResult]
    report: str = "report.html"
    resolution_ms: Mapping[str, Figures] = {}
    visible_resolution_ms: Mapping[str, Number | None] = {}
    faults: Sequence[FaultFigures] = ()
    processing: Mapping[str, Number | None] = {}
    nodes: Sequence[NodeFigures] = ()
    """Of the engine, in the order of the plan."""
    durability: Durability | None = None
    queries: Sequence[QueryMeasured] = ()
    """Of a user's script."""
    interval: MedianInterval | None = None
    """Only in a set of runs, like ``repeated``."""
    repeated: Sequence[str] = ()

    def latency(self, kind: str) -> Figures:
        """Empty if the run has no latency of that kind."""
        return self.latency_ms.get(kind) or {}

    def percentile_ms(self, kind: str, name: str) -> float | None:
        return self.latency(kind).get(name)

    @property
    def valid(self) -> bool:
        return self.verdict == "VALID"
