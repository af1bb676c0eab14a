"""Every check can fail."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from written_runs import summary

from streamgauge import registry
from streamgauge.conformance import checks, suite
from streamgauge.conformance.checks import Ended, Observed, Planned
from streamgauge.model import ProcessSpec, ResultKind, Traits
from streamgauge.model.outcome import Outcome

RESULTS = {
    "expected": 9,
    "matched": 9,
    "wrong": 0,
    "lost": 0,
    "unfinished": 0,
    "duplicates": 0,
    "unexpected": 0,
}


def observed(**changes: Any) -> Observed:
    results = RESULTS | {key: value for key, value in changes.items() if key in RESULTS}
    rest = {key: value for key, value in changes.items() if key not in RESULTS and key != "verdict"}
    good = Observed(
        engine=registry.engine("echo"),
        workload="traffic/ingest",
        delivery="exactly-once",
        summary=summary(verdict=changes.get("verdict", "VALID"), reasons=["a reason"], results=results),
        outcome=Outcome.blank(),
        listening=frozenset({"127.0.0.1:1234", "::1:99", "::ffff:127.0.0.1:5"}),
        ended=(Ended("engine", 0, killed=False),),
    )
    return replace(good, **rest)


def test_a_good_engine_passes_every_check() -> None:
    assert [check(observed()) for check in checks.observed_checks("exactly-once")] == [None] * 8


@pytest.mark.parametrize(
    ("check", "broken"),
    [
        (checks.check_measurement_is_valid, {"verdict": "INVALID"}),
        (checks.check_every_result_is_right, {"wrong": 1}),
        (checks.check_every_result_is_right, {"unexpected": 1}),
        (checks.check_every_result_is_right, {"unfinished": 1}),
        (checks.check_every_result_is_right, {"expected": 0, "matched": 0}),
        (checks.check_nothing_is_lost, {"lost": 1}),
        (checks.check_nothing_is_duplicated, {"duplicates": 1}),
        (checks.check_reads_from_the_earliest_offset, {"matched": 8}),
        (checks.check_listens_on_loopback_only, {"listening": frozenset({"0.0.0.0:80"})}),
        (checks.check_listens_on_loopback_only, {"listening": frozenset({":::80"})}),
        (checks.check_listens_on_loopback_only, {"listening": frozenset({"192.168.0.7:80"})}),
        (checks.check_ends_when_asked, {"ended": ()}),
        (checks.check_ends_when_asked, {"ended": (Ended("engine", 137, killed=True),)}),
        (checks.check_ends_when_asked, {"ended": (Ended("engine", 3, killed=False),)}),
        (checks.check_ends_when_asked, {"ended": (Ended("engine", 143, killed=False),)}),
        (checks.check_ends_when_asked, {"ended": (Ended("jvm", 1, killed=False, expected=(143,)),)}),
        (checks.check_leaves_nothing_behind, {"left_over": ("process 7",)}),
    ],
)
def test_each_check_can_fail(check: checks.ObservedCheck, broken: dict[str, Any]) -> None:
    assert check(observed()) is None
    assert check(observed(**broken))


def test_a_process_may_exit_with_a_code_that_its_plan_allows() -> None:
    assert checks.check_ends_when_asked(observed(ended=(Ended("jvm", 143, killed=False, expected=(143,)),))) is None


def planned(**changes: Any) -> Planned:
    spec = ProcessSpec(role="engine", group="engine", argv=["x"])
    good = Planned(
        engine=registry.engine("echo"),
        workloads=registry.engine_workloads(),
        first=(spec,),
        second=(spec,),
    )
    return replace(good, **changes)


def with_traits(traits: Traits) -> Any:
    return SimpleNamespace(traits=traits)


def test_a_plan_is_checked() -> None:
    other = ProcessSpec(role="engine", group="engine", argv=["y"])
    assert [check(planned()) for check in checks.planned_checks()] == [None] * 4
    assert checks.check_plan_is_pure(planned(second=(other,)))
    assert checks.check_plan_is_pure(planned(files_after=frozenset({"x"})))
    assert checks.check_roles_are_unique(planned(first=(other, other)))


@pytest.mark.parametrize(
    ("workloads", "gaps", "says"),
    [
        ({"a"}, {}, "neither"),
        ({"a", "b"}, {"b": "a reason"}, "both"),
        ({"a"}, {"b": " "}, "without a reason"),
        ({"a"}, {"b": "Spark refuses it"}, None),
    ],
)
def test_gaps_are_strict(workloads: set[str], gaps: dict[str, str], says: str | None) -> None:
    engine = with_traits(Traits(workloads=frozenset(workloads), delivery="exactly-once", gaps=gaps))
    problem = checks.check_every_workload_is_run_or_declared_a_gap(
        planned(engine=engine, workloads=frozenset({"a", "b"}))
    )
    assert (problem is None) == (says is None)
    assert says is None or says in (problem or "")


def test_transactions_are_checked_once_for_each_kind_of_result() -> None:
    of_command = suite.cases(registry.engine("command"))
    exactly_once = {case.workload for case in of_command if case.variant == "exactly-once"}
    kinds = [registry.workload(name).kind for name in exactly_once]
    assert sorted(kind.value for kind in kinds) == sorted(kind.value for kind in ResultKind if kind.value != "none")
    assert not any(case.variant == "exactly-once" for case in suite.cases(registry.engine("echo")))


@pytest.mark.parametrize(
    ("delivery", "lost", "duplicated"),
    [("exactly-once", True, True), ("at-least-once", True, False), ("at-most-once", False, True)],
)
def test_the_delivery_guarantee_selects_the_checks(delivery: Any, lost: bool, duplicated: bool) -> None:
    chosen = checks.observed_checks(delivery)
    assert (checks.check_nothing_is_lost in chosen) == lost
    assert (checks.check_nothing_is_duplicated in chosen) == duplicated
