"""What is expected of a run, and the files that show them to CI systems."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest
from written_runs import summary

from streamgauge.model.comparison import ComparedRuns, Comparison
from streamgauge.model.summary import Summary
from streamgauge.report.expectations import Expectation, expectations_of
from streamgauge.report.junit import junit
from streamgauge.report.markdown import markdown

VALID, RIGHT, KEPT_UP = "the measurement is valid", "the answers are right", "the rate is sustained"


def slo(text: str, value: float | None, passed: bool, **more: Any) -> dict[str, Any]:
    return {"slo": text, "value": value, "limit": 2000, "unit": "ms", "passed": passed, **more}


def judged(**changes: Any) -> Summary:
    return summary(**{"verdict": "VALID", "sustained": True, "slo": [], **changes})


def against(word: str, ratio: float) -> Comparison:
    side = ComparedRuns(path="runs/a", engine={"name": "echo", "version": "1"}, runs=["a"], values=[1.0], median=1.0)
    return Comparison(
        measure="total_p50_ms",
        word=word,
        ratio=ratio,
        interval=(ratio - 0.1, ratio + 0.1),
        seed=1,
        runs_needed=None,
        notes=[],
        a=side,
        b=side,
    )


def outcomes(checks: list[Expectation]) -> dict[str, str]:
    return {check.name: check.outcome for check in checks}


def test_a_good_run_passes_everything() -> None:
    objectives = [slo("latency.p99 < 2s", 120.0, True)]
    assert outcomes(expectations_of(judged(slo=objectives))) == {
        **dict.fromkeys((VALID, RIGHT, KEPT_UP, "latency.p99 < 2s"), "passed")
    }


def test_nothing_is_judged_of_a_measurement_that_is_not_valid() -> None:
    (check,) = expectations_of(judged(verdict="INVALID", reasons=["late", "and later"], slo=[slo("x < 2s", 1.0, True)]))
    assert (check.name, check.outcome, check.message) == (VALID, "error", "late; and later")
    (check,) = expectations_of(judged(verdict="INVALID", interrupted=True, reasons=[]))
    assert check.message == "the run was interrupted"


@pytest.mark.parametrize(
    ("changes", "name", "outcome", "message"),
    [
        ({"verdict": "FAILED", "reasons": ["3 results were lost"]}, RIGHT, "failed", "3 results were lost"),
        ({"validated": False}, RIGHT, "skipped", "not checked, because there is no reference"),
        ({"validated": False, "verdict": "FAILED", "reasons": ["it died"]}, RIGHT, "failed", "it died"),
        ({"sustained": False, "state_reason": "it fell behind"}, KEPT_UP, "failed", "it fell behind"),
        ({"slo": [slo("p99", 2500.0, False)]}, "p99", "failed", "value 2,500ms, limit 2,000ms"),
        ({"slo": [slo("p99", None, False)]}, "p99", "failed", "value nothing was measured, limit 2,000ms"),
        (
            {"slo": [slo("p99", None, False, at_least=9000.0)]},
            "p99",
            "failed",
            "value at least 9,000ms, limit 2,000ms",
        ),
        ({"slo": [slo("p99", 1.0, True, run="2")]}, "p99 (run 2)", "passed", "value 1ms, limit 2,000ms"),
    ],
)
def test_each_expectation(changes: dict[str, Any], name: str, outcome: str, message: str) -> None:
    (check,) = (check for check in expectations_of(judged(**changes)) if check.name == name)
    assert (check.outcome, check.message) == (outcome, message)


def test_a_run_without_a_rule_is_not_judged_by_one() -> None:
    assert KEPT_UP not in outcomes(expectations_of(judged(sustained=None)))


@pytest.mark.parametrize(("word", "outcome"), [("slower", "failed"), ("same", "passed"), ("cannot tell", "passed")])
def test_only_a_slower_run_fails_by_its_baseline(word: str, outcome: str) -> None:
    check = expectations_of(judged(), against(word, 1.25))[-1]
    assert (check.name, check.outcome) == ("not slower than the baseline", outcome)
    assert check.message == f"{word}: 1.250 × the baseline (95 % interval 1.150 to 1.350)"


EXPECTATIONS = [
    Expectation("one", "passed", "fine"),
    Expectation("two <&>", "failed", 'a "reason" with \x1b[31m and <tags>'),
    Expectation("three", "error", "broken"),
    Expectation("four", "skipped", "nothing"),
]


def test_junit_counts_and_names_every_expectation() -> None:
    root = ElementTree.fromstring(junit("streamgauge x", EXPECTATIONS, {"report": "runs/x/report.html"}))
    (suite,) = root
    counted = {name: suite.get(name) for name in ("tests", "failures", "errors", "skipped")}
    assert counted == {"tests": "4", "failures": "1", "errors": "1", "skipped": "1"}
    assert suite.find("properties/property").attrib == {"name": "report", "value": "runs/x/report.html"}
    cases = {case.get("name"): [child.tag for child in case] for case in suite.iter("testcase")}
    assert cases == {"one": ["system-out"], "two <&>": ["failure"], "three": ["error"], "four": ["skipped"]}
    assert suite.find("testcase/failure").get("message") == 'a "reason" with �[31m and <tags>'


def test_markdown_says_first_whether_it_passed() -> None:
    run = judged(warnings=[f"warning {n} | <b>" for n in range(7)])
    lines = markdown(run, EXPECTATIONS, "runs/x/report.html").splitlines()
    assert lines[0].startswith("### ❌ VALID · ")
    assert "| two &lt;&amp;&gt; | ❌ failed |" in lines[5]
    assert "- warning 0 \\| &lt;b&gt;" in lines
    assert "- and 2 more in the report" in lines
    assert lines[-2] == "Report: `runs/x/report.html`"
    assert markdown(run, EXPECTATIONS[:1]).startswith("### ✅ VALID")
