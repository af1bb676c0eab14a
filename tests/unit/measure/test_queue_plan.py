"""What a run on queues is laid out as, and what is refused before it starts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from streamgauge.errors import Unsupported, UsageError
from streamgauge.measure import load_processes
from streamgauge.measure import plan as plans
from streamgauge.measure.faults import parse
from streamgauge.measure.plan import Request, RunPlan
from streamgauge.model import Script
from streamgauge.studies import scenario as scenarios


def draw(engine: str = "flink", *faults: str, **changes: Any) -> RunPlan:
    settings = {"transport": "queue", "rate_per_s": "10000", **changes}
    scenario = scenarios.resolve("sustainable/aggregation", engine=engine, changes=settings)
    scenario = replace(scenario, faults=tuple(parse(fault) for fault in faults))
    return plans.draw(Request(scenario, Path("out")), "run", Path("/work-dir"))


def test_load_workers_start_before_the_engine_and_are_the_partitions() -> None:
    plan = draw(generators="3")
    roles = [spec.role for spec in plan.processes]
    assert roles.index("collector") < roles.index("load-1") < roles.index("jobmanager")
    assert [(stream.name, stream.partitions) for stream in plan.streams] == [("purchases", 3), ("output", 1)]
    assert plan.job.partitions == 3 and len(plan.job.endpoints["queues"].split(",")) == 3
    assert len(set(plan.server_ports)) == 4


@pytest.mark.parametrize(("generators", "bound"), [(1, 20_000), (2, 10_000), (3, 6667)])
def test_each_load_worker_has_its_share_of_the_bound(generators: int, bound: int) -> None:
    assert draw(generators=str(generators), queue_s="2").transport.bound_records == bound


@pytest.mark.parametrize(
    ("fault", "why"),
    [
        ("kill collector for 2s at 50%", "what it has received is only in its memory"),
        ("pause collector for 2s at 50%", "what it has received is only in its memory"),
        ("kill taskmanager-1 for 6s at 50%", "a reader that is gone for so long ends the run"),
        ("cut taskmanager-1 from broker for 2s at 50%", "a connection to a queue cannot be cut"),
    ],
)
def test_faults_that_queues_cannot_take(fault: str, why: str) -> None:
    with pytest.raises(UsageError) as refused:
        draw("flink", fault)
    assert why in refused.value.message()


@pytest.mark.parametrize(
    "fault", ["kill load at 50%", "pause taskmanager-1 for 2s at 50%", "kill taskmanager-1 at 50%"]
)
def test_faults_that_they_can_take(fault: str) -> None:
    assert draw("flink", fault).request.scenario.faults


def test_a_bound_may_be_a_fraction_of_a_second() -> None:
    assert draw(generators="1", queue_s="0.2").transport.bound_records == 2000


def test_a_burst_comes_as_a_whole_however_short_the_bound_is() -> None:
    burst = {
        "shape": "periodic-burst",
        "rising_warmup": "false",
        "burst_records": "50000",
        "burst_s": "0.2",
        "burst_every_s": "10",
    }
    assert draw(generators="1", queue_s="0.5", **burst).transport.bound_records > 50_000


def test_queues_hold_a_burst_and_what_comes_while_the_engine_starts() -> None:
    burst = {"shape": "single-burst", "rising_warmup": "false", "burst_records": "50000", "burst_s": "5"}
    assert draw(generators="1", measured_s="120", **burst).transport.bound_records > 50_000


def test_the_memory_of_what_may_wait_is_needed() -> None:
    """100,000 records/s of 28 B: 30 s that wait, and 10 s that were not acknowledged yet, are 112,000,000 bytes."""
    request = draw(rate_per_s="100000", measured_s="600", queue_s="30").request
    assert load_processes.memory_mb(request, 0, 28) == 106 + load_processes.WORKER_MB


@pytest.mark.parametrize(
    ("engine", "changes", "why"),
    [
        ("kafka-streams", {}, "does not run on transport queue"),
        ("flink", {"delivery": "exactly-once"}, "results cannot be written in transactions"),
        ("flink", {"transport": "pigeon"}, "unknown transport: 'pigeon'"),
        ("flink", {"slice_s": "30"}, "does not support slices"),
        ("flink", {"shape": "unlimited", "rising_warmup": "false"}, "does not support shape unlimited"),
        (
            "flink",
            {"shape": "single-burst", "rising_warmup": "false", "burst_records": "50000", "burst_s": "25"},
            "needs queues that hold the burst",
        ),
    ],
)
def test_what_does_not_run_on_queues(engine: str, changes: dict[str, str], why: str) -> None:
    with pytest.raises((UsageError, Unsupported)) as refused:
        draw(engine, **changes)
    assert why in refused.value.message()


def test_records_of_different_lengths_and_scripts_do_not() -> None:
    with pytest.raises(UsageError, match="streambench/identity does not run on transport queue"):
        scenario = scenarios.resolve("streambench/latency", engine="flink", changes={"transport": "queue"})
        plans.draw(Request(scenario, Path("out")), "run", Path("/work-dir"))
    with pytest.raises(UsageError, match="a script does not run on transport queue"):
        script = Script("my.py", "0" * 64, (), 0.0)
        scenarios.resolve("sustainable/aggregation", engine="spark", changes={"transport": "queue"}, script=script)
