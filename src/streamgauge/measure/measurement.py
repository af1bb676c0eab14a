"""The course of one run, from the first process to the summary."""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial

from streamgauge import registry
from streamgauge.errors import EngineFailed, EnvironmentProblem
from streamgauge.measure import liveness
from streamgauge.measure.evaluation import Evaluator
from streamgauge.measure.faults import PROXY
from streamgauge.measure.injection import FaultInjector
from streamgauge.measure.manifest import describe
from streamgauge.measure.observer import Observer
from streamgauge.measure.outcome import lost_members, never_started, note_cores, phase_of
from streamgauge.measure.plan import RunPlan
from streamgauge.measure.reporter import ProbeDecision, Referee, Reporter
from streamgauge.measure.results import is_missing
from streamgauge.measure.slices import Slicing
from streamgauge.measure.snapshot import Snapshots
from streamgauge.measure.visibility import Visibility
from streamgauge.model import NS_PER_S, TRANSPORT_GROUP
from streamgauge.model.outcome import Outcome
from streamgauge.model.summary import Summary
from streamgauge.notices import notice
from streamgauge.processes import leftovers, ports
from streamgauge.processes.supervisor import Supervisor
from streamgauge.rundir import RunDir

SERVED_S = 3.0
"""How long the input is read to see how fast the transport serves it."""
LEAD_S = 0.5
"""Between telling the load worker to start and its first record."""
LOAD_OVERRUN_S = 10.0
"""How long the load worker may take beyond its plan to hand over what it still owes; the run is INVALID long before."""
STALLED_S = 30.0
"""Without a schedule: how long a load worker that sends nothing more is waited for. It hands over within 20 s."""


class Measurement:
    """One run in its own processes. ``evaluator`` may be one that is kept between runs."""

    def __init__(
        self,
        plan: RunPlan,
        supervisor: Supervisor,
        reporter: Reporter,
        evaluator: Evaluator | None = None,
        referee: Referee | None = None,
    ) -> None:
        self.plan = plan
        self.scenario = plan.request.scenario
        self.run = RunDir(plan.request.out)
        self._supervisor, self._reporter, self._referee = supervisor, reporter, referee
        self._evaluator = evaluator or Evaluator(supervisor, plan.evaluator)
        self._observer = Observer(plan, self.run, supervisor, with_lag=referee is not None)
        self._progress, self._outcome = self._observer.progress, Outcome.blank()
        self._snapshots = Snapshots(plan, self._observer, self._outcome, reporter.snapshot)
        self._faults = FaultInjector(
            self.scenario, supervisor, reporter.say, plan.proxy_port, self._observer.read_by_nodes
        )
        self._visibility = Visibility.of(plan, self.run)
        self._slices: Slicing | None = None
        if self.scenario.slice_s:
            # An evaluator of its own: one that is kept between runs would take the CPU from what is measured.
            of_slices = Evaluator(supervisor, plan.evaluator)
            self._slices = Slicing(plan, self.run, of_slices, lambda: self._observer.taken, reporter.warn)
        self._to_check: ProbeDecision | None = None
        """Why a referee wants to know whether results are missing."""

    def measure(self) -> Summary:
        """Start everything, drive the load, drain, record, evaluate. Returns the summary.

        Raises EnvironmentProblem when something that is not under test does not start, or a port was taken. A system
        under test that does not start or dies is a finding: the summary says FAILED.
        """
        self._snapshots.begin()
        others = leftovers.interference(self._reporter.warn)
        self.run.write_manifest(describe(self.plan, list(others.values())))
        try:
            try:
                self._start_transport()
                if self.plan.transport.in_load:
                    self._prepare_load()
                if self.scenario.load.shape == "preloaded":
                    self._start_load()
                    self._watch_load()
                    self._start_engine_under_load()
                    assert self._outcome.engine_ready_ns is not None
                    self._faults.begin(self._outcome.engine_ready_ns)
                elif self.plan.request.load_first or self.scenario.load.before_engine:
                    self._start_load()
                    self._await_burst()
                    self._start_engine_under_load()
                    self._watch_load()
                else:
                    self._start_engine()
                    self._start_load()
                    self._watch_load()
                if not self._is_given_up():
                    self._drain()
                    self._settle_check()
            except EngineFailed:
                # What is known of a dead or never started engine; the evaluation turns it into a verdict.
                self._outcome.ended = self._outcome.ended or self._supervisor.ended()
            self._stop_measured()
        except KeyboardInterrupt:
            self._supervisor.announce_stop()
            self._outcome.interrupted = True
            self._abandon_slices()
            raise
        except Exception:
            self._abandon_slices()
            raise
        finally:
            self._visibility.end()
            self._observer.end()
            self._outcome.faults = self._faults.end()
            self._outcome.load_goes_first = len(self._progress.go_first) == len(self.plan.load)
            self._outcome.queries = [*self._progress.queries.values()]
            self._outcome.redirected = [*self._progress.redirected.values()]
            engine_here = registry.engine(self.scenario.engine).runs_here(self.scenario.engine_options)
            note_cores(self._outcome, self._observer.cores, engine_here, own_transport=self.plan.transport.own)
            lost, newcomers = lost_members(self._outcome, self._observer.lost), leftovers.newcomers(others)
            self._outcome.warnings = [*self.plan.warnings, *self._supervisor.warnings, *lost, *newcomers]
            self.run.write_outcome(self._outcome)
        return self._evaluate()

    def _start_transport(self) -> None:
        transport = self.plan.transport
        if self.plan.servers:
            self._reporter.phase(f"starting the {transport.title} {transport.server_noun}")
            self._supervisor.start_all(self.plan.servers)
        self._reporter.phase(f"creating {transport.stream_noun}s")
        transport.create(self.plan.streams)

    def _start_engine(self) -> None:
        self._reporter.phase(f"starting {self.scenario.engine}")
        self._visibility.begin()
        self._outcome.engine_start_ns = time.time_ns()
        for spec in self.plan.engine:
            try:
                self._supervisor.start(spec, on_event=self._progress.on_engine_event)
            except EngineFailed as failure:
                ports.check_bound(self.run, self.plan.engine, self.plan.job.ports, failure)
                self._outcome.ended = self._supervisor.ended() or [never_started(failure.role or spec.role, failure)]
                raise
        self._outcome.engine_ready_ns = time.time_ns()

    def _start_engine_under_load(self) -> None:
        """Go on sampling meanwhile: what an engine uses while it starts belongs to how it takes a burst."""
        started = threading.Event()
        sampling = threading.Thread(target=self._sample_until, args=(started,))
        sampling.start()
        try:
            self._start_engine()
        finally:
            started.set()
            sampling.join()

    def _sample_until(self, event: threading.Event) -> None:
        while not event.wait(1.0):
            self._sample()

    def _prepare_load(self) -> None:
        self._reporter.phase("preparing the load")
        self._supervisor.start_all(self.plan.load, on_event=self._progress.on_load_event)

    def _start_load(self) -> None:
        if not self.plan.transport.in_load:
            self._prepare_load()
        start_ns = time.time_ns() + round(LEAD_S * NS_PER_S)
        self._tell_load("start", start_ns)
        measured_start_ns = self._outcome.begin_load(start_ns, self.scenario.load)
        if self.scenario.load.shape != "preloaded":
            self._faults.begin(measured_start_ns)
        self._observer.begin()
        if self._slices is not None:
            self._slices.begin(self._outcome)

    def _is_given_up(self) -> bool:
        """Whether a referee wants no more of it, or what happens can no longer be evaluated."""
        return self._outcome.hopeless is not None or (self._slices is not None and self._slices.problem is not None)

    def _abandon_slices(self) -> None:
        """Evaluate no more of them. Those that were evaluated count: the run is taken to end now."""
        if self._slices is not None:
            self._slices.abandon()
            if self._outcome.load_start_ns is not None:
                self._outcome.drain_end_ns = self._outcome.drain_end_ns or time.time_ns()

    def _tell_load(self, command: str, at_ns: int) -> None:
        for spec in self.plan.load:
            self._supervisor.send(spec.role, f'{{"do":"{command}","at_ns":{at_ns}}}')

    def _load_done(self) -> bool:
        return len(self._progress.done) == len(self.plan.load)

    def _await_burst(self) -> None:
        """A backlog is there before the engine: wait until its time has passed and the transport has it."""
        load = self.scenario.load
        if load.shape != "single-burst":
            return
        assert self._outcome.load_start_ns is not None
        left_s = load.burst_s + (self._outcome.load_start_ns - time.time_ns()) / NS_PER_S
        self._each_second(
            until=lambda appended: appended is not None and self._observer.inputs_of(appended) >= load.burst_records,
            deadline=time.monotonic() + left_s + LOAD_OVERRUN_S,
            phase=lambda _: "filling the backlog",
        )

    def _watch_load(self) -> None:
        """Sample every second until the load worker is done."""
        assert self._outcome.load_start_ns is not None
        load = self.scenario.load
        started = time.monotonic() - (time.time_ns() - self._outcome.load_start_ns) / NS_PER_S
        sent, changed = 0, time.monotonic()

        def is_over(appended: Mapping[str, int] | None) -> bool:
            nonlocal sent, changed
            self._look_for_giving_out()
            over = self._ended_by_referee(appended) or self._load_done() or self._is_given_up()
            if over or self._outcome.load_error is not None:
                return True
            if self._progress.sent != sent:
                sent, changed = self._progress.sent, time.monotonic()
            return not load.scheduled and time.monotonic() - changed >= STALLED_S

        # Without a schedule the load has no end of its own: it is as long as it goes on.
        deadline = started + load.duration_s + LOAD_OVERRUN_S if load.scheduled else math.inf
        self._each_second(until=is_over, deadline=deadline, phase=partial(phase_of, self._outcome, load))
        self._look_for_giving_out()
        if self._is_given_up():
            return
        if self._load_done() and not load.scheduled:
            # What was sent is what is measured, while it was sent.
            self._outcome.measured_start_ns = self._outcome.load_start_ns
            end_ns = (self._progress.last_sent_ns or time.time_ns()) + 1
            self._outcome.measured_end_ns = self._outcome.load_end_ns = end_ns
        if not self._load_done() and self._outcome.load_error is None:
            late, stalled = notice("load-overrun", limit_s=LOAD_OVERRUN_S), notice("load-stalled", limit_s=STALLED_S)
            self._outcome.load_error = late if load.scheduled else stalled
            self._end_load()

    def _look_for_giving_out(self) -> None:
        """The engine let too much wait, or is gone: no more of it is wanted."""
        if (reason := self._progress.gave_out) and self._outcome.hopeless is None:
            self._outcome.hopeless = notice("gave-out", reason=reason)

    def _end_load(self) -> None:
        """No more records. Queues stay, for as long as there is an engine to read from them."""
        if self.plan.transport.in_load:
            self._tell_load("end", time.time_ns())
        else:
            self._supervisor.stop_group("load")

    def _ended_by_referee(self, appended: Mapping[str, int] | None) -> bool:
        """Ask the referee; True when all is over. After *enough* the load goes on for the tail.

        He is asked after the measured interval, too: then he has seen all of it.
        """
        outcome, load = self._outcome, self.scenario.load
        assert outcome.measured_start_ns is not None and outcome.measured_end_ns is not None
        now_ns = time.time_ns()
        if self._referee is None or appended is None:
            return False
        measured_s = (now_ns - outcome.measured_start_ns) / NS_PER_S
        decision = self._referee.look(
            self._observer.observation(measured_s, appended, output_known=not self._visibility.saw_transactions())
        )
        if decision is None:
            return False
        if decision.action == "hopeless":
            # The planned ends stay: the load is cut short, and what it did not send any more is not its fault.
            outcome.hopeless, outcome.hopeless_latency_ms = decision.reason, decision.latency_ms
            return True
        if decision.action == "check":
            self._to_check = decision
        if now_ns >= outcome.measured_end_ns:
            return False
        outcome.measured_end_ns = max(now_ns, outcome.measured_start_ns)
        outcome.load_end_ns = outcome.measured_end_ns + round(load.tail_s * NS_PER_S)
        self._tell_load("end", outcome.load_end_ns)
        return False

    def _drain(self) -> None:
        """Wait until no result comes any more, or for the scenario's deadline."""

        def is_quiet(appended: Mapping[str, int] | None) -> bool:
            if self._faults.is_acting:
                self._observer.begin_drain()  # silence counts from when it goes on
            if appended is None or self._faults.is_acting:
                return False
            quiet = self._observer.is_quiet(appended, engine_lives=self._lives("engine"))
            return quiet and not self._visibility.hides_results()

        def has_no_transport() -> bool:
            """Nobody will ever answer any more."""
            return bool(self.plan.servers) and not self._lives(TRANSPORT_GROUP) and not self._faults.is_restarting

        # Of a preloaded run, this is all of its work.
        phase = "processing" if self.scenario.load.shape == "preloaded" else "draining"
        self._reporter.phase(phase)
        self._observer.begin_drain()
        over = self._each_second(
            until=lambda appended: has_no_transport() or is_quiet(appended) or bool(self._progress.gave_out),
            deadline=time.monotonic() + self.scenario.drain_deadline_s,
            phase=lambda _: phase,
        )
        self._look_for_giving_out()
        self._outcome.drain = "quiet" if over and not has_no_transport() else "deadline"
        self._outcome.quiet_s = round(self._observer.quiet_s, 3)

    def _settle_check(self) -> None:
        """Give up a run in doubt after all, unless input was consumed whose results are missing: that is evaluated."""
        appended = self._sample() if self._to_check is not None else None
        if self._to_check is None or appended is None or self._visibility.saw_transactions():
            return
        inputs, quiet = self._observer.inputs_of(appended), self._outcome.drain == "quiet"
        if not is_missing(inputs, self._progress.consumed, self._observer.outputs_of(appended), quiet=quiet):
            self._outcome.hopeless, self._outcome.hopeless_latency_ms = self._to_check.reason, self._to_check.latency_ms

    def _each_second(
        self, until: Callable[[Mapping[str, int] | None], bool], deadline: float, phase: Callable[[float], str]
    ) -> bool:
        """Look after the run once a second. True as soon as ``until`` holds of the positions (None: not known)."""
        due = time.monotonic()
        appended: Mapping[str, int] = dict.fromkeys((stream.name for stream in self.plan.streams), 0)
        while time.monotonic() < deadline:
            liveness.check(self.plan, self._supervisor, self._faults, self._outcome)
            known = self._sample()
            appended = known or appended
            self._show(appended, phase)
            if until(known):
                return True
            due = max(due + 1.0, time.monotonic())
            time.sleep(max(due - time.monotonic(), 0.0))
        return False

    def _lives(self, group: str) -> bool:
        """Whether a process of this group is there, apart from those that only watch, and from our proxy."""
        return any(
            process.group == group and not process.spec.watches and process.role != PROXY
            for process in self._supervisor.processes()
        )

    def _sample(self) -> Mapping[str, int] | None:
        appended = self._observer.sample(self._outcome.measured_start_ns, disturbed=self._faults.has_acted)
        return self._snapshots.look(appended)

    def _show(self, appended: Mapping[str, int], phase: Callable[[float], str]) -> None:
        assert self._outcome.load_start_ns is not None
        elapsed_s = max((time.time_ns() - self._outcome.load_start_ns) / NS_PER_S, 0.0)
        self._reporter.tick(self._observer.tick(phase(elapsed_s), elapsed_s, appended))

    def _stop_measured(self) -> None:
        """Fix what counts as output, then stop load and engine."""
        self._faults.end()
        # Those that stop last take over from the others.
        self._outcome.assigned = {**self._progress.assigned}
        self._reporter.phase("stopping the engine")
        if self._outcome.load_start_ns is not None:
            self._outcome.drain_end_ns = time.time_ns()
            with contextlib.suppress(EnvironmentProblem):
                self._end_load()
            try:
                self._outcome.hidden = self._visibility.hidden()
                ends = {**self.plan.transport.ends(self.plan.outputs)}
                if self.plan.transport.in_load:
                    # The engine first: it would miss the queues.
                    self._supervisor.stop_group("engine")
                    self._supervisor.stop_group("load")
                self._outcome.note_ends({**self.plan.transport.ends(self.plan.inputs), **ends})
            except EnvironmentProblem as problem:
                # A dead transport: there is nothing to record, and the summary says why.
                self._outcome.ended = self._outcome.ended or self._supervisor.ended()
                self._reporter.warn(problem.message())
        self._supervisor.stop_group("engine")
        self._snapshots.end()
        if self.scenario.load.shape == "preloaded" and self._outcome.ends:
            self._reporter.phase(f"reading the input as fast as the {self.plan.transport.server_noun} serves it")
            with contextlib.suppress(EnvironmentProblem):
                self._outcome.served_per_s = self.plan.transport.served_per_s(self.plan.inputs, SERVED_S)

    def _evaluate(self) -> Summary:
        if self._slices is not None:
            self._evaluate_slices(self._slices)
        elif self._outcome.ends and self._outcome.hopeless is None:
            if self.plan.transport.complete_when_stopped:
                self._supervisor.stop_group(TRANSPORT_GROUP)
            self._reporter.phase(f"recording the {self.plan.transport.stream_noun}s")
            self._evaluator.record(self.run, self._reporter.phase, self._reporter.warn)
        self._supervisor.stop_group(TRANSPORT_GROUP)
        return self._evaluator.evaluate(self.run, self._reporter.phase, self._reporter.warn)

    def _evaluate_slices(self, slices: Slicing) -> None:
        """What is left. Without it there is a summary of the slices before."""
        self._reporter.phase("evaluating the last slices")
        slices.finish(self._outcome, self._reporter.phase)
        self._outcome.slices_error = slices.problem
        self._outcome.warnings = [*self._outcome.warnings, *slices.warnings]
        self.run.write_outcome(self._outcome)
        self._supervisor.stop_group("evaluate")
