"""Which way a series of seconds goes, and how sure that is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.evaluate.tally import Floats, Ints

LEAST_SECONDS = 5
"""Fewer points than this give no slope."""
MOST_POINTS = 2000


@dataclass(frozen=True)
class Slope:
    """By how much a value grows per second: Theil–Sen, with a 95 % interval."""

    per_s: float
    low: float
    high: float


@dataclass(frozen=True)
class Series:
    """One value a second, in order. Seconds without a value are left out."""

    seconds: Ints | Floats
    values: Floats

    @classmethod
    def of(cls, values: Ints | Floats | Sequence[float | None], seconds: Sequence[int]) -> Series:
        """The values of these seconds; ``values`` begins with second 0."""
        known = [second for second in seconds if second < len(values) and values[second] is not None]
        return cls(np.array(known, np.int64), np.array([values[second] for second in known], np.float64))

    def __len__(self) -> int:
        return len(self.seconds)

    def halves(self) -> tuple[Series, Series]:
        middle = len(self) // 2
        return (
            Series(self.seconds[:middle], self.values[:middle]),
            Series(self.seconds[middle:], self.values[middle:]),
        )

    def slope(self) -> Slope | None:
        """The trend; None when the series is too short."""
        from scipy.stats import theilslopes

        step = math.ceil(len(self) / MOST_POINTS) or 1
        seconds, values = self.seconds[::step], self.values[::step]
        if len(seconds) < LEAST_SECONDS:
            return None
        fit = theilslopes(values, seconds, alpha=0.95)
        per_s, wider = float(fit.slope), _widening(values - fit.slope * seconds)
        return Slope(
            per_s,
            per_s - wider * (per_s - float(fit.low_slope)),
            per_s + wider * (float(fit.high_slope) - per_s),
        )


def _widening(residuals: Floats) -> float:
    """By how much an interval for independent values is too narrow for these.

    The interval of Theil and Sen takes every second for a new observation. Where one resembles the next (correlation
    r), n seconds are worth n (1 − r) / (1 + r) independent ones. bench/verdicts.py shows how often the result holds
    the truth.
    """
    from scipy.stats import rankdata

    ranks = rankdata(residuals)  # so that one outlier does not hide how alike the others are
    around = ranks - ranks.mean()
    variation = float((around**2).sum())
    correlation = float((around[1:] * around[:-1]).sum()) / variation if variation else 0.0
    return math.sqrt((1 + correlation) / (1 - correlation)) if correlation > 0 else 1.0


NO_SERIES = Series(np.zeros(0, np.int64), np.zeros(0))
