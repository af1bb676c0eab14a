"""Repetitions against each other: intervals by seeded resampling, and the one word that they allow.

A ratio is always *B's cost divided by A's*: above 1 means that B is worse. Latencies and resources are costs already;
of rates the sides are swapped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from streamgauge.model.comparison import Word

Interval = tuple[float, float]

SEED = 1
LEVEL = 0.95
RESAMPLES = 10_000
ZONE = 0.05
"""Ratios within 1 ± this are the same."""
RUNS_MIN = 3
"""With fewer runs per side, the answer is always *cannot tell*."""
RUNS_MAX = 100
"""A difference that needs more runs than this counts as undetectable."""
RESOLUTION_MS = 1.0
"""The transport stamps whole milliseconds: a median is never known better than to half of this."""


def resampled_interval(values: Sequence[float], seed: int = SEED, level: float = LEVEL) -> Interval:
    """Of the median, by resampling the runs. One run gives no more than itself."""
    return _percentiles(_medians(values, np.random.default_rng(seed)), level)


def ratio(a: Sequence[float], b: Sequence[float], resolution: float = RESOLUTION_MS) -> float:
    """Median of ``b`` divided by that of ``a``, both in ms. ``resolution`` is 0 for values that are not latencies."""
    return float(_told(np.median(b), resolution) / _told(np.median(a), resolution))


def ratio_interval(
    a: Sequence[float],
    b: Sequence[float],
    seed: int = SEED,
    level: float = LEVEL,
    resolution: float = RESOLUTION_MS,
) -> Interval:
    """Of ``ratio(a, b)``: both sides resampled, each on its own, and half the stamps' resolution at either end."""
    random = np.random.default_rng(seed)
    of_a, of_b = _told(_medians(a, random), resolution), _told(_medians(b, random), resolution)
    half = resolution / 2
    low, _ = _percentiles((of_b - half) / (of_a + half), level)
    _, high = _percentiles((of_b + half) / (of_a - half), level)
    return low, high


def word(low: float, high: float, runs: int) -> Word:
    """The word for B that the interval of a ratio allows. ``runs`` is of the side that has fewer."""
    if runs < RUNS_MIN:
        return "cannot tell"
    if low > 1 + ZONE:
        return "slower"
    if high < 1 - ZONE:
        return "faster"
    return "same" if low >= 1 - ZONE and high <= 1 + ZONE else "cannot tell"


def runs_needed(
    a: Sequence[float], b: Sequence[float], seed: int = SEED, resolution: float = RESOLUTION_MS
) -> int | None:
    """About how many runs per side would decide, if they vary as these do; None: more than is practical.

    The interval shrinks with the root of the number of runs; the part of it that is resolution does not.
    """
    runs = min(len(a), len(b))
    middle, (low, high) = ratio(a, b, resolution), ratio_interval(a, b, seed, resolution=resolution)
    ends = [float(np.median(a))], [float(np.median(b))]
    floor_low, floor_high = ratio_interval(*ends, seed, resolution=resolution)
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


def _told(median: np.ndarray | np.floating, resolution: float) -> np.ndarray:
    """At least the resolution: smaller values cannot be distinguished, and a latency of 0 has no ratio."""
    return np.maximum(median, resolution)
