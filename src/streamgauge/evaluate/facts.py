"""What is known of a run before its records are looked at: manifest and outcome, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from streamgauge import registry
from streamgauge.contracts import Transport, Workload
from streamgauge.model import NS_PER_MS, NS_PER_S, QUIET_S, QUIET_TRIGGERS, LoadPlan, Stream
from streamgauge.model.manifest import Manifest, ScenarioUsed
from streamgauge.model.outcome import EndedProcess, FaultRecord, Outcome
from streamgauge.model.samples import BatchSample
from streamgauge.rundir import RunDir
from streamgauge.stored import damaged

PARTS = 20
"""The measured interval is cut into this many parts: quarters and fifths are both made of whole ones."""


LONGEST_NS = 14 * 24 * 3600 * NS_PER_S
"""A warm-up and a measured interval take a week each at most."""


@dataclass(frozen=True)
class Moments:
    """When the phases of a run began and ended, in nanoseconds of real time.

    A run that was cut short (its engine died) has ``drain_end_ns`` before the planned end of its load.
    """

    load_start_ns: int
    measured_start_ns: int
    measured_end_ns: int
    load_end_ns: int
    drain_end_ns: int
    burst_end_ns: int | None = None
    """When the last record of a single burst was due."""
    first_fault_ns: int | None = None
    """When the first fault that took effect acted."""

    @property
    def plausible(self) -> bool:
        """Whether they can be those of a run."""
        in_order = self.load_start_ns <= self.measured_start_ns <= self.measured_end_ns
        return in_order and 0 <= max(self.drain_end_ns, self.load_end_ns) - self.load_start_ns <= LONGEST_NS

    @property
    def cut_short(self) -> bool:
        return self.drain_end_ns < self.load_end_ns

    @property
    def observed_end_ns(self) -> int:
        """The end of the measured interval, or of the run where that came first."""
        return max(min(self.measured_end_ns, self.drain_end_ns), self.measured_start_ns)

    @property
    def observed_s(self) -> float:
        return (self.observed_end_ns - self.measured_start_ns) / NS_PER_S

    @property
    def load_start_ms(self) -> int:
        return self.load_start_ns // NS_PER_MS

    @property
    def seconds(self) -> int:
        """Seconds from the start of the load to the end of the drain; the last one may be partial."""
        return max(-(-(self.drain_end_ns - self.load_start_ns) // NS_PER_S), 1)

    def measured_seconds(self) -> range:
        """The seconds of the run that end inside the measured interval and began in it."""
        first = -(-(self.measured_start_ns - self.load_start_ns) // NS_PER_S)
        end = (self.observed_end_ns - self.load_start_ns) // NS_PER_S
        return range(first, max(end, first))


@dataclass(frozen=True)
class Facts:
    """Manifest and outcome of a run. ``moments`` is None when the load never started or has no known end."""

    manifest: Manifest
    outcome: Outcome
    plan: LoadPlan
    streams: Sequence[Stream]
    moments: Moments | None

    @classmethod
    def read(cls, run: RunDir) -> Facts:
        run.samples(BatchSample)  # for the report alone, but what is damaged is refused before anything is written
        return cls.of(run, run.outcome())

    @classmethod
    def of(cls, run: RunDir, outcome: Outcome) -> Facts:
        """With an outcome that need not be written yet."""
        manifest = run.manifest()
        values = [
            outcome.load_start_ns,
            outcome.measured_start_ns,
            outcome.measured_end_ns,
            outcome.load_end_ns,
            outcome.drain_end_ns,
        ]
        plan = manifest.scenario.load.plan()
        moments = None
        if all(value is not None for value in values):
            moments = Moments(*(value for value in values if value is not None))
            if not moments.plausible:
                raise damaged(run.outcome_path, f"the moments {values}", "one after the other, within two weeks")
            if plan.shape == "single-burst":
                moments = replace(moments, burst_end_ns=moments.load_start_ns + plan.bursts[0].length_ns)
        if moments is not None and not any(stream.role == "input" for stream in manifest.streams):
            raise damaged(run.manifest_path, "streams without an input", None)
        if any(fault.took_effect and None in (fault.acted_ns, fault.planned_ns) for fault in outcome.faults):
            raise damaged(run.outcome_path, "a fault that took effect at no moment", None)
        if moments is not None:
            acted_ns = [fault.acted_ns for fault in outcome.faults if fault.took_effect and fault.acted_ns is not None]
            moments = replace(moments, first_fault_ns=min(acted_ns, default=None))
        return cls(
            manifest=manifest,
            outcome=outcome,
            plan=plan,
            streams=manifest.all_streams,
            moments=moments,
        )

    @property
    def scenario(self) -> ScenarioUsed:
        return self.manifest.scenario

    @property
    def inputs(self) -> list[Stream]:
        return [stream for stream in self.streams if stream.role == "input"]

    @property
    def outputs(self) -> list[Stream]:
        return [stream for stream in self.streams if stream.role == "output"]

    @property
    def workload(self) -> Workload:
        return registry.workload(self.scenario.workload, self.parameters)

    @property
    def transport(self) -> type[Transport]:
        return registry.transport(self.manifest.transport.name)

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Of the workload."""
        return self.scenario.parameters

    @property
    def faults(self) -> Sequence[FaultRecord]:
        """What became of each fault that was asked for."""
        return self.outcome.faults

    @property
    def faults_from_ns(self) -> int | None:
        """From when the moments of faults count: the start of the measured interval or, with preloaded input, the
        moment when the engine was usable."""
        if self.plan.shape == "preloaded":
            return self.outcome.engine_ready_ns
        return None if self.moments is None else self.moments.measured_start_ns

    @property
    def quiet_s(self) -> float:
        """Seconds without output after which this run's system counts as quiet."""
        # Runs of older versions did not note it.
        return float(self.outcome.quiet_s or max(QUIET_S, QUIET_TRIGGERS * self.manifest.engine.batch_interval_s))

    def ended(self, *groups: str) -> list[EndedProcess]:
        """Processes of these groups that ended unexpectedly."""
        return [process for process in self.outcome.ended if process.group in groups]
