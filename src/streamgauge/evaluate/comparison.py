"""Repetitions against each other: intervals by seeded bootstrap, and the one word that they allow.

A ratio is always *B's cost divided by A's*: above 1 means that B is worse. Latencies are costs already; rates are
turned round.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

Word = Literal["faster", "slower", "same", "cannot tell"]
Interval = tuple[float, float]

SEED = 1
LEVEL = 0.95
RESAMPLES = 10_000
ZONE = 0.05
"""Ratios within 1 ± this are the same."""
RUNS_MIN = 3
"""Fewer runs a side never tell."""
RUNS_MAX = 100
"""More runs than this nobody makes: a difference that needs them counts as one that cannot be told."""
RESOLUTION_MS = 1.0
"""The broker stamps whole milliseconds: a median is not known better than to half of this, whatever the runs say."""


def bootstrap_interval(values: Sequence[float], seed: int = SEED, level: float = LEVEL) -> Interval:
    """Of the median, by resampling the runs. One run gives no more than itself."""
    return _percentiles(_medians(values, np.random.default_rng(seed)), level)


def ratio(a: Sequence[float], b: Sequence[float]) -> float:
    """Median latency of ``b`` divided by that of ``a``, both in ms."""
    return float(_told(np.median(b)) / _told(np.median(a)))


def ratio_interval(a: Sequence[float], b: Sequence[float], seed: int = SEED, level: float = LEVEL) -> Interval:
    """Of ``ratio(a, b)``: both sides resampled, each on its own, and half the stamps' resolution at either end."""
    random = np.random.default_rng(seed)
    of_a, of_b = _told(_medians(a, random)), _told(_medians(b, random))
    half = RESOLUTION_MS / 2
    low, _ = _percentiles((of_b - half) / (of_a + half), level)
    _, high = _percentiles((of_b + half) / (of_a - half), level)
    return low, high


def capacity_ratio(
    a: tuple[float, float | None], b: tuple[float, float | None], *, less_is_better: bool = False
) -> tuple[float, float, float]:
    """Ratio, low and high of two capacities, each (best value that was sustained, next one that was not, or None).

    Of a rate the next one is higher: the ratio is turned round. Of a resource, of which less is better, it is lower.
    """
    if less_is_better:
        return b[0] / a[0], (b[1] or 0.0) / a[0], b[0] / a[1] if a[1] else math.inf
    low = 0.0 if b[1] is None else a[0] / b[1]
    high = math.inf if a[1] is None else a[1] / b[0]
    return a[0] / b[0], low, high


def word(low: float, high: float, runs: int | None) -> Word:
    """What the interval of a ratio allows to say of B.

    ``runs``: of the side that has fewer; None when the interval does not come from repetitions, as that of a capacity.
    """
    if runs is not None and runs < RUNS_MIN:
        return "cannot tell"
    if low > 1 + ZONE:
        return "slower"
    if high < 1 - ZONE:
        return "faster"
    return "same" if low >= 1 - ZONE and high <= 1 + ZONE else "cannot tell"


def runs_needed(a: Sequence[float], b: Sequence[float], seed: int = SEED) -> int | None:
    """About how many runs a side would tell, if they scatter as these do; None: no number that anyone would run.

    The interval shrinks with the root of the number of runs; the part of it that is resolution does not.
    """
    runs = min(len(a), len(b))
    middle, (low, high) = ratio(a, b), ratio_interval(a, b, seed)
    floor_low, floor_high = ratio_interval([float(np.median(a))], [float(np.median(b))], seed)
    width, floor = math.log(high / low) / 2, math.log(floor_high / floor_low) / 2
    room = min(abs(math.log(middle) - math.log(edge)) for edge in (1 - ZONE, 1 + ZONE))
    if room <= floor:
        return None
    needed = math.ceil(runs * ((width - floor) / (room - floor)) ** 2)
    needed = max(needed, RUNS_MIN, runs + 1)
    return needed if needed <= RUNS_MAX else None


def _medians(values: Sequence[float], random: np.random.Generator) -> np.ndarray:
    return np.asarray(np.median(random.choice(np.asarray(values, float), (RESAMPLES, len(values))), axis=1))


def _percentiles(samples: np.ndarray, level: float) -> Interval:
    outside = 50 * (1 - level)
    low, high = np.percentile(samples, [outside, 100 - outside])
    return float(low), float(high)


def _told(median_ms: np.ndarray | np.floating) -> np.ndarray:
    """Less than the resolution is not told from it, and a latency of 0 has no ratio."""
    return np.maximum(median_ms, RESOLUTION_MS)
