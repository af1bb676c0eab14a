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
from streamgauge.conformance.suite import Bench, cases, look_at_plan, observe
from streamgauge.studies.description import SETTINGS, Variant

OWN_COMMAND = (sys.executable, str(Path(__file__).parents[2] / "examples" / "own_command.py"))
OWN_COMMAND_DOES = {"ospbench/ingest", "ospbench/parse"}
ENGINES = registry.names("engines")

ALWAYS = {
    ("ospbench/ingest", "real-time"),
    ("ospbench/parse", "built-in"),
    ("ospbench/sliding", "customised"),
    ("stage-latency/sliding", "built-in"),
}


def program(engine: str) -> tuple[str, ...]:
    return OWN_COMMAND if registry.engine(engine).traits.needs_program else ()


def all_cases() -> list[object]:
    return [
        pytest.param(name, pipeline, variant, marks=() if (pipeline, variant) in ALWAYS else pytest.mark.full)
        for name in ENGINES
        for pipeline, variant in cases(registry.engine(name))
        if not program(name) or pipeline in OWN_COMMAND_DOES
    ]


@pytest.mark.parametrize("name", ENGINES)
def test_plan(name: str) -> None:
    planned = look_at_plan(registry.engine(name), program(name))
    assert {check.__name__: check(planned) for check in checks.planned_checks() if check(planned)} == {}


@pytest.mark.parametrize(("name", "pipeline", "variant"), all_cases())
def test_run(shared: Bench, name: str, pipeline: str, variant: Variant) -> None:
    engine = registry.engine(name)
    observed = observe(shared, engine, pipeline, program(name), SETTINGS[variant])
    found = {check.__name__: check(observed) for check in checks.observed_checks(engine)}
    assert {name: problem for name, problem in found.items() if problem} == {}


def test_every_stage_and_variant_of_spark_is_a_case() -> None:
    found = cases(registry.engine("spark"))
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
