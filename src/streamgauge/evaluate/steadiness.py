"""One judgement of whether the latency had settled, and the one sentence that says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from streamgauge.evaluate.metrics.trend import LEAST_SECONDS, Series

DRIFT_SHARE = 0.25
"""Of its level: a latency that moved by more than this over the measured interval drifts, if that is certain."""
CERTAIN_SHARE = 0.10
"""Certain is a 95 % interval that begins beyond this. With zero in its place, 10 % of the stationary runs of 30 s would
be called drifting instead of 6 % (bench/verdicts.py)."""
STAMP_MS = 1.0
"""The transport stamps whole milliseconds: no latency has a lower level."""
DRIFT_MS = 2.0
"""Less than this is not told from the transport's stamps of whole milliseconds."""


@dataclass(frozen=True)
class Steadiness:
    """``sentence`` says the same as ``state``, with the figures behind it."""

    state: Literal["steady", "drifting"]
    sentence: str


def judge(medians: Series) -> Steadiness:
    """From the median latency of each second: drifting when its trend is certain and large enough to matter."""
    slope = medians.slope()
    if slope is None:
        few = f"only {len(medians)} whole seconds of the measured interval have results, {LEAST_SECONDS} are needed"
        return Steadiness("steady", f"drift was not judged: {few}")
    span_s = float(medians.seconds[-1] - medians.seconds[0] + 1)
    level_ms = max(abs(float(np.median(medians.values))), STAMP_MS)
    change_ms, low_ms, high_ms = (per_s * span_s for per_s in (slope.per_s, slope.low, slope.high))
    moved = low_ms > 0 or high_ms < 0
    certain = moved and min(abs(low_ms), abs(high_ms)) > CERTAIN_SHARE * level_ms
    drifting = certain and abs(change_ms) > max(DRIFT_SHARE * level_ms, DRIFT_MS)
    state: Literal["steady", "drifting"] = "drifting" if drifting else "steady"
    share = change_ms / level_ms
    figures = (
        f"over the measured interval (95 % interval {_percent(low_ms / level_ms)} to {_percent(high_ms / level_ms)}, "
        f"{slope.per_s:+.2f} ms per second)"
    )
    went = f"{'rose' if change_ms > 0 else 'fell'} by {100 * abs(share):.0f} % {figures}"
    if drifting:
        return Steadiness(state, f"the median latency {went}: the run had not settled")
    if moved:
        return Steadiness(state, f"the median latency {went}: not enough to call it drift")
    return Steadiness(state, f"no drift of the median latency: {_percent(share)} {figures}")


def _percent(share: float) -> str:
    return f"{round(100 * share):+d} %"
