"""The conformance suite over every engine, pipeline and variant.

`make test` runs the first case of each engine and kind of result, `make test-all` every case.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attempts import until_valid
from streamgauge import registry
from streamgauge.conformance import checks
from streamgauge.conformance.suite import Bench, Case, cases, look_at_plan, observe

OWN_COMMAND = (sys.executable, str(Path(__file__).parents[2] / "examples" / "own_command.py"))
OWN_COMMAND_DOES = {"ospbench/ingest", "ospbench/parse"}
ENGINES = registry.names("engines")
QUIET_S = 2.0
"""For engines that report what they have consumed: the drain waits for that anyway."""


def program(engine: str) -> tuple[str, ...]:
    return OWN_COMMAND if registry.engine(engine).traits.needs_program else ()


def kind(case: Case) -> object:
    """Of the results."""
    return registry.pipeline(case.pipeline).stateful


def all_cases() -> list[object]:
    found: list[object] = []
    for name in ENGINES:
        kinds: set[object] = set()
        for case in cases(registry.engine(name)):
            if program(name) and case.pipeline not in OWN_COMMAND_DOES:
                continue
            marks = [pytest.mark.engine(name), *([pytest.mark.full] if kind(case) in kinds else [])]
            found.append(pytest.param(name, case, id=f"{name}-{case.pipeline}-{case.variant}", marks=marks))
            kinds.add(kind(case))
    return found


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.engine(name)) for name in ENGINES])
def test_plan(name: str) -> None:
    planned = look_at_plan(registry.engine(name), program(name))
    assert {check.__name__: check(planned) for check in checks.planned_checks() if check(planned)} == {}


@pytest.mark.parametrize(("name", "case"), all_cases())
def test_run(shared: Bench, name: str, case: Case) -> None:
    changes = {**case.settings, **({} if program(name) else {"quiet_s": str(QUIET_S)})}
    observed = until_valid(
        lambda _: observe(shared, registry.engine(name), case.pipeline, program(name), changes, attempts=1),
        lambda observed: observed.summary["verdict"] == "INVALID",
    )
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
