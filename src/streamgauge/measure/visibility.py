"""Watches when results of an engine that may write in transactions become visible, during the run.

The transport stamps a result when it is appended. It can be read when its transaction has been committed, and no stamp
records when that was. So the end of the output, as a reader of committed records sees it, is polled throughout.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence

from streamgauge import registry
from streamgauge.errors import EnvironmentProblem
from streamgauge.measure.plan import RunPlan
from streamgauge.model import numbered_ends
from streamgauge.model.samples import VisibleSample
from streamgauge.rundir import RunDir

EVERY_S = 0.02


class Visibility:
    """Asks for the ends in a thread of its own, from ``begin`` to ``end``; ``note`` gets lines of ``visible.jsonl``."""

    def __init__(
        self,
        ends: Callable[[], Mapping[int, int]],
        note: Callable[[Sequence[VisibleSample]], None],
        *,
        hidden: Callable[[], int] = lambda: 0,
        wanted: bool = True,
    ) -> None:
        self._ends = ends
        self._note = note
        self._hidden = hidden
        self._wanted = wanted
        self._opened = False
        self._seen: dict[int, int] = {}
        self._since_ns = 0
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def of(cls, plan: RunPlan, run: RunDir) -> Visibility:
        """Of a run's outputs. Where the engine certainly does not write in transactions, nothing is looked at."""
        scenario, transport, outputs = plan.request.scenario, plan.transport, plan.outputs
        may_hide = registry.engine(scenario.engine).traits.may_hide_results(scenario.engine_options)
        return cls(
            lambda: numbered_ends(outputs, {stream.name: transport.visible_ends(stream) for stream in outputs}),
            lambda lines: run.append_samples(*lines),
            hidden=lambda: sum(transport.hidden(stream) for stream in outputs),
            # A run in slices takes no engine that declares transactions, and looks for others at each slice.
            wanted=may_hide and bool(outputs) and not scenario.slice_s,
        )

    def begin(self) -> None:
        """From now on, while the output is still empty."""
        if not self._wanted:
            return
        self._since_ns = time.time_ns()
        self._thread = threading.Thread(target=self._look_on, name="visibility", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look once more, then no more. Nothing happens where it was never begun."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def hides_results(self) -> bool:
        """Whether results wait for the end of a transaction: one that a dead process left open ends by its timeout.

        Without an answer they may.
        """
        return self._wanted and self.hidden() != 0

    def hidden(self) -> int | None:
        """Places of the output behind an open transaction; None without an answer, or where it is not watched."""
        if not self._wanted:
            return None
        try:
            hidden = self._hidden()
        except EnvironmentProblem:
            return None
        self._opened = self._opened or hidden > 0
        return hidden

    def saw_transactions(self) -> bool:
        """Whether an open transaction was seen by now: the output's end then counts the marks of commits, too."""
        if not self._opened:
            self.hidden()
        return self._opened

    def _look_on(self) -> None:
        due_s = time.monotonic()
        while not self._over.wait(max(due_s - time.monotonic(), 0.0)):
            self.look()
            # A late answer is not made up for: two polls in a row show no more than one.
            due_s = max(due_s + EVERY_S, time.monotonic())
        self.look()

    def look(self) -> None:
        """Note every partition whose end has moved: not by ``since_ns``, when the look before was asked for, but by
        ``t_ns``, when the answer to this one came. Without an answer the next look speaks for this one too."""
        asked_ns = time.time_ns()
        try:
            ends = self._ends()
        except EnvironmentProblem:
            return
        t_ns = time.time_ns()
        moved = {partition: end for partition, end in ends.items() if end > self._seen.get(partition, 0)}
        if moved:
            self._note(
                [
                    VisibleSample(t_ns=t_ns, since_ns=self._since_ns, partition=partition, end=end)
                    for partition, end in sorted(moved.items())
                ]
            )
        self._seen |= moved
        self._since_ns = asked_ns
