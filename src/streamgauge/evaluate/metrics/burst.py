"""How a run took its bursts: a backlog that was there before the engine, or bursts over a base rate."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import latency
from streamgauge.evaluate.metrics.generator import SENT_SHARE, Ledger
from streamgauge.evaluate.metrics.throughput import Stamps
from streamgauge.evaluate.tally import MATCHED, Tally
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.model.summary import BurstFigures, OneBurst
from streamgauge.notices import Notice, notice

WIDE_MS, WIDER_MS = 250.0, 75.0
"""A burst is wide above the first, or when it took that much longer than planned if that is more."""
WIDE_SHARE = 0.2
ELEVATED = 1.5
DECIMALS = 3


@dataclass(frozen=True)
class SingleBurst:
    """A backlog. Times are seconds since the engine's first process was started."""

    records: int
    appended: int
    """Records of the backlog that had been appended when the engine was started."""
    results: int
    """Results all of whose inputs lie in the backlog."""
    open_results: int
    """Those of them that had no right answer when the run ended."""
    first_output_s: float | None
    caught_up_s: float | None

    def figures(self) -> BurstFigures:
        return BurstFigures(
            kind="single",
            records=self.records,
            first_output_s=_round(self.first_output_s),
            caught_up_s=_round(self.caught_up_s),
        )

    def reasons(self) -> list[Notice]:
        if self.appended >= SENT_SHARE * self.records:
            return []
        return [notice("backlog-incomplete", appended=self.appended, records=self.records, limit=100 * SENT_SHARE)]

    def warnings(self) -> list[Notice]:
        messages = [notice("burst-latencies")]
        if self.open_results:
            messages.append(notice("did-not-catch-up", open=self.open_results, results=self.results))
        return messages


@dataclass(frozen=True)
class Burst:
    """One burst of a periodic load. Unknown figures are None: too few results, or the run ended before the next one."""

    start_s: float
    width_ms: float | None
    wide: bool
    p50_before_ms: float | None
    p50_peak_ms: float | None
    p99_peak_ms: float | None
    elevated_s: int | None


@dataclass(frozen=True)
class PeriodicBursts:
    """The bursts of the measured interval."""

    bursts: Sequence[Burst]
    wide_limit_ms: float

    @property
    def wide(self) -> int:
        return sum(burst.wide for burst in self.bursts)

    def figures(self) -> BurstFigures:
        return BurstFigures(
            kind="periodic",
            bursts=[
                OneBurst.model_validate(
                    {key: _round(value) if isinstance(value, float) else value for key, value in asdict(burst).items()}
                )
                for burst in self.bursts
            ],
            wide=self.wide,
            elevated_s=_median([burst.elevated_s for burst in self.bursts]),
            p99_peak_ms=_median([burst.p99_peak_ms for burst in self.bursts]),
        )

    def reasons(self) -> list[Notice]:
        if self.wide <= WIDE_SHARE * len(self.bursts):
            return []
        return [notice("bursts-too-wide", **self._widths(), limit=100 * WIDE_SHARE)]

    def warnings(self) -> list[Notice]:
        return [notice("some-bursts-wide", **self._widths())] if self.wide and not self.reasons() else []

    def _widths(self) -> dict[str, float]:
        return {
            "wide": self.wide,
            "bursts": len(self.bursts),
            "limit_ms": self.wide_limit_ms,
            "widest_ms": max(burst.width_ms or 0.0 for burst in self.bursts),
        }


Bursts = SingleBurst | PeriodicBursts


def measure(
    facts: Facts,
    moments: Moments,
    tally: Tally,
    ledger: Ledger,
    stamps: Stamps,
    kind: str,
) -> Bursts | None:
    """What the bursts of the plan did, by that kind of latency.

    None where the plan has no bursts, or where the engine's start was not noted.
    """
    if facts.plan.shape == "periodic-burst":
        return _periodic(facts, moments, ledger, latency.per_second(tally, kind, moments.seconds))
    engine_start_ns = facts.outcome.engine_start_ns
    if facts.plan.shape == "single-burst" and engine_start_ns is not None:
        return _single(facts, tally, stamps, int(engine_start_ns))
    return None


def _single(facts: Facts, tally: Tally, stamps: Stamps, engine_start_ns: int) -> SingleBurst:
    of_burst = tally.in_burst == 1
    right = of_burst & (tally.fate == MATCHED)
    results, answered = int(tally.rows[of_burst].sum()), int(tally.rows[right].sum())

    def since_start_s(moment_ms: int | None) -> float | None:
        return None if moment_ms is None else (moment_ms - engine_start_ns / NS_PER_MS) / 1000

    caught_up = results > 0 and answered == results
    return SingleBurst(
        records=facts.plan.burst_records,
        appended=stamps.backlog_appended,
        results=results,
        open_results=results - answered,
        first_output_s=since_start_s(stamps.first_output_ms),
        caught_up_s=since_start_s(int(tally.answered_max_ms[right].max())) if caught_up else None,
    )


def _periodic(
    facts: Facts, moments: Moments, ledger: Ledger, by_second: Mapping[str, Sequence[float | None]]
) -> PeriodicBursts:
    plan = facts.plan
    limit_ms = max(WIDE_MS, 1000 * plan.burst_s + WIDER_MS)
    begin_ns, end_ns = (
        moment - moments.load_start_ns for moment in (moments.measured_start_ns, moments.observed_end_ns)
    )
    bursts = []
    for planned in plan.bursts:
        stop_ns = planned.start_ns + planned.length_ns
        if planned.start_ns < begin_ns or stop_ns > end_ns:
            continue
        # By their moments, not by the segment's numbers: random arrivals move a few records across its borders.
        of_burst = ledger.among(plan.count_before(planned.start_ns), plan.count_before(stop_ns)) > 0
        sent = ledger.sent_ns[of_burst]
        width_ms = float(sent.max() - sent.min()) / NS_PER_MS if len(sent) else None
        start_s = planned.start_ns / NS_PER_S
        whole = start_s + plan.burst_every_s <= end_ns / NS_PER_S
        around = _around(start_s, plan.burst_every_s, by_second) if whole else (None, None, None, None)
        bursts.append(Burst(start_s, width_ms, width_ms is not None and width_ms > limit_ms, *around))
    return PeriodicBursts(bursts, limit_ms)


def _around(
    start_s: float, every_s: float, by_second: Mapping[str, Sequence[float | None]]
) -> tuple[float | None, float | None, float | None, int | None]:
    """The median second of the half period before the burst; the highest p50 and p99, and the number of seconds with an
    elevated p50, from the second of the burst to the one before the next."""
    own, following = math.floor(start_s), math.floor(start_s + every_s)
    before = _known(by_second["p50"][max(math.ceil(start_s - every_s / 2), 0) : own])
    after = _known(by_second["p50"][own:following])
    p99 = _known(by_second["p99"][own:following])
    p50_before_ms = median(before) if before else None
    elevated_s = sum(p50 > ELEVATED * p50_before_ms for p50 in after) if p50_before_ms is not None and after else None
    return p50_before_ms, max(after, default=None), max(p99, default=None), elevated_s


def _known(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def _median(values: Sequence[float | None]) -> float | None:
    known = _known(values)
    return _round(float(median(known))) if known else None


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)
