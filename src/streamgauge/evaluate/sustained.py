"""Rules, by name, that say whether a rate was sustained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from streamgauge.evaluate.metrics.trend import LEAST_SECONDS, NO_SERIES, Series, Slope

SLOPE_SHARE = 0.01
"""Of the offered rate: a backlog that grows faster is rising."""
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

    offered_per_s: float
    slope: Slope | None
    """Of the backlog over the measured interval."""
    median_ms: float | None
    medians: Series = NO_SERIES
    """The median latency of each second of the measured interval, in ms."""
    backlog: Series = NO_SERIES
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
    if evidence.slope is None:
        return _too_short(LEAST_SECONDS)
    limit = SLOPE_SHARE * evidence.offered_per_s
    if evidence.slope.low >= limit and _rises_throughout(evidence.backlog, limit):
        return Finding(
            False,
            f"overloaded: the backlog grew by {evidence.slope.per_s:.1f} records/s (at least "
            f"{evidence.slope.low:.1f}); the limit is {limit:.1f}",
        )
    if evidence.slope.high >= limit:
        return Finding(
            None,
            f"whether the rate is sustained is undecided: the backlog may have grown by up to "
            f"{evidence.slope.high:.1f} records/s (best estimate {evidence.slope.per_s:.1f}); the limit is "
            f"{limit:.1f}; a longer --for tells",
        )
    return Finding(True)


def by_estimate(slope_per_s: float, offered_per_s: float) -> Finding:
    """For what the rule ``slope`` cannot tell: by the best estimate of the backlog's slope."""
    limit = SLOPE_SHARE * offered_per_s
    why = f"undecided; by the point estimate the backlog grew by {slope_per_s:.1f} records/s, limit {limit:.1f}"
    return Finding(slope_per_s < limit, why, weak=True)


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
        ("the latency", "ms", evidence.medians, LATENCY_RISE_MS_PER_S),
        ("the backlog", "records", evidence.backlog, SLOPE_SHARE * evidence.offered_per_s),
    )
    rising, doubtful = [], []
    for what, unit, series, limit in judged:
        rises, whole = _rises(series, limit)
        by = "" if whole is None else f" by {whole.per_s:.1f} {unit}/s ({whole.low:.1f} to {whole.high:.1f})"
        if rises:
            rising.append(f"{what} rose throughout,{by}; the limit is {limit:.1f}")
        elif rises is None and whole is not None:
            doubtful.append(f"{what} may have risen,{by}; the limit is {limit:.1f}")
    if rising:
        return Finding(False, f"overloaded: {'; '.join(rising)}")
    if min(len(evidence.medians), len(evidence.backlog)) < LEAST_SECONDS:
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
    if evidence.median_ms is None:
        return Finding(False, "overloaded: no result of the measured interval came out")
    return RULES[rule](evidence)


def by_backlog(rule: str | None, evidence: Evidence) -> Finding:
    """What the backlog alone allows to say, where no latency is known."""
    if rule is None:
        return Finding(None)
    found = slope(evidence)
    note = f"of the rule {rule} only the slope of the backlog was judged: the latency is not known"
    return Finding(found.held, found.why, (*found.notes, note))


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


def _median_too_high(evidence: Evidence) -> str:
    if evidence.median_ms is None or evidence.median_ms < MEDIAN_LIMIT_MS:
        return ""
    return f"the median latency is {evidence.median_ms / 1000:.1f} s; the limit is {MEDIAN_LIMIT_MS / 1000:g} s"


def _too_short(seconds: int, notes: tuple[str, ...] = ()) -> Finding:
    why = (
        f"the measured interval is too short to tell whether the rate is sustained: {seconds} whole seconds are needed"
    )
    return Finding(None, why, notes)
