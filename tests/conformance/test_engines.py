"""The conformance suite over every engine, workload and variant.

`make test` runs the first case of each engine and kind of results, `make test-all` every case.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest

from attempts import until_valid
from streamgauge import registry
from streamgauge.conformance import checks
from streamgauge.conformance.suite import Bench, Case, cases, look_at_plan, observe
from streamgauge.model import ResultKind

OWN_COMMAND = (sys.executable, str(Path(__file__).parents[2] / "examples" / "own_command.py"))
OWN_COMMAND_DOES = {"traffic/ingest", "traffic/parse"}
ENGINES = [
    name for name in registry.names("engines") if registry.engine(name).traits.workloads & registry.engine_workloads()
]
"""Those that have programs of their own; an engine for scripts has its own tests (test_unchanged_scripts.py)."""
QUIET_S, QUIET_OF_A_COMMAND_S = 2.0, 5.0
"""Less than by default. Engines that report consumed records need none at all: the drain waits for those."""
OFTEN = {"flink": {"checkpoint_ms": "1000"}}
"""The drain also waits for commits."""


def program(engine: str) -> tuple[str, ...]:
    return OWN_COMMAND if registry.engine(engine).traits.needs_program else ()


def all_cases() -> list[object]:
    every: list[object] = []
    for name in ENGINES:
        kinds: set[ResultKind] = set()
        for case in cases(registry.engine(name)):
            if program(name) and case.workload not in OWN_COMMAND_DOES:
                continue
            kind = registry.workload(case.workload).kind
            marks = [pytest.mark.engine(name), *([pytest.mark.full] if kind in kinds else [])]
            study = case.scenario.partition("/")[0]
            id_ = f"{name}-{study}-{case.workload}-{case.variant}"
            every.append(pytest.param(name, case, id=id_, marks=marks))
            kinds.add(kind)
    return every


@pytest.mark.parametrize("name", [pytest.param(name, marks=pytest.mark.engine(name)) for name in ENGINES])
def test_plan(name: str) -> None:
    planned = look_at_plan(registry.engine(name), program(name))
    assert {check.__name__: check(planned) for check in checks.planned_checks() if check(planned)} == {}


@pytest.mark.parametrize(("name", "case"), all_cases())
def test_run(shared: Bench, name: str, case: Case) -> None:
    quiet_s = QUIET_OF_A_COMMAND_S if program(name) else QUIET_S
    changes = {**OFTEN.get(name, {}), **case.settings, "quiet_s": str(quiet_s)}
    observed = until_valid(
        lambda _: observe(
            shared, registry.engine(name), case.workload, program(name), changes, case.scenario, attempts=1
        ),
        lambda observed: observed.summary.verdict == "INVALID",
    )
    problems = {check.__name__: check(observed) for check in checks.observed_checks(observed.delivery)}
    assert {name: problem for name, problem in problems.items() if problem} == {}


def test_every_stage_and_variant_of_spark_is_a_case() -> None:
    variants: dict[tuple[str, str], set[str]] = defaultdict(set)
    for case in cases(registry.engine("spark")):
        variants[case.workload, case.scenario.partition("/")[0]].add(case.variant)
    for stage in ("join", "tumbling", "sliding"):
        assert variants[f"traffic/{stage}", "ospbench"] == {"built-in", "customised"}
    for stage in ("ingest", "parse"):
        assert variants[f"traffic/{stage}", "ospbench"] == {"built-in", "real-time"}
    assert variants["traffic/sliding", "stage-latency"] == {"built-in", "customised"}, "with other parameters"
