"""Distributions of records over keys, other than the data set's own order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from streamgauge.registry import unknown

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

ZIPF_EXPONENT = 1.0
NORMAL_SIGMAS = 4.0
"""The keys cover this many standard deviations on either side of the middle one."""


def spread(name: str, keys: int) -> Callable[[Floats], Places]:
    """Maps uniform numbers in [0, 1) to indices below ``keys``. Raises UsageError for an unknown name."""
    if name == "uniform":
        return lambda chance: np.minimum((chance * keys).astype(np.int64), keys - 1)
    if name == "one":
        return lambda chance: np.zeros(len(chance), np.int64)
    if name == "zipf":
        return _weighted(np.arange(1.0, keys + 1.0) ** -ZIPF_EXPONENT)
    if name == "normal":
        return _weighted(np.exp(-0.5 * (NORMAL_SIGMAS * (2 * (np.arange(0.5, keys)) / keys - 1)) ** 2))
    raise unknown("distribution of keys", name, ("dataset", "uniform", "normal", "zipf", "one"))


def _weighted(weights: Floats) -> Callable[[Floats], Places]:
    ends = np.cumsum(weights) / weights.sum()
    return lambda chance: np.minimum(np.searchsorted(ends, chance, side="right"), len(ends) - 1)
