"""What the stages of both studies say of themselves."""

from __future__ import annotations

import pytest

from streamgauge import registry

STUDIES = ("ospbench", "stage-latency")
STAGES = ("ingest", "parse", "join", "tumbling", "sliding")
STATEFUL = STAGES[2:]


@pytest.mark.parametrize("study", STUDIES)
@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_of_every_study_is_registered_under_its_own_name(study: str, stage: str) -> None:
    found = registry.pipeline(f"{study}/{stage}")
    assert found.name == f"{study}/{stage}"
    assert found.title.startswith(f"{stage}: ")
    assert found.inputs == ("flow", "speed")
    assert found.stateful is (stage in STATEFUL)
    assert found.parameters == (("out_of_order_ms", "join_bound_ms") if found.stateful else ())


@pytest.mark.parametrize("stage", STAGES[:-1])
def test_the_studies_differ_in_the_sliding_stage_only(stage: str) -> None:
    one, other = (type(registry.pipeline(f"{study}/{stage}")) for study in STUDIES)
    assert one.reference is other.reference
    assert one.decode is other.decode
    assert (one.key, one.values, one.title) == (other.key, other.values, other.title)


def test_the_sliding_stage_looks_back_as_far_as_its_study() -> None:
    near, far = (registry.pipeline(f"{study}/sliding") for study in STUDIES)
    assert near.values == ("flow_change_1", "speed_change_1", "flow_change_2", "speed_change_2", "n")
    assert far.values == ("flow_change_4", "speed_change_4", "flow_change_9", "speed_change_9", "n")
    assert "1 and 2 seconds" in near.title
    assert "4 and 9 seconds" in far.title


@pytest.mark.parametrize(("stage", "settles_s"), [("parse", 0.0), ("join", 0.0), ("tumbling", 1.25), ("sliding", 1.25)])
def test_a_window_settles_after_its_second_and_the_join_bound(stage: str, settles_s: float) -> None:
    parameters = {"out_of_order_ms": 500, "join_bound_ms": 250}
    for study in STUDIES:
        assert registry.pipeline(f"{study}/{stage}").settles_s(parameters) == settles_s


def test_echo_says_why_it_runs_no_stateful_stage() -> None:
    traits = registry.engine("echo").traits
    assert traits.pipelines == {f"{study}/{stage}" for study in STUDIES for stage in ("ingest", "parse")}
    assert set(traits.gaps) == {f"{study}/{stage}" for study in STUDIES for stage in STATEFUL}
    assert set(traits.gaps.values()) == {"it copies each message and remembers none"}


def test_a_program_of_your_own_may_run_every_pipeline() -> None:
    assert registry.engine("command").traits.pipelines == set(registry.names("pipelines"))
