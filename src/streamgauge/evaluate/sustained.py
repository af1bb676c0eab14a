"""Rules, by name, that say whether a rate was sustained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from streamgauge.evaluate.metrics.lag import LEAST_SECONDS, Slope

SLOPE_SHARE = 0.01
MEDIAN_LIMIT_MS = 10_000.0


@dataclass(frozen=True)
class Evidence:
    """What rules may look at."""

    offered_per_s: float
    slope: Slope | None
    median_ms: float | None


@dataclass(frozen=True)
class Finding:
    """``held`` is None when the run cannot tell. ``why`` is a sentence wherever the rule did not hold."""

    held: bool | None
    why: str = ""


def slope(evidence: Evidence) -> Finding:
    """The backlog grows by less than 1 % of the offered rate, and the median is below 10 s.

    Sustained when the upper bound of the slope is below that limit, overloaded when the lower bound is not, and
    undecided in between: docs/why/three-answers.md.
    """
    if evidence.median_ms is None:
        return Finding(False, "overloaded: no result of the measured interval came out")
    if evidence.median_ms >= MEDIAN_LIMIT_MS:
        return Finding(
            False,
            f"overloaded: the median latency is {evidence.median_ms / 1000:.1f} s; "
            f"the limit is {MEDIAN_LIMIT_MS / 1000:g} s",
        )
    if evidence.slope is None:
        return Finding(
            None,
            f"the measured interval is too short to tell whether the rate is sustained: "
            f"{LEAST_SECONDS} whole seconds are needed",
        )
    limit = SLOPE_SHARE * evidence.offered_per_s
    if evidence.slope.low >= limit:
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


RULES: Mapping[str, Callable[[Evidence], Finding]] = {"slope": slope}


def apply(rule: str | None, evidence: Evidence) -> Finding:
    """The finding of the scenario's rule; none when it names none."""
    if rule is None:
        return Finding(None)
    if rule not in RULES:
        known = ", ".join(sorted(RULES))
        return Finding(None, f"the rule {rule!r} for a sustained rate is not known; known: {known}")
    return RULES[rule](evidence)
