"""``outcome.json``: what happened in a run. Written when the engine has stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ConfigDict

from streamgauge.shapes import NS_PER_S, LoadPlan
from streamgauge.stored import Count, Moment, Number, Stored


class EndedProcess(Stored):
    """A process that exited unexpectedly or never became usable."""

    role: str
    group: str
    exit_code: int | None
    """None if it never became usable."""
    watches: bool = False
    """Whether it only observes the system under test; its message then speaks of that."""
    message: str | None = None
    log_tail: str


class FaultRecord(Stored):
    """The outcome of a fault."""

    model_config = ConfigDict(frozen=False)  # filled in while the fault is injected

    fault: str
    number: Count | None = None
    """Its place among the faults of the run, from 1; None in early files."""
    verb: str
    role: str
    planned_ns: Moment | None
    acted_ns: Moment | None
    """Just before the signal or the cut."""
    restarted_ns: Moment | None = None
    """When a killed process was started again."""
    ended_ns: Moment | None
    """When a killed process was gone or, if it is started again, usable again; when a pause or a cut was over."""
    took_effect: bool
    why_not: str | None


class ScriptQuery(Stored):
    """A query that a user's script has started."""

    name: str
    sink: str
    output_mode: str
    windows: Sequence[Sequence[str]] = ()
    """Length, slide and start of each window that the script has asked for, as it says them."""


class Redirected(Stored):
    """Something that a user's script was to read or write, and what stood for it in the run."""

    what: str
    old: str
    new: str


class Outcome(Stored):
    model_config = ConfigDict(frozen=False)  # filled in during the run

    engine_start_ns: Moment | None = None
    """Just before the engine's first process was started."""
    engine_ready_ns: Moment | None = None
    """When all of the engine's processes were usable."""
    load_start_ns: Moment | None
    measured_start_ns: Moment | None
    measured_end_ns: Moment | None
    load_end_ns: Moment | None
    drain_end_ns: Moment | None
    drain: str | None
    quiet_s: Number | None = None
    """Seconds without output that count as quiet in this run."""
    interrupted: bool
    ends: Mapping[str, Mapping[str, Count]]
    """By stream and partition: what counts as input and output."""
    hidden: Count | None = None
    """Output offsets hidden by a transaction that was open at the end; None if not checked."""
    served_per_s: Number | None = None
    """Preloaded input: how fast a plain reader got it out of the transport when the engine had stopped."""
    ended: Sequence[EndedProcess]
    load_error: str | None
    load_goes_first: bool = False
    """Whether every load worker had priority over the engine."""
    hopeless: str | None = None
    """Why the run was stopped early."""
    hopeless_latency_ms: Number | None = None
    faults: Sequence[FaultRecord] = ()
    """The outcome of each fault, in the order of the request; one that repeats has an entry for each time."""
    cores: Mapping[str, Sequence[int]] = {}
    """The cores that the processes of each group were allowed to use."""
    shared_cores: bool | None = None
    """Whether the engine shared cores with transport or load; None if unknown."""
    slices_error: str | None = None
    """Why the evaluation of slices ended before the run did."""
    assigned: Mapping[str, Count] = {}
    """How many partitions of the inputs each process read when it was stopped, by the role of those that report it."""
    queries: Sequence[ScriptQuery] = ()
    redirected: Sequence[Redirected] = ()
    warnings: Sequence[str] = ()
    """Other events worth knowing; none of them necessarily invalidates the measurement."""

    @classmethod
    def blank(cls) -> Outcome:
        """The outcome of a run that has not started."""
        return cls(
            load_start_ns=None,
            measured_start_ns=None,
            measured_end_ns=None,
            load_end_ns=None,
            drain_end_ns=None,
            drain=None,
            interrupted=False,
            ends={},
            ended=(),
            load_error=None,
        )

    def as_json(self) -> dict[str, Any]:
        """With every key."""
        return self.model_dump()

    @property
    def looked_at_cores(self) -> bool:
        """False for earlier versions, which did not."""
        return "shared_cores" in self.model_fields_set

    def begin_load(self, start_ns: int, load: LoadPlan) -> int:
        """Set the planned times for a load that starts at ``start_ns``; returns the start of the measured interval."""
        self.load_start_ns = start_ns
        self.measured_start_ns = start_ns + round(load.warmup_s * NS_PER_S)
        self.measured_end_ns = self.measured_start_ns + round(load.measured_s * NS_PER_S)
        self.load_end_ns = start_ns + round(load.duration_s * NS_PER_S)
        return self.measured_start_ns

    def note_ends(self, ends: Mapping[str, Mapping[int, int]]) -> None:
        self.ends = {
            name: {str(partition): end for partition, end in partitions.items()} for name, partitions in ends.items()
        }
