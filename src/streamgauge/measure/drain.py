"""When a run is drained: nothing comes any more, for longer than this engine has ever paused before."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.model import QUIET_TRIGGERS

QUIET_GAPS = 3
"""An engine that once published nothing for a while may do so three times as long."""
LEAST_GAP_S = 1.5
"""Looks are a second apart: of a partition that has moved at each of them, no gap was seen."""


class QuietDetector:
    """Follows the output of a run, from the measured interval on, and decides when it has fallen quiet.

    ``least_s`` is the shortest silence that counts as quiet, ``pause_s`` what the workload itself makes every engine
    pause: the detector counts only what gaps have beyond it.
    """

    def __init__(
        self, least_s: float, trigger_s: float = 0.0, *, pause_s: float = 0.0, has_output: bool = True
    ) -> None:
        self._least_s = max(least_s, QUIET_TRIGGERS * trigger_s)
        self._pause_s = pause_s
        self._has_output = has_output
        self._ends: dict[int, int] = {}
        self._moved_s: dict[int, float] = {}
        self._longest_gap_s = 0.0
        self._most_lag = 0
        self._longest_wait_s = 0.0
        self._began: tuple[float, int] | None = None
        self._done = 0
        self._silent_since_s: float | None = None
        self.results_are_out = False
        """Whether the engine is known to have published the results of all its input: pauses mean nothing then."""

    @property
    def quiet_s(self) -> float:
        """Seconds without progress that count as quiet: at least ``least_s``, 3 triggers, 3 times what the longest gap
        between two outputs of a partition has beyond ``pause_s``, and the longest that records have waited; the first
        two alone if all results are out."""
        if self.results_are_out:
            return self._least_s
        return max(self._least_s, QUIET_GAPS * self._longest_gap_s, self._longest_wait_s)

    def see(self, now_s: float, ends: Mapping[int, int], lag: int | None, done: int | None, *, judged: bool) -> None:
        """One look: the end of each partition of the output, records that wait, and records done so far.

        ``judged`` is whether gaps and waits of this moment count; those of a cold start do not.
        """
        moved = {partition: end for partition, end in ends.items() if end != self._ends.get(partition, 0)}
        for partition in moved:
            gap_s = now_s - self._moved_s.get(partition, now_s)
            if judged and gap_s >= LEAST_GAP_S:
                self._longest_gap_s = max(self._longest_gap_s, gap_s - self._pause_s)
            self._moved_s[partition] = now_s
        self._ends |= moved
        # What has only just been consumed has its results still to come.
        if moved or (done or 0) > self._done or self._silent_since_s is None:
            self._silent_since_s = now_s
        if done and self._began is None:
            self._began = (now_s, done)
        if judged and lag:
            self._most_lag = max(self._most_lag, lag)
        # By the speed that is known by now: the first looks of a cold engine show hardly any, and one that takes
        # nothing at the moment shows none.
        if done and done > self._done and self._began is not None:
            began_s, first = self._began
            if now_s > began_s and done > first:
                self._longest_wait_s = self._most_lag * (now_s - began_s) / (done - first)
        self._done = done or 0

    def begin_drain(self, now_s: float) -> None:
        """Until now input was still coming: the silence counts from here."""
        self._silent_since_s = now_s

    def unknown(self) -> None:
        """A transport that did not answer is no evidence about the engine: the silence counts from its next answer."""
        self._silent_since_s = None

    def is_quiet(self, now_s: float, *, behind: bool) -> bool:
        """``behind`` is whether the engine is known not to have taken all of its input."""
        if behind:
            return False
        if not self._has_output:
            return True
        return self._silent_since_s is not None and now_s - self._silent_since_s >= self.quiet_s
