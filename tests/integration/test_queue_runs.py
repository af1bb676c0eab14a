"""Whole runs on queues: right answers, a system that does not keep up, a generator that is killed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from attempts import until_valid
from streamgauge.conformance.suite import Bench
from streamgauge.evaluate.verdict import exit_code
from streamgauge.measure.faults import parse
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.measure.runner import run_scenario
from streamgauge.model.summary import Summary
from streamgauge.notices import notice
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


def copy(shared: Bench, name: str, engine: str = "echo", **changes: str) -> tuple[RunDir, Summary]:
    """Every purchase unchanged."""
    settings = {"warmup_s": "3", "measured_s": "10", "rate_per_s": "1000", "generators": "2", "quiet_s": "1", **changes}
    scenario = scenarios.resolve("checks/queue", engine=engine, changes=settings)
    return until_valid(
        lambda number: run_scenario(
            Request(scenario, shared.out(f"queue-{name}-{number}")), NullReporter(), shared.evaluator
        ),
        lambda result: result[1].verdict == "INVALID",
    )


@pytest.mark.parametrize(
    "engine",
    [
        "echo",
        pytest.param("spark", marks=[pytest.mark.engine("spark"), pytest.mark.full]),
        pytest.param("flink", marks=[pytest.mark.engine("flink"), pytest.mark.full]),
    ],
)
def test_purchases_pass_unchanged(shared: Bench, engine: str) -> None:
    _, summary = copy(shared, f"copy-{engine}", engine)
    assert (summary.verdict, summary.reasons) == ("VALID", [])
    assert summary.results["matched"] == summary.results["expected"] == 13_000


def test_a_known_delay_loss_and_change_are_found(shared: Bench) -> None:
    changes = {"delay_ms": "400", "drop_every": "100", "alter_every": "130", "duplicate_every": "170"}
    _, summary = copy(shared, "broken", **changes)
    numbers = range(1, 13_001)
    dropped = sum(n % 100 == 0 for n in numbers)
    altered = sum(n % 130 == 0 and n % 100 != 0 for n in numbers)
    assert (summary.verdict, summary.results["lost"]) == ("FAILED", dropped)
    assert summary.results["wrong"] == altered
    assert summary.results["duplicates"] == sum(n % 170 == 0 and n % 100 != 0 and n % 130 != 0 for n in numbers)
    for kind in ("total", "processing_time"):
        assert (summary.latency(kind).get("p50") or 0) >= 400


def test_only_event_time_shows_a_system_that_is_slower_than_its_queue(shared: Bench) -> None:
    """It takes 700 of 1,000 records a second: each second waits 0.3 s longer than the one before."""
    directory, summary = copy(shared, "slow", cap_per_s="700", measured_s="20", rate_per_s="1000")
    assert (summary.verdict, summary.state, summary.sustained) == ("VALID", "overloaded", False)
    seconds = pq.read_table(directory.measures("seconds")).to_pydict()
    measured = [place for place, phase in enumerate(seconds["phase"]) if phase == "measured"]
    first, last = measured[1], measured[-2]
    event_time, processing_time = (
        seconds[f"{kind}_p50"][last] - seconds[f"{kind}_p50"][first] for kind in ("total", "processing_time")
    )
    expected_ms = 1000 * (1000 / 700 - 1) * (last - first)
    assert event_time == pytest.approx(expected_ms, rel=0.15)
    assert abs(processing_time) < 0.1 * event_time
    queued, ingested = (seconds[name] for name in ("queued", "ingested"))
    assert queued[last] - queued[first] == pytest.approx(300 * (last - first), rel=0.15)
    assert sum(ingested) == sum(seconds["appended"]) == 23_500, "with half a second after the measured interval"


def test_a_killed_generator_is_invalid(shared: Bench) -> None:
    _, summary = run(shared, "queue-killed", str(EXAMPLE), fault="kill load at 2s")
    assert summary.verdict == "INVALID"
    assert notice("fault-outside-engine", fault="kill load at 2s") in summary.reasons
