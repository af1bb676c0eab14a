"""Whether the load arrived: what the transport had of it, against what the plan offered."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import recovery
from streamgauge.evaluate.metrics.generator import Generator
from streamgauge.evaluate.metrics.throughput import Stamps
from streamgauge.evaluate.metrics.trend import Series, Slope
from streamgauge.evaluate.tally import Floats
from streamgauge.model import NS_PER_MS, NS_PER_S, TRANSPORT_GROUP
from streamgauge.notices import Notice, notice

SHORTFALL_SHARE = 0.01
"""Of the offered rate: what has not arrived must grow by less."""
_LOOKS_PER_S = 20
_BLAMES_SERVER = re.compile(r"the ([\w -]+) did not take the load: ")


def server_blamed(reason: str) -> str:
    """The server that took the load too slowly, as the transport calls it, if that is the reason; else empty."""
    match = _BLAMES_SERVER.match(reason)
    return match[1] if match else ""


@dataclass(frozen=True)
class Shortfall:
    """By how much what was offered and had not arrived grew, in records per second."""

    slope: Slope
    sent: Slope
    """The part of it that had not even left the generator."""
    limit_per_s: float
    server: str
    """What the transport calls its servers."""

    @property
    def is_generators(self) -> bool:
        return self.sent.per_s > self.slope.per_s / 2

    def reasons(self) -> list[Notice]:
        if self.slope.low < self.limit_per_s:
            return []
        if self.is_generators:
            return [notice("generator-behind", growth=self._growth())]
        return [notice("server-behind", server=self.server, growth=self._growth())]

    def warnings(self) -> list[Notice]:
        if self.slope.low >= self.limit_per_s or self.slope.high < self.limit_per_s:
            return []
        return [notice("arrival-uncertain", server=self.server, growth=self._growth())]

    def _growth(self) -> str:
        return (
            f"{self.slope.per_s:.1f} records/s ({self.slope.low:.1f} to {self.slope.high:.1f}); the limit is "
            f"{100 * SHORTFALL_SHARE:g} % of the offered rate, {self.limit_per_s:.1f}"
        )


def measure(
    facts: Facts, moments: Moments, generator: Generator, stamps: Stamps, transport_ahead_ms: float = 0.0
) -> Shortfall | None:
    """None where there is no schedule to fall behind, or too little of the measured interval to judge."""
    if not facts.plan.scheduled or not moments.observed_s:
        return None
    exempt = _under_transport_faults(facts, moments)
    seconds = [second for second in moments.measured_seconds() if second not in exempt]
    offered = _offered_level(facts, moments)
    sent = np.cumsum(generator.sent_per_second) - generator.sent_per_second / 2
    # By the transport's clock, which stamps what arrived: under a rising load, an offset would look like growth.
    by_then = _offered_level(facts, moments, round(transport_ahead_ms * NS_PER_MS)) if transport_ahead_ms else offered
    slope = Series.of((by_then - stamps.appended_level).tolist(), seconds).slope()
    of_sending = Series.of((offered - sent).tolist(), seconds).slope()
    if slope is None or of_sending is None:
        return None
    limit_per_s = SHORTFALL_SHARE * generator.offered / moments.observed_s
    return Shortfall(slope, of_sending, limit_per_s, facts.transport.server_noun)


def _offered_level(facts: Facts, moments: Moments, ahead_ns: int = 0) -> Floats:
    """How many records were due, on average over each second of a clock that is so far ahead."""
    plan, step_ns = facts.plan, NS_PER_S // _LOOKS_PER_S
    looks = moments.seconds * _LOOKS_PER_S
    due = [min(plan.count_before(look * step_ns + step_ns // 2 - ahead_ns), plan.records) for look in range(looks)]
    level: Floats = np.array(due, np.float64).reshape(moments.seconds, _LOOKS_PER_S).mean(axis=1)
    return level


def _under_transport_faults(facts: Facts, moments: Moments) -> set[int]:
    """Seconds in which a fault kept the transport from its work, and as long again, in which it catches up."""
    seconds: set[int] = set()
    for record in recovery.acted(facts):
        if facts.manifest.group_of(record.role) != TRANSPORT_GROUP:
            continue
        acted_ns, ended_ns = recovery.acted_ns(record), record.ended_ns or moments.drain_end_ns
        caught_up_ns = ended_ns + (ended_ns - acted_ns)
        first, last = ((ns - moments.load_start_ns) // NS_PER_S for ns in (acted_ns, caught_up_ns))
        seconds |= set(range(first, last + 1))
    return seconds
