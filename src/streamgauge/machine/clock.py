"""Reads the real-time clock against the monotonic one, so that a step is detected."""

from __future__ import annotations

import time

from streamgauge.model.samples import ClockSample

_TRIES = 5


def read_clock() -> ClockSample:
    """One line of ``clock.jsonl``: the real time between two monotonic readings; the tightest of five readings."""
    bracket_ns, mono_ns, t_ns = min(_bracket() for _ in range(_TRIES))
    return ClockSample(t_ns=t_ns, mono_ns=mono_ns, bracket_ns=bracket_ns)


def _bracket() -> tuple[int, int, int]:
    before_ns = time.monotonic_ns()
    t_ns = time.time_ns()
    after_ns = time.monotonic_ns()
    return after_ns - before_ns, (before_ns + after_ns) // 2, t_ns
