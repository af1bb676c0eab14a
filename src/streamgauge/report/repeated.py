"""Several runs of one experiment as one number with an interval."""

from __future__ import annotations

import math
from collections.abc import Sequence

from streamgauge.report.text import NONE, number

CONFIDENCE = 0.95


def mean_interval(values: Sequence[float]) -> tuple[float, float | None]:
    """The mean and the half width of its 95 % interval (Student's t); None for a single value.

    Raises ValueError without any value.
    """
    if not values:
        raise ValueError("no values")
    mean = math.fsum(values) / len(values)
    if len(values) == 1:
        return mean, None
    from scipy.special import stdtrit

    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return mean, float(stdtrit(len(values) - 1, (1 + CONFIDENCE) / 2)) * deviation / math.sqrt(len(values))


def interval_words(values: Sequence[float], digits: int = 0) -> str:
    """Such as ``1,200 ± 30``; a dash without any value."""
    if not values:
        return NONE
    mean, half = mean_interval(values)
    return number(mean, digits) + ("" if half is None else f" ± {number(half, digits)}")
