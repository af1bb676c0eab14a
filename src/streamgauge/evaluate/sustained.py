"""Rules, by name, that decide whether a rate was sustained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from streamgauge.evaluate.metrics.trend import LEAST_SECONDS, NO_SERIES, Series, Slope
from streamgauge.notices import NOTHING, Notice, joined, notice

SLOPE_SHARE = 0.01
"""Of the offered rate: a backlog that grows faster is rising."""
MISSING_SHARE = 0.01
"""Of the expected results: where more are missing, no rate was sustained."""
LATENCY_RISE_MS_PER_S = 1000 * SLOPE_SHARE
"""An engine that falls behind by that share of the rate lets each second wait that much longer than the one before."""
MEDIAN_LIMIT_MS = 10_000.0
DRAIN_LIMIT_S = 10.0
CPU_LIMIT_SHARE = 0.8
LAG_WINDOW_S = 30
LAG_LIMIT_RECORDS = 100.0


@dataclass(frozen=True)
class Evidence:
    """What rules may look at."""

    median_ms: float | None
    """None when no result of the measured interval was expected."""
    medians: Series = NO_SERIES
    """The median latency of each second of the measured interval, in ms."""
    backlog: Series = NO_SERIES
    """In records: the mean of each second of the measured interval."""
    waiting: Series = NO_SERIES
    """The same in seconds of load: the backlog over the rate that was offered in that second."""
    missing_share: float = 0.0
    """Of the expected results: lost, or not out when the drain ended."""
    fifths_ms: Sequence[float | None] = ()
    """The median latencies of five equal parts of the measured interval."""
    drained_s: float | None = None
    """From the load's end to the last result; None when results were still missing at the end of the drain."""
    cpu_share: float | None = None
    """Of the cores given to the engine; None when it is not known."""
    shared_cores: bool = True
    step_records: float = 0.0
    """Records that leave the backlog at once, as far as that can be seen."""
    queued: Series = NO_SERIES
    """Seconds of load that the transport had not handed to the engine; empty where it does not stamp that."""


@dataclass(frozen=True)
class Finding:
    """``held`` is None when it is undecided. ``why`` explains it wherever the rule did not hold.

    ``notes`` are limitations of the rule in this run, whatever it found.
    """

    held: bool | None
    why: Notice = NOTHING
    notes: tuple[Notice, ...] = ()
    weak: bool = False
    """Whether the rule could not decide and the point estimate did."""


def slope(evidence: Evidence) -> Finding:
    """The backlog grows by less than 1 % of the offered rate, and the median is below 10 s.

    Sustained when the upper bound of the slope is below that limit, overloaded when the lower bound is not and the
    backlog grew throughout, undecided in between: docs/why/three-answers.md.
    """
    if too_slow := _median_too_high(evidence):
        return Finding(False, notice("overloaded", findings=too_slow))
    trend = evidence.waiting.slope()
    if trend is None:
        return _too_short(LEAST_SECONDS)
    if trend.low >= SLOPE_SHARE and _rises_throughout(evidence.waiting, SLOPE_SHARE):
        grew = notice(
            "backlog-grew", growth=_percent(trend.per_s), low=_percent(trend.low), limit=_percent(SLOPE_SHARE)
        )
        return Finding(False, notice("overloaded", findings=grew))
    if trend.high >= SLOPE_SHARE:
        may_have_grown = notice(
            "backlog-may-have-grown",
            high=_percent(trend.high),
            growth=_percent(trend.per_s),
            limit=_percent(SLOPE_SHARE),
        )
        return Finding(None, notice("undecided", findings=may_have_grown))
    return Finding(True)


def by_estimate(slope_share: float) -> Finding:
    """Where the rule ``slope`` cannot decide: by the best estimate of the backlog's slope, as a share of the rate."""
    why = notice("point-estimate", growth=_percent(slope_share), limit=_percent(SLOPE_SHARE))
    return Finding(slope_share < SLOPE_SHARE, why, weak=True)


def ospbench(evidence: Evidence) -> Finding:
    """Medians of five equal parts not strictly rising, median below 10 s, drained within 10 s, CPU below 80 %."""
    broken = [_median_too_high(evidence)] if _median_too_high(evidence) else []
    fifths = [median for median in evidence.fifths_ms if median is not None]
    complete = len(fifths) == 5
    if complete and all(before < after for before, after in pairwise(fifths)):
        shown = ", ".join(f"{median:.0f}" for median in fifths)
        broken.append(notice("medians-rose", medians=shown))
    if evidence.drained_s is None:
        broken.append(notice("results-still-missing"))
    elif evidence.drained_s >= DRAIN_LIMIT_S:
        broken.append(notice("drained-late", drained_s=evidence.drained_s, limit_s=DRAIN_LIMIT_S))
    notes: tuple[Notice, ...] = ()
    if evidence.shared_cores or evidence.cpu_share is None:
        why_not = (
            "the engine shares its cores with transport and load"
            if evidence.shared_cores
            else "the engine's share of its cores is not known"
        )
        notes = (notice("cpu-limit-not-applied", rule="ospbench", why=why_not),)
    elif evidence.cpu_share >= CPU_LIMIT_SHARE:
        broken.append(notice("cpu-limit", used=100 * evidence.cpu_share, limit=100 * CPU_LIMIT_SHARE))
    if broken:
        return Finding(False, notice("overloaded", findings=joined(broken)), notes)
    if not complete:
        return Finding(None, notice("undecided", findings=notice("fifth-without-result")), notes)
    return Finding(True, notes=notes)


def sustainable(evidence: Evidence) -> Finding:
    """Neither the latency nor the backlog nor the unread input rises continuously: see ``_rises``.

    Windows give few results. Where the unread input is seen at rest, it is enough if the others do not rise by their
    best estimate.
    """
    judged = (
        ("latency", _ms_per_s, evidence.medians, LATENCY_RISE_MS_PER_S),
        ("backlog", _percent, evidence.waiting, SLOPE_SHARE),
        ("unread input", _percent, evidence.queued, SLOPE_SHARE),
    )
    unread_rests = _rises(evidence.queued, SLOPE_SHARE)[0] is False
    rising, doubtful = [], []
    for what, shown, series, limit in judged:
        rises, whole = _rises(series, limit)
        if whole is None or rises is False or (rises is None and unread_rests and whole.per_s < limit):
            continue
        growth, low, high = (shown(value) for value in (whole.per_s, whole.low, whole.high))
        values = {"series": what, "growth": growth, "low": low, "high": high, "limit": shown(limit)}
        if rises:
            rising.append(notice("rose-throughout", **values))
        else:
            doubtful.append(notice("may-have-risen", **values))
    if rising:
        return Finding(False, notice("overloaded", findings=joined(rising)))
    if not unread_rests and min(len(evidence.medians), len(evidence.waiting)) < LEAST_SECONDS:
        return _too_short(LEAST_SECONDS)
    if doubtful:
        return Finding(None, notice("undecided", findings=joined(doubtful)))
    return Finding(True)


def scalability(evidence: Evidence) -> Finding:
    """The mean backlog of the last 30 s is less than 100 records above that of the first 30 s.

    Where the engine's position moves in larger steps than that, a single one would decide; ``slope`` does instead.
    """
    if evidence.step_records > LAG_LIMIT_RECORDS:
        finding = slope(evidence)
        return Finding(finding.held, finding.why, (*finding.notes, notice("lag-in-steps")), finding.weak)
    seconds, values = evidence.backlog.seconds, evidence.backlog.values
    if len(seconds) < 2 * LAG_WINDOW_S:
        return _too_short(2 * LAG_WINDOW_S)
    grown = float(values[-LAG_WINDOW_S:].mean() - values[:LAG_WINDOW_S].mean())
    if grown >= LAG_LIMIT_RECORDS:
        return Finding(False, notice("lag-grew", window_s=LAG_WINDOW_S, grown=grown, limit=LAG_LIMIT_RECORDS))
    return Finding(True)


def decided_instead(rule: str | None, warnings: Sequence[str]) -> str | None:
    """The rule that decided in the place of this one, by the warnings of a summary; None: it decided itself."""
    return "slope" if rule == "scalability" and notice("lag-in-steps") in warnings else None


RULES: Mapping[str, Callable[[Evidence], Finding]] = {
    "slope": slope,
    "ospbench": ospbench,
    "sustainable": sustainable,
    "scalability": scalability,
}


def least_s(rule: str | None) -> float:
    """Measured seconds that a rule needs by its definition."""
    return 2.0 * LAG_WINDOW_S if rule == "scalability" else 0.0


def limits_latency(rule: str | None) -> bool:
    """Whether a rate is not sustained by a rule where half of the records wait longer than ``MEDIAN_LIMIT_MS``."""
    return rule in ("slope", "ospbench")


def apply(rule: str | None, evidence: Evidence) -> Finding:
    """The finding of the scenario's rule; none when it names none."""
    if rule is None:
        return Finding(None)
    if rule not in RULES:
        known = ", ".join(sorted(RULES))
        return Finding(None, notice("unknown-rule", rule=rule, known=known))
    if evidence.missing_share > MISSING_SHARE:
        share, limit = _percent(evidence.missing_share), _percent(MISSING_SHARE)
        return Finding(False, notice("missing-results", share=share, limit=limit))
    if evidence.median_ms is None:
        return Finding(False, notice("no-result"))
    return RULES[rule](evidence)


def by_backlog(rule: str | None, evidence: Evidence) -> Finding:
    """The finding by the backlog alone, where no latency is known: by its slope, unless the rule needs no latency."""
    if rule is None:
        return Finding(None)
    if rule == "scalability":
        return RULES[rule](evidence)
    finding = slope(evidence)
    return Finding(finding.held, finding.why, (*finding.notes, notice("backlog-only", rule=rule)))


def _rises(series: Series, limit: float) -> tuple[bool | None, Slope | None]:
    """Whether a series rises continuously by ``limit`` a second or more, with its trend; None: undecided.

    It does when the lower bound of its trend reaches the limit and it rises throughout. It does not when the upper
    bound is below the limit, for the whole or for the last half: what has come to rest does not rise continuously.
    """
    whole, last = series.slope(), series.halves()[1].slope()
    if whole is None:
        return None, None
    if whole.low >= limit and _rises_throughout(series, limit):
        return True, whole
    at_rest = whole.high < limit or (last is not None and last.high < limit)
    return (False if at_rest else None), whole


def _rises_throughout(series: Series, limit: float) -> bool:
    """Each half, if it is long enough, rises by the limit too: a single jump leaves one of them level."""
    halves = (half.slope() for half in series.halves())
    return all(half is None or half.per_s >= limit for half in halves)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _ms_per_s(value: float) -> str:
    return f"{value:.1f} ms/s"


def _median_too_high(evidence: Evidence) -> Notice:
    if evidence.median_ms is None or evidence.median_ms < MEDIAN_LIMIT_MS:
        return NOTHING
    return notice("median-too-high", median_s=evidence.median_ms / 1000, limit_s=MEDIAN_LIMIT_MS / 1000)


def _too_short(seconds: int) -> Finding:
    return Finding(None, notice("too-short", seconds=seconds))
