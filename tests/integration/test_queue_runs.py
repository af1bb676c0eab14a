"""Whole runs on queues: right answers, a system that does not keep up, a generator that is killed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attempts import until_valid
from streamgauge.conformance.suite import Bench
from streamgauge.evaluate.verdict import exit_code
from streamgauge.model.summary import Summary
from streamgauge.run.faults import parse
from streamgauge.run.plan import Request
from streamgauge.run.reporter import NullReporter
from streamgauge.run.runner import run_scenario
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios

EXAMPLE = Path(__file__).parents[2] / "examples" / "queue_client.py"
ENGINE = Path(__file__).with_name("queue_engine.py")
SETTINGS = {"transport": "queue", "warmup_s": "4", "measured_s": "8", "rate_per_s": "1000", "window_s": "2"}


def run(shared: Bench, name: str, *program: str, fault: str = "", **changes: str) -> tuple[RunDir, Summary]:
    settings = {**SETTINGS, "slide_s": "1", "rising_warmup": "false", "quiet_s": "1", **changes}
    scenario = scenarios.resolve("sustainable/aggregation", engine="command", changes=settings)
    scenario = replace(scenario, faults=(parse(fault),) if fault else ())
    request = Request(scenario, shared.out(name), program=(sys.executable, *program))
    return run_scenario(request, NullReporter(), shared.evaluator)


@pytest.mark.parametrize("generators", ["1", pytest.param("2", marks=pytest.mark.full)])
def test_the_example_is_right(shared: Bench, generators: str) -> None:
    def once(number: int) -> tuple[RunDir, Summary]:
        return run(shared, f"queue-{generators}-{number}", str(EXAMPLE), generators=generators)

    directory, summary = until_valid(once, lambda result: result[1].verdict == "INVALID")
    assert (summary.verdict, summary.reasons) == ("VALID", [])
    assert summary.results["matched"] == summary.results["expected"] > 1000
    assert {name: summary.results[name] for name in ("wrong", "lost", "duplicates", "unexpected")} == {
        **dict.fromkeys(("wrong", "lost", "duplicates", "unexpected"), 0)
    }
    manifest = directory.manifest()
    assert manifest.transport.name == "queue"
    assert [stream.partitions for stream in manifest.all_streams] == [int(generators), 1]


@pytest.mark.parametrize(
    ("mistake", "reason"),
    [
        ("never", "the engine did not keep up: the queues overflowed"),
        ("drops", "the engine did not keep up: a reader of purchases dropped its connection and was gone for 5 s"),
    ],
)
def test_a_system_that_does_not_keep_up_is_not_sustained(shared: Bench, mistake: str, reason: str) -> None:
    queue_s = "2" if mistake == "never" else "60"
    _, summary = run(shared, f"queue-{mistake}", str(ENGINE), mistake, queue_s=queue_s, measured_s="60")
    assert summary.verdict == "VALID"
    assert (summary.state, summary.sustained) == ("overloaded", False)
    assert any(reason in warning for warning in [*summary.warnings, summary.state_reason or ""])
    assert exit_code(summary) == 1


@pytest.mark.parametrize(
    ("engine", "scenario"),
    [
        pytest.param("spark", "join", marks=pytest.mark.engine("spark")),
        pytest.param("spark", "aggregation", marks=[pytest.mark.engine("spark"), pytest.mark.full]),
        pytest.param("flink", "aggregation", marks=pytest.mark.engine("flink")),
        pytest.param("flink", "join", marks=[pytest.mark.engine("flink"), pytest.mark.full]),
    ],
)
def test_an_engine_is_right_on_queues(shared: Bench, engine: str, scenario: str) -> None:
    settings = {**SETTINGS, "slide_s": "1", "rising_warmup": "false", "generators": "2", "selectivity_percent": "20"}
    if scenario == "aggregation":
        del settings["selectivity_percent"]
    resolved = scenarios.resolve(f"sustainable/{scenario}", engine=engine, changes=settings)

    def once(number: int) -> Summary:
        out = shared.out(f"queue-{engine}-{scenario}-{number}")
        return run_scenario(Request(resolved, out), NullReporter(), shared.evaluator)[1]

    summary = until_valid(once, lambda result: result.verdict == "INVALID")
    assert (summary.verdict, summary.reasons) == ("VALID", [])
    assert summary.results["matched"] == summary.results["expected"] > 100


def test_a_killed_generator_is_invalid(shared: Bench) -> None:
    _, summary = run(shared, "queue-killed", str(EXAMPLE), fault="kill load at 2s")
    assert summary.verdict == "INVALID"
