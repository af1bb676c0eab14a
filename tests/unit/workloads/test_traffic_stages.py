"""The declarations of the stages."""

from __future__ import annotations

import pytest

from streamgauge import registry
from streamgauge.model import ResultKind
from streamgauge.studies import scenario as scenarios

STAGES = ("ingest", "parse", "join", "tumbling", "sliding")
STATEFUL = STAGES[2:]


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_is_registered_under_its_own_name(stage: str) -> None:
    workload = registry.workload(f"traffic/{stage}")
    assert workload.name == f"traffic/{stage}"
    assert workload.title.startswith(f"{stage}: ")
    assert [(stream.name, stream.share) for stream in workload.inputs] == [("flow", 0.5), ("speed", 0.5)]
    assert workload.kind is (ResultKind.FINAL_PER_KEY if stage in STATEFUL else ResultKind.ONE_TO_ONE)
    assert {"out_of_order_ms", "join_bound_ms"} <= set(workload.parameters.model_fields) or stage not in STATEFUL


def test_the_studies_differ_in_how_far_the_sliding_stage_looks_back() -> None:
    near, far = (
        scenarios.resolve(name, changes={"stage": "sliding"}).parameters["lookbacks_s"]
        for name in ("ospbench/latency", "stage-latency/stages")
    )
    assert (near, far) == ([1, 2], [4, 9])


@pytest.mark.parametrize(("stage", "settles_s"), [("parse", 0.0), ("join", 0.5), ("tumbling", 1.75), ("sliding", 1.75)])
def test_a_window_settles_after_its_second_and_the_join_bound(stage: str, settles_s: float) -> None:
    parameters = {"out_of_order_ms": 500, "join_bound_ms": 250}
    assert registry.workload(f"traffic/{stage}").settles_s(parameters) == settles_s


def test_a_users_program_may_run_every_workload() -> None:
    assert registry.engine("command").traits.workloads == set(registry.names("workloads"))
