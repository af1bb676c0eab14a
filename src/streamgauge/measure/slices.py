"""Cuts a long run into slices, has them evaluated while it goes on, and removes what is no longer needed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from streamgauge import registry
from streamgauge.contracts import RunningWorkload, Transport
from streamgauge.errors import EnvironmentProblem, StreamgaugeError, UsageError
from streamgauge.measure.evaluation import Evaluator
from streamgauge.measure.plan import RunPlan
from streamgauge.model import NS_PER_MS, Scenario
from streamgauge.model.outcome import Outcome
from streamgauge.model.slices import SliceBounds
from streamgauge.notices import Notice, notice
from streamgauge.rundir import RunDir
from streamgauge.stored import write_json

SETTLE_S = 2.0
"""How long after its end a slice is cut: the transport's clock may be a little behind."""
PATIENCE_S = 60.0
"""How long the transport may not answer before a run that may have lasted for days is given up."""
RETRY_S = 1.0
BEHIND = 2
"""So many slices that wait are worth a warning."""

Say = Callable[[str], None]
Offsets = Mapping[str, Mapping[int, int]]


def check(scenario: Scenario) -> None:
    """Raises UsageError for a scenario that cannot be evaluated in slices."""
    workload, engine = registry.workload(scenario.workload, scenario.parameters), registry.engine(scenario.engine)
    why = None
    if scenario.load.shape != "constant":
        why = f"shape {scenario.load.shape}", "shape constant"
    elif not (isinstance(workload, RunningWorkload) and workload.counts_only):
        why = f"workload {workload.name}", "a workload whose results are running counts alone"
    elif scenario.script is not None:
        why = f"--script {scenario.script.path}", "a workload of its own"
    elif scenario.faults:
        why = f"--fault {str(scenario.faults[0])!r}", "no faults"
    elif engine.traits.is_transactional(scenario.engine_options):
        why = "results in transactions, which become visible later", "--set delivery=at-least-once"
    if why is not None:
        raise UsageError(
            f"this run cannot be evaluated in slices: --set slice_s={scenario.slice_s}",
            got=why[0],
            expected=why[1],
            hint="--set slice_s=0 evaluates it whole, after it has ended",
        )


class Slicing:
    """One slice after the other, in a thread of its own from ``begin`` to ``finish`` or ``abandon``.

    ``taken`` tells how far the engine has read each input for good; what it has not is not removed.
    """

    def __init__(
        self, plan: RunPlan, run: RunDir, evaluator: Evaluator, taken: Callable[[], Offsets], warn: Say
    ) -> None:
        self.problem: str | None = None
        """Why no further slice is evaluated."""
        self.warnings: list[Notice] = []
        self._warned: set[str] = set()
        self._plan, self._run, self._evaluator, self._taken, self._warn = plan, run, evaluator, taken, warn
        self._length_ms = 1000 * plan.request.scenario.slice_s
        self._load_start_ns = self._measured_end_ns = 0
        self._number = 0
        self._ends: Offsets = {stream.name: dict.fromkeys(range(stream.partitions), 0) for stream in plan.streams}
        self._over = threading.Event()
        """No slice is awaited any more."""
        self._abandoned = threading.Event()
        self._thread: threading.Thread | None = None
        self._clients: Transport | None = None

    def begin(self, outcome: Outcome) -> None:
        """The load has begun."""
        assert outcome.load_start_ns is not None and outcome.measured_end_ns is not None
        self._load_start_ns, self._measured_end_ns = outcome.load_start_ns, outcome.measured_end_ns
        self._thread = threading.Thread(target=self._go_on, name="slices", daemon=True)
        self._thread.start()

    def finish(self, outcome: Outcome, say: Say) -> None:
        """Evaluate what is left, up to the ends of the streams. ``problem`` is set where that fails.

        If interrupted, abandons it: the thread that still evaluates a slice must not repeat it.
        """
        try:
            self._stop()
            if self.problem is None and outcome.ends and outcome.drain_end_ns is not None:
                while self._next_ms() < min(self._measured_end_ns, outcome.drain_end_ns) // NS_PER_MS:
                    self._evaluate(self._next_ms(), self._offsets_at(self._next_ms()), say)
                ends = {
                    name: {int(partition): end for partition, end in partitions.items()}
                    for name, partitions in outcome.ends.items()
                }
                self._evaluate(None, ends, say)
        except StreamgaugeError as problem:
            self.problem = _first_line(problem)
        except BaseException:
            self.abandon()
            raise

    def abandon(self) -> None:
        """Evaluate nothing more: the run is given up."""
        self._evaluator.abandon()
        self._abandoned.set()
        self._over.set()

    def _stop(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _next_ms(self) -> int:
        """Where the next slice ends."""
        return self._load_start_ns // NS_PER_MS + (self._number + 1) * self._length_ms

    def _go_on(self) -> None:
        try:
            # What comes after the last whole slice of the measured interval belongs to the last slice.
            while self._next_ms() < self._measured_end_ns // NS_PER_MS:
                due_s = self._next_ms() / 1000 + SETTLE_S
                if self._over.wait(max(due_s - time.time(), 0.0)):
                    return
                self._warn_if_behind(time.time() - due_s)
                self._evaluate(self._next_ms(), self._offsets_at(self._next_ms()))
        except StreamgaugeError as problem:
            self.problem = _first_line(problem)
        except OSError as problem:  # such as a full disk
            self.problem = f"{problem.strerror}: {problem.filename}"

    def _offsets_at(self, moment_ms: int) -> Offsets:
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                return self._transport().offsets_at(self._plan.streams, moment_ms)
            except EnvironmentProblem:
                if time.monotonic() >= deadline or self._abandoned.wait(RETRY_S):
                    raise

    def _warn_if_behind(self, late_s: float) -> None:
        behind = int(1000 * late_s // self._length_ms)
        if behind >= BEHIND:
            slice_s = self._length_ms // 1000
            self._warn_once("speed", notice("slices-behind", behind=behind, slice_s=slice_s))

    def _warn_once(self, of: str, message: Notice) -> None:
        if of not in self._warned:
            self._warned.add(of)
            self.warnings.append(message)
            self._warn(message)

    def _evaluate(self, until_ms: int | None, ends: Offsets, say: Say = lambda text: None) -> None:
        """Of the streams up to these ends. ``until_ms`` is None for the last slice."""
        number = self._number + 1
        slice_ = self._run.slice_(number)
        slice_.path.mkdir(parents=True, exist_ok=True)
        bounds = SliceBounds(
            number=number,
            until_ms=until_ms,
            begins=_as_stored(self._ends),
            ends=_as_stored(ends),
            load_start_ns=self._load_start_ns,
            last=until_ms is None,
        )
        write_json(slice_.slice_bounds_path, bounds.as_json())
        self._evaluator.evaluate_slice(self._run, number, say, self._warn)
        self._number, self._ends = number, ends
        if until_ms is None:
            return
        try:
            self._trim(ends)
        except EnvironmentProblem as problem:
            # The next slice removes all up to its own end.
            why = _first_line(problem)
            self._warn_once("removal", notice("slices-not-removed", number=number, why=why))

    def _trim(self, ends: Offsets) -> None:
        """Remove what was recorded, from inputs only what the engine will not read again."""
        taken = self._taken()
        for stream in self._plan.streams:
            below = ends[stream.name]
            if stream.role == "input":
                read = taken.get(stream.name, {})
                below = {partition: min(end, read.get(partition, 0)) for partition, end in below.items()}
            self._transport().trim(stream, below)

    def _transport(self) -> Transport:
        """With clients of its own: those of the run are used by another thread."""
        if self._clients is None:
            described = self._plan.transport.describe()
            self._clients = registry.transport(described["name"]).attach(described)
        return self._clients


def _as_stored(offsets: Offsets) -> dict[str, dict[str, int]]:
    return {name: {str(partition): at for partition, at in by.items()} for name, by in offsets.items()}


def _first_line(problem: StreamgaugeError) -> str:
    return f"{problem.what}" if problem.got is None else f"{problem.what}, {problem.got}"
