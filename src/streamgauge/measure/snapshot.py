"""The figures of a running measurement for whoever wants to follow it, from what is sampled anyway."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from streamgauge import registry
from streamgauge.measure.outcome import phase_of
from streamgauge.model import NS_PER_S, QUIET_TRIGGERS
from streamgauge.model.outcome import Outcome
from streamgauge.model.samples import ResourceSample

if TYPE_CHECKING:
    from streamgauge.measure.observer import Observer
    from streamgauge.measure.plan import RunPlan

WAIT_S = 10.0
"""The engine's speed is that of the last seconds: in a single one, an engine with batches may take nothing."""


@dataclass(frozen=True)
class Snapshot:
    """What is known of a run at one look. None: not known. Totals count from the start of the run."""

    run: str
    scenario: str
    engine: str
    phase: str = "starting"
    """starting, preloading, filling, warm-up, measuring, tail, draining, processing or evaluating."""
    offered: int | None = None
    """Records that were due by now, by the plan."""
    sent: int | None = None
    appended: int | None = None
    output: int | None = None
    lag: int | None = None
    wait_s: float | None = None
    """About how long a record that arrives now waits until the engine takes it."""
    resources: Sequence[ResourceSample] = ()
    """Of each role that is running."""


Publish = Callable[[Snapshot], None]


def publish_nowhere(snapshot: Snapshot) -> None:
    """Nobody follows the run."""


class Snapshots:
    """Makes a snapshot of each look of the observer and publishes it. Asks nobody anything."""

    def __init__(self, plan: RunPlan, observer: Observer, outcome: Outcome, publish: Publish) -> None:
        self._observer, self._outcome, self._publish = observer, outcome, publish
        scenario = plan.request.scenario
        engine = registry.engine(scenario.engine)
        self._load = scenario.load
        self._blank = Snapshot(plan.run, f"{scenario.study}/{scenario.name}", scenario.engine)
        # With transactions, the end of the output counts the marks of commits, too.
        self._has_output = bool(plan.outputs) and not engine.traits.is_transactional(scenario.engine_options)
        self._is_folded = registry.workload(scenario.workload).folded
        self._wait = WaitEstimate(max(WAIT_S, QUIET_TRIGGERS * engine.batch_interval_s(scenario.engine_options)))
        self._offered = self._output = 0

    def begin(self) -> None:
        """Of this run nothing is known yet, and of the one before nothing counts any more."""
        self._publish(self._blank)

    def look(self, appended: Mapping[str, int] | None) -> Mapping[str, int] | None:
        """Publish what the observer has just sampled; ``appended`` is what it returned, and is returned again."""
        seen = self._totals(appended)
        wait_s = self._wait.look(time.monotonic(), seen.lag, self._observer.progress.consumed)
        self._publish(replace(seen, phase=self._phase(), wait_s=wait_s, resources=tuple(self._observer.resources)))
        return appended

    def end(self) -> None:
        """Publish what counts of the run. Load and engine are being stopped: nobody waits, and nothing is used."""
        ends = {name: sum(partitions.values()) for name, partitions in self._outcome.ends.items()}
        self._publish(replace(self._totals(ends or None), phase="evaluating"))

    def _totals(self, appended: Mapping[str, int] | None) -> Snapshot:
        progress = self._observer.progress
        if self._outcome.load_start_ns is None:
            return self._blank
        known = replace(self._blank, offered=self._offered_by_now(), sent=progress.sent)
        if appended is None:
            return known
        inputs = self._observer.inputs_of(appended)
        is_counted = self._has_output and not (self._is_folded and progress.consumed is None)
        # A system that is started again from an older checkpoint reports less; a counter must not go back.
        self._output = max(self._output, self._observer.outputs_of(appended))
        return replace(
            known,
            appended=inputs,
            output=self._output if is_counted else None,
            # What the engine reports may be newer than the ends.
            lag=None if progress.consumed is None else max(inputs - progress.consumed, 0),
        )

    def _offered_by_now(self) -> int | None:
        """None without a schedule, and while the clock is before the start of the load or has been set back."""
        start_ns, end_ns = self._outcome.load_start_ns, self._outcome.load_end_ns
        assert start_ns is not None and end_ns is not None
        elapsed_ns = min(time.time_ns(), end_ns) - start_ns
        if not self._load.scheduled or elapsed_ns < 0:
            return None
        offered = self._load.count_before(elapsed_ns)
        if offered < self._offered:
            return None
        self._offered = offered
        return offered

    def _phase(self) -> str:
        outcome, load = self._outcome, self._load
        if outcome.load_start_ns is None:
            return "starting"
        if self._observer.is_draining:
            return "processing" if load.shape == "preloaded" else "draining"
        if load.shape != "preloaded" and outcome.engine_ready_ns is None:
            return "filling"
        return phase_of(outcome, load, (time.time_ns() - outcome.load_start_ns) / NS_PER_S)


class WaitEstimate:
    """The lag divided by the speed at which the engine has taken records over the last ``window_s`` seconds."""

    def __init__(self, window_s: float) -> None:
        self._window_s = window_s
        self._looks: deque[tuple[float, int]] = deque()

    def look(self, now_s: float, lag: int | None, consumed: int | None) -> float | None:
        """None while the engine takes nothing, or where it is not known what it has taken."""
        if lag is None or consumed is None:
            return None
        looks = self._looks
        looks.append((now_s, consumed))
        # The last look before the window stays: it shows where the engine was when the window began.
        while len(looks) > 1 and looks[1][0] <= now_s - self._window_s:
            looks.popleft()
        if lag == 0:
            return 0.0
        then_s, before = looks[0]
        return lag * (now_s - then_s) / (consumed - before) if consumed > before else None
