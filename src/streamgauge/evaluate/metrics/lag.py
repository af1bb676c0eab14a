"""The backlog: inputs that the transport had and whose result was not out yet."""

from __future__ import annotations

import numpy as np

from streamgauge.evaluate.facts import Moments
from streamgauge.evaluate.metrics.level import mean_level
from streamgauge.evaluate.tally import LOST, MATCHED, UNFINISHED, WRONG, Floats, Tally
from streamgauge.model import NS_PER_S

DECIMALS = 3


def backlog_per_second(tally: Tally, seconds: int) -> Floats:
    """The mean backlog of each second, weighted by time.

    Inputs of a row count from the moment when the last of them was appended: before that it cannot be answered. One
    that is behind several rows counts for the first of them only. Unfinished rows count to the end. Lost rows do not
    count: they will never be answered, so they are reported as loss and not once more as an engine that lags behind.
    """
    counted = tally.fate != LOST
    answered = counted & (tally.fate != UNFINISHED)
    # A transport's clock that was set back may stamp the answer before the question; it then was in no backlog.
    settled_second = np.maximum(tally.answered_second, tally.appended_second)
    inputs = tally.new_inputs
    arrived = mean_level(tally.appended_second[counted], inputs[counted], tally.appended_rest_ms[counted], seconds)
    done = mean_level(settled_second[answered], inputs[answered], tally.answered_rest_ms[answered], seconds)
    # Whole milliseconds of whole inputs: the remainder of a rounded sum is not a backlog.
    return np.round(arrived - done, DECIMALS)


def backlog_at_end(tally: Tally) -> int:
    """The backlog when the load ended."""
    return int(tally.open_at_end[tally.fate != LOST].sum())


def drained_s(tally: Tally, moments: Moments) -> float | None:
    """Seconds from the end of the load to the last result, rounded up to the end of the run's second.

    None when results were still missing at the end, or none came at all.
    """
    if (tally.expected & (tally.fate == UNFINISHED)).any():
        return None
    came_out = np.isin(tally.fate, (MATCHED, WRONG))
    if not came_out.any():
        return None
    last_s = int(tally.answered_second[came_out].max()) + 1
    return max(last_s - (moments.load_end_ns - moments.load_start_ns) / NS_PER_S, 0.0)
