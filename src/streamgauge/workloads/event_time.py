"""Event time in the records: it advances with the load plan from a fixed start, so that records are a function of
their number."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from streamgauge.model import NS_PER_MS, LoadPlan

FIRST_MS = 1_767_225_600_000
"""2026-01-01T00:00:00Z, where a window of any whole number of seconds that divides a minute begins."""
UNSCHEDULED_PER_S = 10_000
"""Event-time rate of a load without a schedule."""


def planned_ms(load: LoadPlan, n_seq: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """When each record is to be sent, in milliseconds from the start of the load."""
    if not load.scheduled:
        return n_seq * 1000 // UNSCHEDULED_PER_S
    planned: npt.NDArray[np.int64] = load.offsets_ns(n_seq) // NS_PER_MS
    return planned
