"""Every answer is checked: programs with one mistake, on a real broker, and its exact count."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attempts import ATTEMPTS, until_valid
from streamgauge.conformance.suite import Bench
from streamgauge.evaluate.verdict import exit_code
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.measure.runner import run_scenario
from streamgauge.model.summary import Summary
from streamgauge.studies import scenario as scenarios

ENGINE = str(Path(__file__).with_name("faulty_engine.py"))
RECORDS = 500
CLICKS = 40_000
"""Four seconds of event time, with late records from the third on."""
SOME = -1
"""For counts: any number above 0."""

FaultyRun = Callable[..., Summary]


@pytest.fixture
def faulty_run(shared: Bench) -> FaultyRun:
    """A run of a program that makes a mistake, on preloaded input."""

    def run(workload: str, mistake: str, *, attempts: int = ATTEMPTS, **changes: str) -> Summary:
        settings = {"shape": "preloaded", "records": str(RECORDS), "quiet_s": "1"}
        if workload == "windowed":
            unused = dict.fromkeys(("rate_per_s", "warmup_s", "measured_s"), "0")
            settings |= {"records": str(CLICKS), "sustained": "none", **unused}
        else:
            settings["program"] = workload
        name = "checks/late-records" if workload == "windowed" else "streambench/performance"
        scenario = scenarios.resolve(name, engine="command", changes=settings | changes)

        def once(_: int) -> Summary:
            program = (sys.executable, ENGINE, mistake, str(scenario.load.records))
            out = shared.out(f"{workload}-{mistake}")
            request = Request(scenario, out, transport_address=shared.transport_address, program=program)
            return run_scenario(request, NullReporter(), shared.evaluator)[1]

        return until_valid(once, lambda summary: summary.verdict == "INVALID", attempts)

    return run


def problems(summary: Summary) -> dict[str, int]:
    """The counts of incorrect results that are above 0."""
    assert summary.results["expected"] > 0
    return {
        name: int(count)
        for name, count in summary.results.items()
        if count and name not in ("expected", "matched", "inputs_per_result")
    }


def test_a_count_that_is_too_low_at_the_end_is_found(faulty_run: FaultyRun) -> None:
    summary = faulty_run("wordcount", "low-at-end")
    assert (summary.verdict, exit_code(summary)) == ("FAILED", 4)
    assert summary.reasons == [f"1 of {RECORDS} results were lost; the engine claims at-least-once"]
    assert (problems(summary), summary.results["matched"]) == ({"lost": 1}, RECORDS - 1)


def test_a_record_that_should_not_be_published_is_found(faulty_run: FaultyRun) -> None:
    summary = faulty_run("grep", "one-too-many")
    assert (summary.verdict, exit_code(summary)) == ("FAILED", 4)
    assert summary.reasons == ["1 results should not have been produced"]
    assert problems(summary) == {"unexpected": 1}
    assert summary.results["matched"] == summary.results["expected"]


WRONG_LAST = {"wrong": 1, "unexpected": 1}
"""For running results: the last contribution has no correct result, and its result is impossible."""


@pytest.mark.full
@pytest.mark.parametrize(
    ("workload", "mistake", "expected"),
    [
        ("identity", "none", {}),
        ("sample", "none", {}),
        ("projection", "none", {}),
        ("grep", "none", {}),
        ("wordcount", "none", {}),
        ("distinctcount", "none", {}),
        ("statistics", "none", {}),
        ("sink", "none", {}),
        ("windowed", "none", {}),
        ("identity", "reversed", {}),
        ("identity", "another-key", {"unexpected": 1}),
        ("identity", "padded-key", {"unexpected": 1, "lost": 1}),
        ("identity", "wrong-value", {"wrong": 1}),
        ("identity", "values-swapped", {"wrong": 2}),
        ("identity", "nothing", {"lost": RECORDS}),
        ("identity", "garbage", {"unexpected": 1}),
        ("identity", "null-key", {"unexpected": 1}),
        ("identity", "empty-key", {"unexpected": 1}),
        ("identity", "null-value-instead", {"wrong": 1}),
        ("identity", "huge-value", {"wrong": 1}),
        ("identity", "twice", {"duplicates": 1}),
        ("projection", "wrong-field", {"wrong": SOME}),
        ("sample", "wrong-records", {"unexpected": SOME, "lost": SOME}),
        ("grep", "one-missing", {"lost": 1}),
        ("wordcount", "low-n-at-end", {"lost": 1, "duplicates": 1}),
        ("wordcount", "high-n-at-end", WRONG_LAST),
        ("wordcount", "high-n-in-the-middle", {"unexpected": 1}),
        ("wordcount", "backwards", {"duplicates": 2}),
        ("wordcount", "backwards-at-end", {"lost": 1, "duplicates": 1}),
        ("wordcount", "reversed", {"lost": SOME}),
        ("wordcount", "twice", {"duplicates": 1}),
        ("wordcount", "wrong-word", {"unexpected": 1}),
        ("wordcount", "not-json", {"unexpected": 1}),
        ("wordcount", "one-partition", {}),
        ("distinctcount", "low-at-end", {"lost": 1}),
        ("distinctcount", "n-as-fraction", WRONG_LAST),
        ("statistics", "max-at-end", WRONG_LAST),
        ("statistics", "mean-9th-digit", WRONG_LAST),
        ("statistics", "mean-nan", WRONG_LAST),
        ("statistics", "mean-last-digit", {}),
        ("statistics", "sum-in-the-middle", {"unexpected": 1}),
        ("windowed", "late-counted", {}),
        ("windowed", "one-missing", {"lost": 1}),
        ("windowed", "window-high", {"wrong": 1}),
        ("windowed", "window-twice-right-last", {"intermediate": 1}),
        ("windowed", "window-twice-wrong-last", {"wrong": 1}),
    ],
)
def test_each_mistake_is_counted_exactly(
    faulty_run: FaultyRun, workload: str, mistake: str, expected: dict[str, int]
) -> None:
    summary = faulty_run(workload, mistake)
    counts = problems(summary).items()
    assert {name: SOME if expected.get(name) == SOME else count for name, count in counts} == expected
    # A program has at-least-once delivery by default, so it may repeat correct results.
    fails = bool(expected.keys() - {"duplicates", "intermediate"})
    assert (summary.verdict, exit_code(summary)) == (("FAILED", 4) if fails else ("VALID", 0)), summary.reasons


@pytest.mark.full
def test_a_result_that_came_twice_fails_a_program_that_claims_exactly_once(faulty_run: FaultyRun) -> None:
    summary = faulty_run("wordcount", "twice", delivery="exactly-once")
    assert (summary.verdict, problems(summary)) == ("FAILED", {"duplicates": 1})


@pytest.mark.full
@pytest.mark.parametrize(
    ("mistake", "verdict", "reason"),
    [
        ("slow", "VALID", ""),  # overloaded: it was still reading
        ("half", "FAILED", "no input was consumed in the last"),
        ("half-silent", "INVALID", "the engine did not report how much input it consumed"),
    ],
)
def test_a_sink_that_does_not_read_everything(faulty_run: FaultyRun, mistake: str, verdict: str, reason: str) -> None:
    attempts = 1 if verdict == "INVALID" else ATTEMPTS
    summary = faulty_run("sink", mistake, attempts=attempts, drain_deadline_s="5", records="5000")
    assert summary.verdict == verdict, summary.reasons
    assert reason in " ".join(summary.reasons)
    assert summary.results["unfinished"] > 0
