"""How high a count stood in each second, without the beat that single looks would show."""

from __future__ import annotations

import numpy as np

from streamgauge.evaluate.tally import Floats, Ints


def mean_level(second: Ints, counts: Ints, rest_ms: Ints, seconds: int) -> Floats:
    """The time-weighted mean, over each second, of how many had come so far.

    ``counts`` came in ``second``; ``rest_ms`` is what was left of it, in milliseconds, summed over them. A single look
    a second would show a beat with whatever happens about once a second.
    """
    before = second < 0
    inside = (second >= 0) & (second < seconds)
    whole = np.bincount(second[inside], counts[inside], minlength=seconds)
    partial = np.bincount(second[inside], rest_ms[inside], minlength=seconds) / 1000
    level: Floats = float(counts[before].sum()) + np.cumsum(whole) - whole + partial
    return level
