"""The backlog: inputs that the transport had and whose result was not out yet."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from streamgauge.evaluate.facts import Moments
from streamgauge.evaluate.tally import LOST, UNFINISHED, Ints, Tally

LEAST_SECONDS = 5
"""Fewer points than this say nothing about a slope."""
MOST_POINTS = 2000


@dataclass(frozen=True)
class Slope:
    """Records per second by which the backlog grows: Theil–Sen, with its 95 % interval."""

    per_s: float
    low: float
    high: float


def backlog_per_second(tally: Tally, seconds: int) -> Ints:
    """The backlog at the end of each second.

    Inputs of a row count from the moment when the last of them was appended: before that it cannot be
    answered. Unfinished rows count to the end. Lost rows do not count: they will never be answered, so they
    are reported as loss and not a second time as an engine that lags behind.
    """
    counted = tally.fate != LOST
    answered = counted & (tally.fate != UNFINISHED)
    arrivals, departures = np.zeros((2, seconds), np.int64)
    appended = np.clip(tally.appended_second, 0, seconds - 1)
    # A broker's clock that was set back may stamp the answer before the question; it then was in no backlog.
    left = np.clip(np.maximum(tally.answered_second, tally.appended_second), 0, seconds - 1)
    np.add.at(arrivals, appended[counted], tally.inputs[counted])
    np.add.at(departures, left[answered], tally.inputs[answered])
    return np.cumsum(arrivals - departures)


def backlog_at_end(tally: Tally) -> int:
    """The backlog when the load ended."""
    return int(tally.open_at_end[tally.fate != LOST].sum())


def slope(backlog: Ints, moments: Moments) -> Slope | None:
    """The trend over the measured interval; None when it is too short to tell."""
    from scipy.stats import theilslopes

    seconds = np.array(moments.measured_seconds())
    seconds = seconds[:: math.ceil(len(seconds) / MOST_POINTS) or 1]
    if len(seconds) < LEAST_SECONDS:
        return None
    found = theilslopes(backlog[seconds], seconds, alpha=0.95)
    return Slope(float(found.slope), float(found.low_slope), float(found.high_slope))
