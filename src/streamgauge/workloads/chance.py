"""Pseudo-randomness as a function of a number, so that records are a function of their number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_U64 = npt.NDArray[np.uint64]


def mix(numbers: _U64) -> _U64:
    """The finalizer of splitmix64: spreads consecutive numbers over all 64 bits."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
