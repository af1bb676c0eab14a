"""Whether the latency had settled, and one sentence with the figures behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from streamgauge.evaluate.metrics.trend import LEAST_SECONDS, Series
from streamgauge.notices import Notice, notice

DRIFT_SHARE = 0.25
"""Of its level: a latency that moved by more than this over the measured interval drifts, if that is certain."""
CERTAIN_SHARE = 0.10
"""Certain is a 95 % interval that begins beyond this. With zero in its place, 10 % of the stationary runs of 30 s would
be called drifting instead of 6 % (bench/verdicts.py)."""
STAMP_MS = 1.0
"""The transport stamps whole milliseconds: no latency has a lower level."""
DRIFT_MS = 2.0
"""The transport stamps whole milliseconds: a smaller change cannot be seen."""


@dataclass(frozen=True)
class Steadiness:
    """``sentence`` explains ``state`` with the figures behind it. None: it moved by enough, but not for certain."""

    state: Literal["steady", "drifting"] | None
    sentence: Notice


def judge(medians: Series) -> Steadiness:
    """From the median latency of each second: drifting when its trend is certain and large enough to matter."""
    slope = medians.slope()
    if slope is None:
        return Steadiness("steady", notice("drift-too-few-seconds", seconds=len(medians), least=LEAST_SECONDS))
    span_s = float(medians.seconds[-1] - medians.seconds[0] + 1)
    level_ms = max(abs(float(np.median(medians.values))), STAMP_MS)
    change_ms, low_ms, high_ms = (per_s * span_s for per_s in (slope.per_s, slope.low, slope.high))
    moved = low_ms > 0 or high_ms < 0
    certain = moved and min(abs(low_ms), abs(high_ms)) > CERTAIN_SHARE * level_ms
    share = change_ms / level_ms
    figures = {"low": _percent(low_ms / level_ms), "high": _percent(high_ms / level_ms), "per_s": slope.per_s}
    how_far = {"direction": "rose" if change_ms > 0 else "fell", "percent": 100 * abs(share)}
    if abs(change_ms) > max(DRIFT_SHARE * level_ms, DRIFT_MS):
        if certain:
            return Steadiness("drifting", notice("drifting", **figures, **how_far))
        return Steadiness(None, notice("drift-undecided", **figures, **how_far))
    if not moved:
        if max(-low_ms, high_ms) > max(DRIFT_SHARE * level_ms, DRIFT_MS):
            return Steadiness("steady", notice("steady-unsure", percent=_percent(share), **figures))
        return Steadiness("steady", notice("steady", percent=_percent(share), **figures))
    return Steadiness("steady", notice("steady-but-moved", why=_why_steady(change_ms), **figures, **how_far))


def _why_steady(change_ms: float) -> str:
    if abs(change_ms) <= DRIFT_MS:
        return f"but by no more than {DRIFT_MS:g} ms, which is too little to call it drift"
    return f"within the limit of {100 * DRIFT_SHARE:g} %"


def _percent(share: float) -> str:
    return f"{round(100 * share):+d} %"
