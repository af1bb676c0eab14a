"""One probe of a search: how long it lasts, and what its summary says of the value that was probed."""

from __future__ import annotations

from streamgauge import registry
from streamgauge.campaigns.referee import PROBE_S, STEPS
from streamgauge.evaluate import sustained
from streamgauge.evaluate.metrics.arrival import server_blamed
from streamgauge.model import Scenario, Verdict
from streamgauge.model.capacity import Purpose
from streamgauge.model.summary import Summary
from streamgauge.notices import NOTHING, Notice, joined, notice


def lengths_s(scenario: Scenario, purpose: Purpose) -> tuple[float, float, float]:
    """Of a probe: the length after which its decision is first checked, the shortest one and the longest."""
    measured_s = scenario.load.measured_s
    probe_s = min(measured_s, PROBE_S)
    # A window ends in any interval that is as long as its results take to be final.
    settles_s = registry.workload(scenario.workload).settles_s(scenario.parameters)
    if scenario.script is not None:
        settles_s = max(settles_s, scenario.script.settles_s)
    least_s = max(probe_s, sustained.least_s(scenario.sustained), settles_s)
    longest_s = max(measured_s, STEPS * probe_s, least_s)
    if purpose == "confirm":
        # Fixed beforehand: a run that is extended until it looks right confirms nothing.
        return probe_s, longest_s, longest_s
    return probe_s, least_s, longest_s


def judge(
    summary: Summary, rule: str | None, given_up: Notice = NOTHING, given_up_weakly: bool = False
) -> tuple[str, Notice, bool]:
    """Verdict on a probe, its reason, and whether it is weak: decided by the point estimate alone.

    ``given_up`` is why the referee stopped it, if it did.
    """
    if summary.verdict == Verdict.INVALID.value:
        # What the transport does to the load explains the rest.
        reasons = sorted(summary.reasons, key=lambda reason: not server_blamed(reason))
        if (server := server_blamed(reasons[0])) and _engine_fell_behind(summary):
            return "not sustained", notice("engine-behind-too", server=server, reason=reasons[0]), False
        return "invalid", joined(reasons), False
    if summary.verdict == Verdict.FAILED.value:
        return "failed", joined(summary.reasons), False
    if given_up:
        return "not sustained", given_up, given_up_weakly
    missed = [notice("slo-missed", slo=slo.slo, value=slo.value) for slo in summary.slo if not slo.passed]
    if summary.sustained is False:
        return "not sustained", joined(filter(None, [summary.state_reason, *missed])), False
    if missed:
        return "not sustained", joined(missed), False
    if rule is None and (share := _missing_share(summary)) > sustained.MISSING_SHARE:
        return "not sustained", notice("probe-missing-results", percent=100 * share), False
    if summary.sustained or rule is None:
        return "sustained", NOTHING, False
    slope_percent = None if summary.backlog is None else summary.backlog.slope_percent
    if slope_percent is None:
        return "undecided", notice("probe-undecided"), True
    estimate = sustained.by_estimate(slope_percent / 100)
    return "sustained" if estimate.held else "not sustained", estimate.why, True


def _engine_fell_behind(summary: Summary) -> bool:
    interval = None if summary.backlog is None else summary.backlog.slope_percent_ci
    return interval is not None and interval[0] >= 100 * sustained.SLOPE_SHARE


def _missing_share(summary: Summary) -> float:
    results = summary.results
    missing = (results.get("lost") or 0) + (results.get("unfinished") or 0)
    return missing / max(results.get("expected") or 0, 1)
