"""The conformance suite over every engine and pipeline: each engine × stage once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from streamgauge import registry
from streamgauge.conformance import checks
from streamgauge.conformance.suite import Bench, look_at_plan, observe

OWN_COMMAND = (sys.executable, str(Path(__file__).parents[2] / "examples" / "own_command.py"))
ENGINES = registry.names("engines")


def program(engine: str) -> tuple[str, ...]:
    return OWN_COMMAND if registry.engine(engine).traits.needs_program else ()


@pytest.mark.parametrize("name", ENGINES)
def test_plan(name: str) -> None:
    planned = look_at_plan(registry.engine(name), program(name))
    assert {check.__name__: check(planned) for check in checks.planned_checks() if check(planned)} == {}


@pytest.mark.parametrize(
    ("name", "pipeline"),
    [(name, pipeline) for name in ENGINES for pipeline in sorted(registry.engine(name).traits.pipelines)],
)
def test_run(shared: Bench, name: str, pipeline: str) -> None:
    engine = registry.engine(name)
    observed = observe(shared, engine, pipeline, program(name))
    found = {check.__name__: check(observed) for check in checks.observed_checks(engine)}
    assert {name: problem for name, problem in found.items() if problem} == {}


@pytest.mark.parametrize(
    "pipeline", [pytest.param("ospbench/ingest"), pytest.param("ospbench/parse", marks=pytest.mark.full)]
)
def test_real_time_mode(shared: Bench, pipeline: str) -> None:
    engine = registry.engine("spark")
    observed = observe(shared, engine, pipeline, changes={"realtime": "true"})
    found = {check.__name__: check(observed) for check in checks.observed_checks(engine)}
    assert {name: problem for name, problem in found.items() if problem} == {}
