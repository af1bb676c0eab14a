"""Ends a load early: of a probe whose verdict is certain, and of a backlog whose draining has been observed.

A live lag is the inputs appended whose result is not out yet, where a record has one result; else the inputs that the
engine had not consumed, as far as it reported; both as a mean over time. The former is the backlog that the evaluation
finds: where the rule is its slope, a probe that failed by it is over, and its millions of records are not recorded and
matched for the same verdict. A probe that may have sustained the rate is evaluated in full, and so is one whose engine
consumed its input although results are missing: see ``may_have_lost``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Literal

import numpy as np

from streamgauge.evaluate import sustained
from streamgauge.evaluate.metrics.trend import Series
from streamgauge.measure.lag import Lag
from streamgauge.measure.reporter import LoadObservation, ProbeDecision
from streamgauge.notices import NOTHING, Notice, notice

PROBE_S = 30.0
STEPS = 2
"""An undecided probe is extended by one length at a time, up to this many: docs/why/short-probes.md."""
HOPELESS_AFTER_S = 5.0
HOPELESS_GROWN_S = (3.0, 2.0)
"""Seconds of load by which the lag must have grown in the first half of the probe, and in the second. A machine that is
slow for some seconds lets it grow by one, and the engine makes up for that."""
HOPELESS_SHARE = 0.03
"""Of the offered rate: three times what the rule allows the lag to grow by."""
HOPELESS_MOVES = 5
"""The lag counts right after the engine moved, so that one long micro-batch is not a trend; this many are needed."""
MOVED_SHARE = 0.1
"""Of the offered rate: an engine that is slower than this from one look to the next has not moved."""
HOPELESS_STEADY = 0.8
"""Share of the growth that must still be there in the last third: an engine that warms up falls behind ever less."""
EXPLAINED_SHARE = 0.5
"""Of a lag, or of its growth: if unconsumed input explains less than this, results may be lost."""
UNANSWERED_SHARE = 0.02
"""Of the records consumed in a drain: if more stay without a result, results may be lost."""
STALLED_LOOKS = 3
"""Looks in which the lag of a drain has not fallen, after which its results do not catch up any more."""
DRAIN_MOVES = 3
"""Moments at which something was done that a drain's speed needs: fewer are mostly one batch."""


@dataclass(frozen=True)
class Point:
    """What one look showed: when, how many records were done, how many were waiting."""

    at_s: float
    done: int
    lag: float
    """On average since the look before."""
    least: float
    """The fewest since then: the lower edge of a sawtooth."""


def point(observation: LoadObservation, one_to_one: bool) -> Point | None:
    """None where the lag is not known."""
    one_to_one = one_to_one and observation.output is not None
    done = observation.output if one_to_one else observation.consumed
    if done is None:
        return None
    lag = observation.lags.by_output if one_to_one else observation.lags.by_consumed
    if lag is None:
        now = float(max(observation.appended - done, 0))
        lag = Lag(now, now)
    return Point(observation.measured_s, done, lag.mean, lag.least)


def _over_time(points: Sequence[Point], values: Sequence[float]) -> Series:
    return Series(np.array([point.at_s for point in points]), np.array(values))


def waiting(points: Sequence[Point], offered_per_s: float) -> Series:
    """The lag in seconds of load, as the evaluation looks at a backlog."""
    return _over_time(points, [point.lag / offered_per_s for point in points])


def by_slope(points: Sequence[Point], offered_per_s: float) -> sustained.Finding:
    """The finding of the rule ``slope`` on this lag."""
    return sustained.slope(sustained.Evidence(median_ms=0.0, waiting=waiting(points, offered_per_s)))


def why_hopeless(points: Sequence[Point], offered_per_s: float, probe_s: float) -> Notice | None:
    """Why the rate is certainly not sustained; None while that is not certain.

    Looked at are the lags right after the engine moved (the lower edge of a sawtooth). They must grow by more than
    three times what the rule allows, hardly slower in the last third than before, and in all by more load than arrives
    during the longest batch: batches of unequal length alone cannot do that, nor can some slow seconds of the machine
    make up the seconds of load that it takes at least.
    """
    lasted_s = points[-1].at_s - points[0].at_s if points else 0.0
    if lasted_s < HOPELESS_AFTER_S:
        return None
    edge = [now for before, now in pairwise(points) if _moved(before, now, offered_per_s)]
    if len(edge) < HOPELESS_MOVES:
        return None
    longest_s = max(now.at_s - before.at_s for before, now in pairwise(edge))
    whole_per_s, late_per_s = _growth_per_s(edge), _growth_per_s(edge[-max(len(edge) // 3, 2) :])
    grown = edge[-1].least - edge[0].least
    least_s = max(longest_s, HOPELESS_GROWN_S[lasted_s >= probe_s / 2])
    if grown < least_s * offered_per_s or late_per_s < HOPELESS_STEADY * whole_per_s:
        return None
    slope = _over_time(edge, [point.least for point in edge]).slope()
    if slope is None or slope.low < HOPELESS_SHARE * offered_per_s:
        return None
    return notice("hopeless-lag", per_s=slope.per_s, low=slope.low, load_s=edge[-1].least / offered_per_s)


def may_have_lost(lag: Sequence[Point], unconsumed: Sequence[Point], offered_per_s: float) -> bool:
    """Whether results may be missing of input that the engine has consumed.

    ``lag`` counts the inputs without a result, ``unconsumed`` those that the engine has not consumed. False where the
    unconsumed inputs explain at least half of the lag and of its growth. True, too, where it is not reported what was
    consumed. Compared are the values right after the engine moved, at the start and at the end.
    """
    if len(unconsumed) < 2:
        return True
    first, last = _ends(lag, offered_per_s)
    first_unconsumed, last_unconsumed = _ends(unconsumed, offered_per_s)
    grown, grown_unconsumed = last - first, last_unconsumed - first_unconsumed
    level_unexplained = last_unconsumed < EXPLAINED_SHARE * last
    return level_unexplained or (grown > 0 and grown_unconsumed < EXPLAINED_SHARE * grown)


def _ends(points: Sequence[Point], offered_per_s: float) -> tuple[float, float]:
    """The median of the lowest lags of the first third of the looks at which the engine had moved, and of the last."""
    moved = [now for before, now in pairwise(points) if _moved(before, now, offered_per_s)]
    chosen = moved if len(moved) > 1 else points
    third = max(len(chosen) // 3, 1)
    return median(point.least for point in chosen[:third]), median(point.least for point in chosen[-third:])


def latency_ms(points: Sequence[Point], offered_per_s: float) -> float:
    """How long a record waits behind the median lag (Little's law)."""
    return 1000 * median(point.lag for point in points) / offered_per_s


def _moved(before: Point, now: Point, offered_per_s: float) -> bool:
    """A trickle out of the middle of a batch is not its end."""
    return now.done - before.done >= MOVED_SHARE * offered_per_s * (now.at_s - before.at_s)


def _growth_per_s(points: Sequence[Point]) -> float:
    """The straight way from the first point to the last."""
    return (points[-1].least - points[0].least) / max(points[-1].at_s - points[0].at_s, 1e-9)


def why_too_slow(points: Sequence[Point], offered_per_s: float, probe_s: float) -> Notice | None:
    """Why the median latency will certainly be above what rules allow; None while that is not certain.

    Looked at after a third of the probe. The wait behind a lag is the lag over the speed at which the engine takes
    records. Had it been too long all the time and went down as fast as it can have (lower bound of the lag's trend), it
    would still be too long in the middle of the probe: half of the records wait too long.
    """
    if points[-1].at_s < probe_s / 3 or points[-1].at_s == points[0].at_s:
        return None
    speed_per_s = (points[-1].done - points[0].done) / (points[-1].at_s - points[0].at_s)
    limit = max(speed_per_s, offered_per_s) * sustained.MEDIAN_LIMIT_MS / 1000
    if min(point.least for point in points) < limit:
        return None
    slope = _over_time(points, [point.lag for point in points]).slope()
    if slope is None or points[-1].lag + min(slope.low, 0.0) * max(probe_s / 2 - points[-1].at_s, 0.0) < limit:
        return None
    limit_s = sustained.MEDIAN_LIMIT_MS / 1000
    return notice("hopeless-wait", wait_s=points[-1].lag / limit * limit_s, limit_s=limit_s)


@dataclass
class ProbeReferee:
    """Ends a probe that is decided, at its length and every length after that, and a hopeless one at once."""

    one_to_one: bool
    probe_s: float
    least_s: float
    """Measured seconds before which it is never *enough*."""
    longest_s: float
    """Measured seconds after which it has come to its end."""
    rule: str | None = None
    """The scenario's, by name."""
    decision: ProbeDecision | None = None
    decided_s: float = 0.0
    """Measured seconds when it was called."""
    _points: list[Point] = field(default_factory=list)
    _unconsumed: list[Point] = field(default_factory=list)
    _due: int = 1

    def look(self, observation: LoadObservation) -> ProbeDecision | None:
        if self.one_to_one and observation.output is None:
            # What was counted so far has marks of transactions in it.
            self.one_to_one = False
            self._points.clear()
        look = point(observation, self.one_to_one)
        if self.decision is not None or look is None or observation.measured_s < 0:
            return None
        if observation.measured_s >= self.longest_s:
            self.decision = self._at_the_end(observation.offered_per_s)
        else:
            self._points.append(look)
            if (unconsumed := point(observation, one_to_one=False)) is not None:
                self._unconsumed.append(unconsumed)
            self.decision = self._on_the_way(observation)
        if self.decision is not None:
            self.decided_s = observation.measured_s
        return self.decision

    def _on_the_way(self, observation: LoadObservation) -> ProbeDecision | None:
        points, offered_per_s = self._points, observation.offered_per_s
        certain = why_hopeless(points, offered_per_s, self.probe_s)
        if not certain and sustained.limits_latency(self.rule):
            certain = why_too_slow(points, offered_per_s, self.probe_s)
        if certain:
            return self._hopeless(certain, offered_per_s)
        if observation.measured_s < self._due * self.probe_s:
            return None
        self._due = int(observation.measured_s // self.probe_s) + 1
        finding = by_slope(points, offered_per_s)
        if observation.measured_s < self.least_s or finding.held is None:
            return None
        return self._failed(finding, offered_per_s) or ProbeDecision("enough")

    def _at_the_end(self, offered_per_s: float) -> ProbeDecision | None:
        """If the rule is still undecided, its point estimate decides."""
        finding, slope = by_slope(self._points, offered_per_s), waiting(self._points, offered_per_s).slope()
        if finding.held is None and slope is not None:
            finding = sustained.by_estimate(slope.per_s)
        return self._failed(finding, offered_per_s)

    def _failed(self, finding: sustained.Finding, offered_per_s: float) -> ProbeDecision | None:
        if finding.held is not False or self.rule != "slope" or not self.one_to_one:
            return None
        return self._hopeless(finding.why, offered_per_s, weak=finding.weak)

    def _hopeless(self, reason: Notice, offered_per_s: float, weak: bool = False) -> ProbeDecision:
        doubtful = self.one_to_one and may_have_lost(self._points, self._unconsumed, offered_per_s)
        action: Literal["hopeless", "check"] = "check" if doubtful else "hopeless"
        return ProbeDecision(action, reason, latency_ms(self._points, offered_per_s), weak)

    @property
    def given_up(self) -> Notice:
        """Why the probe was hopeless; empty when it was not."""
        return self.decision.reason if self.decision is not None and self.decision.action != "enough" else NOTHING

    @property
    def weak(self) -> bool:
        """Whether only the point estimate made it hopeless."""
        return self.decision is not None and self.decision.weak

    @property
    def saved_s(self) -> float:
        """Measured seconds that a hopeless probe was spared, against one of its ordinary length."""
        return max(self.least_s - self.decided_s, 0.0) if self.given_up else 0.0


@dataclass
class DrainReferee:
    """Watches a backlog drain for a while, counted from the first record that was done.

    Where the backlog is gone, or results do not follow what is consumed, it asks to check that none is missing.
    """

    one_to_one: bool
    watch_s: float
    give_up_s: float
    """Measured seconds after which nothing is waited for any more."""
    _points: list[Point] = field(default_factory=list)
    _unanswered: list[tuple[int, int]] = field(default_factory=list)
    """At each look: records consumed, and how many of them had no result yet."""
    _stalled: bool = False

    def look(self, observation: LoadObservation) -> ProbeDecision | None:
        # With marks of transactions in it, the end of the output does not count results.
        self.one_to_one = self.one_to_one and observation.output is not None
        look, unconsumed = point(observation, self.one_to_one), point(observation, one_to_one=False)
        if look is None or not look.done:
            return self._decide("hopeless") if observation.measured_s >= self.give_up_s else None
        self._points.append(look)
        if unconsumed is not None:
            self._unanswered.append((unconsumed.done, unconsumed.done - look.done))
        lasted_s = look.at_s - self._points[0].at_s
        watched = lasted_s >= self.watch_s and not self._is_nearly_done(lasted_s)
        # Of a system that does not report what it consumed, a stall may be the end of a batch.
        consumed = watched if unconsumed is None else unconsumed.lag < observation.offered_per_s
        self._stalled = consumed and self._is_stalled()
        if look.lag < observation.offered_per_s or self._stalled:
            return self._decide("check")
        if watched:
            return self._decide("check" if self._unanswered_share() >= UNANSWERED_SHARE else "hopeless")
        return None

    def _decide(self, action: Literal["hopeless", "check"]) -> ProbeDecision:
        return ProbeDecision(action if self.one_to_one else "hopeless", notice("drained-for-guess"))

    def _is_nearly_done(self, lasted_s: float) -> bool:
        """Whether what is left will be gone in as long again, and can be checked then. It is waited for only once."""
        fallen = self._points[0].lag - self._points[-1].lag
        return (
            self.one_to_one and lasted_s < 2 * self.watch_s and self._points[-1].lag * lasted_s < fallen * self.watch_s
        )

    def _unanswered_share(self) -> float:
        """Of the records consumed between the first third of the looks and the last: how many have no result."""
        third = len(self._unanswered) // 3
        if not third:
            return 0.0
        ends = self._unanswered[:third], self._unanswered[-third:]
        (first, unanswered_first), (last, unanswered_last) = (
            tuple(median(values) for values in zip(*looks, strict=True)) for looks in ends
        )
        return (unanswered_last - unanswered_first) / (last - first) if last > first else 0.0

    def _is_stalled(self) -> bool:
        """Whether the results have stopped catching up."""
        recent = self._points[-STALLED_LOOKS - 1 :]
        return len(recent) > STALLED_LOOKS and min(point.lag for point in recent[1:]) >= recent[0].lag

    def rate_per_s(self) -> float | None:
        """How fast it drained (Theil–Sen) in the last third of the time: before, a JVM still compiles.

        Looked at are the moments at which something was done; of an engine with long batches the last three, since
        there are no more in a third. None when it was not observed.
        """
        from scipy.stats import theilslopes

        drained = self._points
        if self._stalled:
            # What came after the lowest lag is the load's speed, not the drain's.
            drained = drained[: drained.index(min(drained, key=lambda point: point.lag)) + 1]
        moved = [now for before, now in pairwise(drained) if now.done > before.done]
        if len(moved) < 2:
            return None
        begin_s, end_s = drained[0].at_s, drained[-1].at_s
        settled = [point for point in moved if point.at_s >= begin_s + (end_s - begin_s) * 2 / 3]
        points = settled if len(settled) >= DRAIN_MOVES else moved[-DRAIN_MOVES:]
        return float(theilslopes([point.done for point in points], [point.at_s for point in points]).slope)
