"""What is seen of a run from outside, once a second: its resources, how full the streams are, whether it is quiet."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping

from streamgauge import registry
from streamgauge.errors import EnvironmentProblem
from streamgauge.machine.clock import read_clock
from streamgauge.measure.drain import QuietDetector
from streamgauge.measure.footprint import FOOTPRINT_S, footprint, sample_every_s
from streamgauge.measure.lag import LagMeter, Lags, Look
from streamgauge.measure.outcome import Progress
from streamgauge.measure.plan import RunPlan
from streamgauge.measure.reporter import LoadObservation, Tick
from streamgauge.measure.results import is_one_to_one
from streamgauge.measure.sampling import Sampler, machine_sample
from streamgauge.model import NS_PER_S, Positions, ResultKind, numbered_ends
from streamgauge.model.samples import PositionsSample, ResourceSample
from streamgauge.processes.supervisor import Supervisor
from streamgauge.rundir import RunDir


class Observer:
    """Samples a run and writes the samples into its directory. ``progress`` is what its processes report.

    ``with_lag`` is whether the lag is needed, which is then sampled several times a second.
    """

    def __init__(self, plan: RunPlan, run: RunDir, supervisor: Supervisor, *, with_lag: bool) -> None:
        self.progress = Progress()
        self.lags = Lags()
        self._plan, self._run = plan, run
        self._scenario = plan.request.scenario
        self._sampler = Sampler(supervisor.processes)
        engine = registry.engine(self._scenario.engine)
        self._commits_offsets = engine.traits.commits_offsets
        workload = registry.workload(self._scenario.workload)
        self._kind, self._folded = workload.kind, workload.folded
        unvalidated = self._scenario.script is not None and not self._scenario.script.key
        # Of preloaded input, when all was consumed is the end of a run whose last records change no running result.
        is_end = self._scenario.load.shape == "preloaded" and self._kind is ResultKind.RUNNING
        by_position = unvalidated or is_end or self._kind in (ResultKind.FILTER, ResultKind.NONE)
        self._lag = LagMeter(self._look_at_lag, wanted=with_lag or by_position)
        self._one_to_one = is_one_to_one(self._scenario)
        # A restarted engine may publish results again that were out before.
        self._reports_published = (
            not self._scenario.faults
            and self._scenario.script is None
            and self._kind is not ResultKind.FINAL_PER_KEY
            and engine.micro_batches(self._scenario.engine_options)
        )
        interval_s = engine.batch_interval_s(self._scenario.engine_options)
        pause_s = 0.0 if self._scenario.script else workload.pause_s(self._scenario.parameters)
        self._quiet = QuietDetector(self._scenario.quiet_s, interval_s, pause_s=pause_s, has_output=bool(plan.outputs))
        self._sampled_consumed: int | None = None
        self.taken: Mapping[str, Mapping[int, int]] = {}
        """How far the engine has read each partition of each input for good, where that is known."""
        self.resources: list[ResourceSample] = []
        """Of each role, at the last look."""
        self.is_draining = False
        self._every_ns = round(sample_every_s(self._scenario) * NS_PER_S)
        self._sampled_ns = self._measured_files_ns = 0
        self._last_tick: tuple[float, int, int] = (time.monotonic(), 0, 0)

    @property
    def cores(self) -> Mapping[str, frozenset[int]]:
        """What the processes of each group were allowed."""
        return self._sampler.cores

    @property
    def lost(self) -> list[tuple[int, str]]:
        """When a process that the engine starts itself was seen to have ended, and its role."""
        return self._sampler.lost

    def read_by_nodes(self) -> dict[str, float]:
        """Bytes that each node of the engine has received from the transport so far; empty where it is not known."""
        received = self._sampler.network.from_transport
        nodes = (spec for spec in self._plan.engine if spec.node)
        return {spec.role: sum(received.get(role, 0) for role in spec.own_roles) for spec in nodes} if received else {}

    @property
    def quiet_s(self) -> float:
        """Seconds without output that count as quiet."""
        return self._quiet.quiet_s

    def begin(self) -> None:
        """From now on, sample the lag if it is needed, and tell what comes from the transport."""
        with contextlib.suppress(EnvironmentProblem):
            self._sampler.network.transport_ports = self._plan.transport.client_ports()
        self._lag.begin()

    def end(self) -> None:
        self._lag.end()

    def sample(self, measured_start_ns: int | None, *, disturbed: bool = False) -> Mapping[str, int] | None:
        """Note resources, machine, clock and positions; returns how much each stream holds, where it is known.

        ``disturbed``: a fault has acted, so that a gap of the output no longer shows how long the engine pauses.
        """
        t_ns = time.time_ns()
        # Looks are a second apart, give or take; in most runs each is written.
        due = self._every_ns <= NS_PER_S or t_ns - self._sampled_ns >= self._every_ns - NS_PER_S // 2
        if due:
            self._sampled_ns = t_ns
            self.resources = self._sampler.sample(t_ns)
            self._run.append_samples(*self.resources, machine_sample(t_ns), read_clock())
        if self._scenario.slice_s and t_ns - self._measured_files_ns >= max(self._every_ns, FOOTPRINT_S * NS_PER_S):
            self._measured_files_ns = t_ns
            self._run.append_samples(*footprint(t_ns, self._run, self._plan.work_dir))
        progress = self.progress
        try:
            positions = self._plan.transport.positions(self._plan.streams, self._group())
        except EnvironmentProblem:
            # A run continues without the positions of one second.
            self._quiet.unknown()
            return None
        appended, progress.committed = positions.appended, positions.consumed
        self._sampled_consumed = progress.consumed
        is_measuring = measured_start_ns is not None and time.time_ns() >= measured_start_ns
        self._follow_output(appended, positions.ends, judged=is_measuring and not disturbed)
        sample = PositionsSample(
            t_ns=t_ns,
            appended=appended,
            consumed=self._sampled_consumed,
            sent=progress.sent,
            lag_by_partition=self._lag_by_partition(positions),
        )
        self.lags = self._lag.take()
        if self.lags.by_consumed is not None:
            sample = sample.with_changes(
                lag=round(self.lags.by_consumed.mean, 1),
                consumed_since_ns=self._lag.consumed_since_ns(self._sampled_consumed),
            )
        self.taken = self._taken_for_good(positions)
        if due:
            self._run.append_samples(sample, *progress.take_batches())
        return appended

    def begin_drain(self) -> None:
        self.is_draining = True
        self._quiet.begin_drain(time.monotonic())

    def is_quiet(self, appended: Mapping[str, int], *, engine_lives: bool) -> bool:
        """Whether no result comes any more, and the engine has consumed all that it still can."""
        # Not a report that came since: the evaluation has the samples alone, so the last must hold what was consumed.
        consumed = self._sampled_consumed
        # What is committed is done for good; what has only been read may be read again after a fault. Without one,
        # it is not waited for: Flink 2 commits up to ten seconds late when its input has ended.
        if self._commits_offsets and (self._scenario.faults or consumed is None):
            consumed = self.progress.committed or 0
        if consumed is None and self._kind is ResultKind.NONE:
            return False  # nothing else shows when it is done
        # An engine that a fault has ended will not catch up.
        behind = consumed is not None and consumed < self.inputs_of(appended) and engine_lives
        self._quiet.results_are_out = self._reports_published and (consumed or 0) >= self.inputs_of(appended)
        return self._quiet.is_quiet(time.monotonic(), behind=behind)

    def tick(self, phase: str, elapsed_s: float, appended: Mapping[str, int]) -> Tick:
        """What the live view shows of the time since the last tick."""
        now, load, progress = time.monotonic(), self._scenario.load, self.progress
        then, sent, output = self._last_tick
        self._last_tick = (now, progress.sent, self.outputs_of(appended))
        seconds = max(now - then, 1e-9)
        return Tick(
            phase=phase,
            elapsed_s=elapsed_s,
            planned_s=load.duration_s,
            offered_per_s=load.offered_before(elapsed_s),
            sent_per_s=(progress.sent - sent) / seconds,
            output_per_s=(self.outputs_of(appended) - output) / seconds,
            lag=None if progress.consumed is None else max(self.inputs_of(appended) - progress.consumed, 0),
            late_max_ms=progress.late_max_ms,
            errors=progress.errors,
        )

    def observation(self, measured_s: float, appended: Mapping[str, int], *, output_known: bool) -> LoadObservation:
        """What a referee looks at, after so much of the measured interval."""
        return LoadObservation(
            measured_s=measured_s,
            offered_per_s=self._scenario.load.rate_per_s,
            sent=self.progress.sent,
            appended=self.inputs_of(appended),
            consumed=self.progress.consumed,
            output=self.outputs_of(appended) if output_known else None,
            late_max_ms=self.progress.late_max_ms,
            lags=self.lags,
        )

    def inputs_of(self, appended: Mapping[str, int]) -> int:
        return sum(appended[stream.name] for stream in self._plan.inputs)

    def outputs_of(self, appended: Mapping[str, int]) -> int:
        """Results; of a folded output only the engine's own reports tell how many."""
        if self._folded:
            return self.progress.consumed or 0
        return sum(appended[stream.name] for stream in self._plan.outputs)

    def _follow_output(
        self, appended: Mapping[str, int], ends: Mapping[str, Mapping[int, int]], *, judged: bool
    ) -> None:
        consumed = self._sampled_consumed
        done = self.outputs_of(appended) if consumed is None and self._one_to_one else consumed
        # What was there before the engine waited for its start, which does not show how long it pauses.
        no_lag = done is None or self._plan.request.load_first or self._scenario.load.shape == "preloaded"
        self._quiet.see(
            time.monotonic(),
            numbered_ends(self._plan.outputs, ends),
            lag=None if no_lag else self.inputs_of(appended) - (done or 0),
            done=done,
            judged=judged,
        )

    def _taken_for_good(self, positions: Positions) -> Mapping[str, Mapping[int, int]]:
        """What is committed; of an engine that commits nothing, what it reports."""
        if self._commits_offsets:
            return positions.committed
        reported = self.progress.reported_offsets or {}
        return {stream.name: reported.get(stream.address, {}) for stream in self._plan.inputs}

    def _lag_by_partition(self, positions: Positions) -> dict[str, list[int]] | None:
        reported, taken = self.progress.reported_offsets, positions.committed
        if reported is not None:
            taken = {stream.name: reported.get(stream.address, {}) for stream in self._plan.inputs}
        if not taken:
            return None
        return {
            stream.name: [
                # What the engine reports may be newer than the ends.
                max(end - taken.get(stream.name, {}).get(partition, 0), 0)
                for partition, end in sorted(positions.ends[stream.name].items())
            ]
            for stream in self._plan.inputs
        }

    def _look_at_lag(self) -> Look | None:
        try:
            positions = self._plan.transport.positions(self._plan.streams, self._group())
        except EnvironmentProblem:
            return None
        consumed = positions.consumed if self.progress.reported_consumed is None else self.progress.reported_consumed
        return self.inputs_of(positions.appended), self.outputs_of(positions.appended), consumed

    def _group(self) -> str | None:
        """The consumer group whose offsets show the engine's progress; None where the engine reports it itself."""
        return self._plan.job.group if self._commits_offsets or self.progress.reported_consumed is None else None
