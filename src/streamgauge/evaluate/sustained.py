"""Rules, by name, that say whether a rate was sustained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from streamgauge.evaluate.metrics.trend import LEAST_SECONDS, NO_SERIES, Series, Slope

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
    micro_batches: bool = False


@dataclass(frozen=True)
class Finding:
    """``held`` is None when the run cannot tell. ``why`` is a sentence wherever the rule did not hold.

    ``notes`` say what the rule could not do here, whatever it found.
    """

    held: bool | None
    why: str = ""
    notes: tuple[str, ...] = ()
    weak: bool = False
    """Whether the rule could not tell and the point estimate decided."""


def slope(evidence: Evidence) -> Finding:
    """The backlog grows by less than 1 % of the offered rate, and the median is below 10 s.

    Sustained when the upper bound of the slope is below that limit, overloaded when the lower bound is not and the
    backlog grew throughout, undecided in between: docs/why/three-answers.md.
    """
    if too_slow := _median_too_high(evidence):
        return Finding(False, f"overloaded: {too_slow}")
    trend = evidence.waiting.slope()
    if trend is None:
        return _too_short(LEAST_SECONDS)
    of_rate = "of the offered rate"
    if trend.low >= SLOPE_SHARE and _rises_throughout(evidence.waiting, SLOPE_SHARE):
        return Finding(
            False,
            f"overloaded: the backlog grew by {_percent(trend.per_s)} {of_rate} (at least {_percent(trend.low)}); "
            f"the limit is {_percent(SLOPE_SHARE)}",
        )
    if trend.high >= SLOPE_SHARE:
        return Finding(
            None,
            f"whether the rate is sustained is undecided: the backlog may have grown by up to {_percent(trend.high)} "
            f"{of_rate} (best estimate {_percent(trend.per_s)}); the limit is {_percent(SLOPE_SHARE)}; "
            "a longer --for tells",
        )
    return Finding(True)


def by_estimate(slope_share: float) -> Finding:
    """For what the rule ``slope`` cannot tell: by the best estimate of the backlog's slope, as a share of the rate."""
    why = (
        f"undecided; by the point estimate the backlog grew by {_percent(slope_share)} of the offered rate, "
        f"limit {_percent(SLOPE_SHARE)}"
    )
    return Finding(slope_share < SLOPE_SHARE, why, weak=True)


def ospbench(evidence: Evidence) -> Finding:
    """Medians of five equal parts not strictly rising, median below 10 s, drained within 10 s, CPU below 80 %."""
    broken = [_median_too_high(evidence)] if _median_too_high(evidence) else []
    fifths = [median for median in evidence.fifths_ms if median is not None]
    complete = len(fifths) == 5
    if complete and all(before < after for before, after in pairwise(fifths)):
        shown = ", ".join(f"{median:.0f}" for median in fifths)
        broken.append(f"the median latency rose from each fifth of the measured interval to the next: {shown} ms")
    if evidence.drained_s is None:
        broken.append("results were still missing when the drain ended")
    elif evidence.drained_s >= DRAIN_LIMIT_S:
        broken.append(
            f"the last result came {evidence.drained_s:.0f} s after the load's end; the limit is {DRAIN_LIMIT_S:g} s"
        )
    notes: tuple[str, ...] = ()
    if evidence.shared_cores or evidence.cpu_share is None:
        why_not = "cores shared" if evidence.shared_cores else "not known"
        notes = (f"the limit of the rule ospbench on the engine's CPU was not applied: {why_not}",)
    elif evidence.cpu_share >= CPU_LIMIT_SHARE:
        broken.append(
            f"the engine used {100 * evidence.cpu_share:.0f} % of its cores; the limit is {100 * CPU_LIMIT_SHARE:g} %"
        )
    if broken:
        return Finding(False, f"overloaded: {'; '.join(broken)}", notes)
    if not complete:
        why = "whether the rate is sustained is undecided: a fifth of the measured interval has no result"
        return Finding(None, why, notes)
    return Finding(True, notes=notes)


def sustainable(evidence: Evidence) -> Finding:
    """Neither the latency nor the backlog rises continuously: see ``_rises``."""
    judged = (
        ("the latency", _ms_per_s, evidence.medians, LATENCY_RISE_MS_PER_S),
        ("the backlog", _percent, evidence.waiting, SLOPE_SHARE),
    )
    rising, doubtful = [], []
    for what, shown, series, limit in judged:
        rises, whole = _rises(series, limit)
        by = "" if whole is None else f" by {shown(whole.per_s)} ({shown(whole.low)} to {shown(whole.high)})"
        if rises:
            rising.append(f"{what} rose throughout,{by}; the limit is {shown(limit)}")
        elif rises is None and whole is not None:
            doubtful.append(f"{what} may have risen,{by}; the limit is {shown(limit)}")
    if rising:
        return Finding(False, f"overloaded: {'; '.join(rising)}")
    if min(len(evidence.medians), len(evidence.waiting)) < LEAST_SECONDS:
        return _too_short(LEAST_SECONDS)
    if doubtful:
        why = f"whether the rate is sustained is undecided: {'; '.join(doubtful)}; a longer --for tells"
        return Finding(None, why)
    return Finding(True)


def scalability(evidence: Evidence) -> Finding:
    """The mean backlog of the last 30 s is less than 100 records above that of the first 30 s."""
    notes: tuple[str, ...] = ()
    if evidence.micro_batches:
        notes = (
            "the rule scalability means little with micro-batches: their backlog goes up and down by a whole batch",
        )
    seconds, values = evidence.backlog.seconds, evidence.backlog.values
    if len(seconds) < 2 * LAG_WINDOW_S:
        return _too_short(2 * LAG_WINDOW_S, notes)
    grown = float(values[-LAG_WINDOW_S:].mean() - values[:LAG_WINDOW_S].mean())
    if grown >= LAG_LIMIT_RECORDS:
        why = (
            f"overloaded: the mean backlog of the last {LAG_WINDOW_S} s is {grown:.0f} records above that of the "
            f"first; the limit is {LAG_LIMIT_RECORDS:g}"
        )
        return Finding(False, why, notes)
    return Finding(True, notes=notes)


RULES: Mapping[str, Callable[[Evidence], Finding]] = {
    "slope": slope,
    "ospbench": ospbench,
    "sustainable": sustainable,
    "scalability": scalability,
}


def least_s(rule: str | None) -> float:
    """Measured seconds that a rule asks for by its own words."""
    return 2.0 * LAG_WINDOW_S if rule == "scalability" else 0.0


def apply(rule: str | None, evidence: Evidence) -> Finding:
    """The finding of the scenario's rule; none when it names none."""
    if rule is None:
        return Finding(None)
    if rule not in RULES:
        known = ", ".join(sorted(RULES))
        return Finding(None, f"the rule {rule!r} for a sustained rate is not known; known: {known}")
    if evidence.missing_share > MISSING_SHARE:
        return Finding(
            False,
            f"not sustained: {_percent(evidence.missing_share)} of the expected results did not come out; the limit is "
            f"{_percent(MISSING_SHARE)}",
        )
    if evidence.median_ms is None:
        return Finding(False, "overloaded: no result of the measured interval came out")
    return RULES[rule](evidence)


def by_backlog(rule: str | None, evidence: Evidence) -> Finding:
    """What the backlog alone allows to say, where no latency is known."""
    if rule is None:
        return Finding(None)
    finding = slope(evidence)
    note = f"of the rule {rule} only the slope of the backlog was judged: the latency is not known"
    return Finding(finding.held, finding.why, (*finding.notes, note))


def _rises(series: Series, limit: float) -> tuple[bool | None, Slope | None]:
    """Whether a series rises continuously by ``limit`` a second or more, with its trend; None: cannot tell.

    It does when the lower bound of its trend says so and it rises throughout. It does not when the upper bound is below
    the limit, for the whole or for the last half: what has come to rest does not rise continuously.
    """
    whole, last = series.slope(), series.halves()[1].slope()
    if whole is None:
        return None, None
    if whole.low >= limit and _rises_throughout(series, limit):
        return True, whole
    at_rest = whole.high < limit or (last is not None and last.high < limit)
    return (False if at_rest else None), whole


def _rises_throughout(series: Series, limit: float) -> bool:
    """Either half rises by the limit too, as far as it can be told: a single jump leaves one of them level."""
    halves = (half.slope() for half in series.halves())
    return all(half is None or half.per_s >= limit for half in halves)


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _ms_per_s(value: float) -> str:
    return f"{value:.1f} ms/s"


def _median_too_high(evidence: Evidence) -> str:
    if evidence.median_ms is None or evidence.median_ms < MEDIAN_LIMIT_MS:
        return ""
    return f"the median latency is {evidence.median_ms / 1000:.1f} s; the limit is {MEDIAN_LIMIT_MS / 1000:g} s"


def _too_short(seconds: int, notes: tuple[str, ...] = ()) -> Finding:
    why = (
        f"the measured interval is too short to tell whether the rate is sustained: {seconds} whole seconds are needed"
    )
    return Finding(None, why, notes)
