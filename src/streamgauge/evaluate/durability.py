"""For how much of the time a system was available, which records failed, and what grew (docs/reference/measurement.md,
*Durability*)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import resources
from streamgauge.evaluate.metrics.trend import Series
from streamgauge.evaluate.slices.sending import limit_s
from streamgauge.evaluate.slices.whole import Whole
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.model.samples import DiskSample, ResourceSample
from streamgauge.model.summary import Durability, Growth
from streamgauge.rundir import RunDir

S_PER_HOUR = 3600
SETTLING_S = 300
"""In its first minutes, every process grows: heaps fill up before anything is freed."""
LEAST_S = 60
"""Over a shorter time after that, nothing can be said about growth per hour."""
DECIMALS = 3


@dataclass(frozen=True)
class Outages:
    """The times without a result that count as unavailable, and how much of them lies in the measured interval."""

    lengths_s: Sequence[float]
    unavailable_s: float
    interval_s: float
    longest_s: float
    """Between two results in the measured interval, at most, whether that is an outage or not; 0: up to a second."""

    @property
    def index(self) -> float | None:
        """The share of the measured interval in which the system was available."""
        return 1 - self.unavailable_s / self.interval_s if self.interval_s > 0 else None


def outages(
    gaps_ms: Iterable[tuple[float, float]],
    first_ms: float | None,
    last_ms: float | None,
    *,
    observed_ms: tuple[float, float],
    interval_ms: tuple[float, float],
    limit_s: float,
    died: bool,
) -> Outages:
    """``gaps_ms``: between one result and the next; ``first_ms``, ``last_ms``: the first result and the last.

    A system is unavailable from a result to the next where they are more than ``limit_s`` apart. The start of the load
    and the end of what was observed count as results. After its last result, one that ``died`` is unavailable at once.
    """
    begin_ms, end_ms = observed_ms
    silent = [*gaps_ms, (begin_ms, end_ms if first_ms is None else first_ms)]
    if first_ms is not None and last_ms is not None:
        silent.append((last_ms, max(end_ms, last_ms)))
    down_ms = begin_ms if last_ms is None else last_ms
    lengths_s, longest_s = [], 0.0
    for start, end in silent:
        inside_s = (min(end, interval_ms[1]) - max(start, interval_ms[0])) / 1000
        if inside_s > 0:
            longest_s = max(longest_s, inside_s)
            if end - start > 1000 * limit_s or (died and start == down_ms):
                lengths_s.append(inside_s)
    return Outages(lengths_s, sum(lengths_s), (interval_ms[1] - interval_ms[0]) / 1000, longest_s)


def measure(run: RunDir, facts: Facts, moments: Moments, whole: Whole, counts: Mapping[str, int]) -> Durability:
    """The figures of a run that was evaluated in slices."""
    died = bool(facts.ended("engine")) and whole.complete
    # A dead system is not available for the rest of the time; what was not evaluated shows nothing of it.
    evaluated_ns = whole.evaluated_ns(moments)
    end_ns = moments.measured_end_ns if died else min(moments.observed_end_ns, evaluated_ns)
    end_ns = max(end_ns, moments.measured_start_ns)
    found = outages(
        whole.gaps_ms(),
        whole.first_output_ms,
        whole.last_output_ms,
        observed_ms=(moments.load_start_ns / NS_PER_MS, max(end_ns, evaluated_ns) / NS_PER_MS),
        interval_ms=(moments.measured_start_ns / NS_PER_MS, end_ns / NS_PER_MS),
        limit_s=limit_s(facts),
        died=died,
    )
    failed = counts["lost"] + counts["wrong"] + counts["unfinished"]
    span_ns = (moments.measured_start_ns + SETTLING_S * NS_PER_S, moments.observed_end_ns)
    samples = resources.within(run.samples(ResourceSample), span_ns)
    growth = {group: trend for group, trend in _growth_by_group(samples, moments).items() if trend is not None}
    return Durability(
        index=None if found.index is None else round(found.index, 6),
        unavailable_s=round(found.unavailable_s, DECIMALS),
        gaps=len(found.lengths_s),
        longest_gap_s=round(found.longest_s, DECIMALS),
        gap_limit_s=limit_s(facts),
        failed_records=failed,
        failed_rate=round(failed / counts["expected"], 9) if counts["expected"] else None,
        slices=len(whole.slices),
        slices_s=facts.scenario.slice_s,
        evaluated_s=round((evaluated_ns - moments.load_start_ns) / NS_PER_S, DECIMALS),
        complete=whole.complete,
        growth_mb_per_hour=growth,
        heap_growth_mb_per_hour=_trend(_heap_after_gc(samples, moments)),
        disk_growth_mb_per_hour={
            name: trend
            for name, points in _disk(resources.within(run.samples(DiskSample), span_ns), moments).items()
            if (trend := _trend(points)) is not None
        },
    )


Points = list[tuple[float, float]]
"""Seconds since the start of the load, and a value."""


def _growth_by_group(samples: Sequence[ResourceSample], moments: Moments) -> dict[str, Growth | None]:
    held: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for sample in samples:
        if sample.rss_mb is not None:
            held[sample.group][sample.t_ns] += sample.rss_mb
    return {group: _trend(_points(by_time, moments)) for group, by_time in sorted(held.items())}


def _heap_after_gc(samples: Sequence[ResourceSample], moments: Moments) -> Points:
    """The heap of the engine's JVMs in the samples before which they collected garbage: what it holds, nearly."""
    held: dict[int, float] = defaultdict(float)
    collected: dict[int, float] = defaultdict(float)
    for sample in samples:
        if sample.group == "engine" and sample.heap_used_mb is not None and sample.gc_count is not None:
            held[sample.t_ns] += sample.heap_used_mb
            collected[sample.t_ns] += sample.gc_count
    times = sorted(held)
    after = [now for before, now in pairwise(times) if collected[now] > collected[before]]
    return _points({t_ns: held[t_ns] for t_ns in after}, moments)


def _disk(samples: Sequence[DiskSample], moments: Moments) -> dict[str, Points]:
    held: dict[str, dict[int, float]] = defaultdict(dict)
    for sample in samples:
        held["run"][sample.t_ns] = sample.run_mb
        for name, size_mb in sample.work_mb.items():
            held[name][sample.t_ns] = size_mb
    return {name: _points(by_time, moments) for name, by_time in sorted(held.items())}


def _points(by_time: Mapping[int, float], moments: Moments) -> Points:
    return [((t_ns - moments.load_start_ns) / NS_PER_S, value) for t_ns, value in sorted(by_time.items())]


def _trend(points: Points) -> Growth | None:
    """The slope, with its 95 % interval; None over too short a time, or of too few points."""
    if not points or points[-1][0] - points[0][0] < LEAST_S:
        return None
    series = Series(np.array([at for at, _ in points]), np.array([value for _, value in points]))
    slope = series.slope()
    if slope is None:
        return None
    per_hour, low, high = (round(S_PER_HOUR * value, DECIMALS) for value in (slope.per_s, slope.low, slope.high))
    return Growth(per_hour=per_hour, low=low, high=high)
