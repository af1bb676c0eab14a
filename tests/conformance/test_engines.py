"""The conformance suite over every engine, pipeline and variant.

`make test` runs one case of each kind, `make test-all` every case: the stages of stage-latency but the last are those
of ospbench by another name, and a stage holds the ones before it.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from streamgauge import registry
from streamgauge.conformance import checks
from streamgauge.conformance.suite import Bench, Case, cases, look_at_plan, observe

OWN_COMMAND = (sys.executable, str(Path(__file__).parents[2] / "examples" / "own_command.py"))
OWN_COMMAND_DOES = {"ospbench/ingest", "ospbench/parse"}
ENGINES = registry.names("engines")

ALWAYS = {
    "command": {("ospbench/parse", "built-in")},
    "echo": {("ospbench/parse", "built-in")},
    "flink": {("ospbench/join", "exactly-once"), ("stage-latency/sliding", "customised")},
    "kafka-streams": {("ospbench/tumbling", "built-in"), ("stage-latency/sliding", "customised")},
    "spark": {("ospbench/sliding", "customised"), ("stage-latency/sliding", "built-in")},
}
"""Of an engine that is not named here, every case."""


def program(engine: str) -> tuple[str, ...]:
    return OWN_COMMAND if registry.engine(engine).traits.needs_program else ()


def is_always_run(name: str, case: Case) -> bool:
    return name not in ALWAYS or (case.pipeline, case.variant) in ALWAYS[name]


def all_cases() -> list[object]:
    return [
        pytest.param(
            name,
            case,
            id=f"{name}-{case.pipeline}-{case.variant}",
            marks=() if is_always_run(name, case) else pytest.mark.full,
        )
        for name in ENGINES
        for case in cases(registry.engine(name))
        if not program(name) or case.pipeline in OWN_COMMAND_DOES
    ]


@pytest.mark.parametrize("name", ENGINES)
def test_plan(name: str) -> None:
    planned = look_at_plan(registry.engine(name), program(name))
    assert {check.__name__: check(planned) for check in checks.planned_checks() if check(planned)} == {}


@pytest.mark.parametrize(("name", "case"), all_cases())
def test_run(shared: Bench, name: str, case: Case) -> None:
    observed = observe(shared, registry.engine(name), case.pipeline, program(name), case.settings)
    found = {check.__name__: check(observed) for check in checks.observed_checks(observed.delivery)}
    assert {name: problem for name, problem in found.items() if problem} == {}


def test_every_stage_and_variant_of_spark_is_a_case() -> None:
    found = [case[:2] for case in cases(registry.engine("spark"))]
    for study in ("ospbench", "stage-latency"):
        for stage in ("join", "tumbling", "sliding"):
            assert {variant for pipeline, variant in found if pipeline == f"{study}/{stage}"} == {
                "built-in",
                "customised",
            }
        for stage in ("ingest", "parse"):
            assert {variant for pipeline, variant in found if pipeline == f"{study}/{stage}"} == {
                "built-in",
                "real-time",
            }
