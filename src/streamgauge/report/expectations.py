"""What a run must show, one expectation each: for JUnit files, Markdown summaries and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from streamgauge.model.comparison import Comparison
from streamgauge.model.summary import SloResult, Summary
from streamgauge.report.text import number, rounded

Outcome = Literal["passed", "failed", "error", "skipped"]
NOT_SLOWER = "not slower than the baseline"


@dataclass(frozen=True)
class Expectation:
    name: str
    outcome: Outcome
    message: str = ""
    """Why it did not pass; what was measured where it did."""

    @property
    def is_red(self) -> bool:
        return self.outcome in ("failed", "error")


def expectations_of(
    summary: Summary, baseline: Comparison | None = None, *, not_compared: str = ""
) -> list[Expectation]:
    """Whether the measurement can be used comes first; nothing else is judged of one that cannot."""
    if summary.interrupted or summary.verdict == "INVALID":
        why = "; ".join(summary.reasons) or "the run was interrupted"
        return [Expectation("the measurement is valid", "error", why)]
    found = [Expectation("the measurement is valid", "passed"), _answers(summary)]
    if summary.sustained is not None:
        held = bool(summary.sustained)
        message = "" if held else summary.state_reason or "the system did not keep up with its load"
        found.append(Expectation("the rate is sustained", "passed" if held else "failed", message))
    for one in summary.slo:
        name = one.slo if one.run is None else f"{one.slo} (run {one.run})"
        found.append(Expectation(name, "passed" if one.passed else "failed", _value(one)))
    if not_compared:
        found.append(Expectation(NOT_SLOWER, "error", not_compared))
    if baseline is not None:
        slower = baseline.word == "slower"
        message = f"{baseline.word}: {baseline_words(baseline)}"
        found.append(Expectation(NOT_SLOWER, "failed" if slower else "passed", message))
    return found


def _answers(summary: Summary) -> Expectation:
    name = "the answers are right"
    if summary.verdict == "FAILED":
        return Expectation(name, "failed", "; ".join(summary.reasons))
    if summary.validated is False:
        return Expectation(name, "skipped", "not checked, because there is no reference")
    matched, expected = summary.results.get("matched"), summary.results.get("expected")
    return Expectation(name, "passed", f"{number(matched)} of {number(expected)} matched")


def baseline_words(comparison: Comparison) -> str:
    """The ratio to the baseline, with its interval where there is one."""
    low, high = comparison.interval
    interval = "" if low is None or high is None else f" (95 % interval {low:.3f} to {high:.3f})"
    return f"{comparison.ratio:.3f} × the baseline{interval}"


def _value(objective: SloResult) -> str:
    bounds = {"at least ": objective.at_least, "at most ": objective.at_most}
    known = ((bound, words) for words, bound in bounds.items() if bound is not None)
    value, prefix = next(known, (objective.value, ""))
    shown = "nothing was measured" if value is None else f"{prefix}{rounded(value)}{objective.unit}"
    return f"value {shown}, limit {rounded(objective.limit)}{objective.unit}"
