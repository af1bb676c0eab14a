"""Whether the clocks can be trusted: steps of this machine's, and the transport's against the load worker's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from streamgauge.evaluate.facts import Moments
from streamgauge.evaluate.metrics.generator import Ledger
from streamgauge.evaluate.tally import Ints
from streamgauge.model import NS_PER_MS
from streamgauge.model.samples import ClockSample

INVALID_STEP_MS = 5.0
WARNING_STEP_MS = 1.0
OFFSET_TOLERANCE_MS = 1.0


@dataclass(frozen=True)
class Bound:
    """The transport's clock is ahead of the load worker's by at least ``low_ms`` and at most ``high_ms``."""

    low_ms: float
    high_ms: float

    @property
    def ahead_ms(self) -> float:
        """By how much the transport's clock is ahead, at best guess; 0 where the two may be the same."""
        return 0.0 if self.agrees else (self.low_ms + self.high_ms) / 2

    @property
    def apart_ms(self) -> float:
        """By how much the clocks of several load workers differ at least; 0 if one bound fits all."""
        return max(self.low_ms - self.high_ms, 0.0)

    @property
    def agrees(self) -> bool:
        """Whether the two clocks may be the same within a millisecond."""
        return self.low_ms <= OFFSET_TOLERANCE_MS and self.high_ms >= -OFFSET_TOLERANCE_MS


def largest_step_ms(samples: Sequence[ClockSample], moments: Moments) -> float | None:
    """The largest certain step of the real-time clock during the run; None when it was not watched.

    Real time minus monotonic time changes only when the clock is set. Each sample is uncertain by half its
    bracket; a difference that the uncertainty of two samples explains is not a step.
    """
    steps = []
    for before, after in pairwise(samples):
        if after.t_ns < moments.load_start_ns or before.t_ns > moments.drain_end_ns:
            continue
        change = (after.t_ns - after.mono_ns) - (before.t_ns - before.mono_ns)
        uncertain = (before.bracket_ns + after.bracket_ns) / 2
        steps.append(max(abs(change) - uncertain, 0) / NS_PER_MS)
    return max(steps, default=None)


def transport_bound(ledger: Ledger, probe_appended_ms: Ints) -> Bound | None:
    """Bounds of the transport's clock from when records were sent and acknowledged; None without acknowledged records.

    A record was appended after it was sent and before it was acknowledged. Its stamp is cut to the
    millisecond, so the true one lies up to 1 ms later.
    """
    known = (ledger.acked_ns > 0) & (probe_appended_ms >= 0)
    if not known.any():
        return None
    appended_ns = probe_appended_ms[known] * NS_PER_MS
    low_ns = np.max(appended_ns - ledger.acked_ns[known])
    high_ns = np.min(appended_ns + NS_PER_MS - ledger.sent_ns[known])
    return Bound(float(low_ns / NS_PER_MS), float(high_ns / NS_PER_MS))
