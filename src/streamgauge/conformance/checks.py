"""The checks. Each takes observations of an engine and returns the problem it found, or None.

Checks are selected by the engine's traits: what it does not promise is not checked. A workload that it does not run
must be declared as a gap, with a reason; a gap that has closed is a problem until its declaration is removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from streamgauge.contracts import Engine
from streamgauge.model import Delivery, ProcessSpec
from streamgauge.model.outcome import Outcome
from streamgauge.model.summary import Summary

LOOPBACK = re.compile(r"(127\.\d+\.\d+\.\d+|::1|::ffff:127\.\d+\.\d+\.\d+)$")


@dataclass(frozen=True)
class Ended:
    """How a process of the engine ended when asked to."""

    role: str
    exit_code: int | None
    killed: bool
    expected: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Observed:
    """Observations of one short run of an engine and a workload."""

    engine: Engine
    workload: str
    delivery: Delivery
    """The delivery guarantee of the engine in this run."""
    summary: Summary
    outcome: Outcome
    listening: frozenset[str] = frozenset()
    ended: tuple[Ended, ...] = ()
    left_over: tuple[str, ...] = ()


@dataclass(frozen=True)
class Planned:
    """What an engine declares before anything is started."""

    engine: Engine
    workloads: frozenset[str]
    """The workloads that come with streamgauge; an engine need not know those of other packages."""
    first: tuple[ProcessSpec, ...]
    second: tuple[ProcessSpec, ...]
    files_before: frozenset[str] = frozenset()
    files_after: frozenset[str] = frozenset()


def check_every_workload_is_run_or_declared_a_gap(planned: Planned) -> str | None:
    traits = planned.engine.traits
    silent = planned.workloads - traits.workloads - set(traits.gaps)
    if silent:
        return f"neither run nor declared as a gap: {', '.join(sorted(silent))}"
    if closed := traits.workloads & set(traits.gaps):
        return f"both run and declared as a gap: {', '.join(sorted(closed))}"
    if unexplained := [name for name, reason in traits.gaps.items() if not reason.strip()]:
        return f"gaps without a reason: {', '.join(unexplained)}"
    return None


def check_plan_is_pure(planned: Planned) -> str | None:
    if planned.first != planned.second:
        return "two plans of the same job differ"
    if new_files := planned.files_after - planned.files_before:
        return f"planning wrote files: {', '.join(sorted(new_files))}"
    return None


def check_roles_are_unique(planned: Planned) -> str | None:
    roles = [role for spec in planned.first for role in spec.own_roles]
    return None if len(set(roles)) == len(roles) else f"duplicate roles: {roles}"


def check_unknown_option_is_refused(planned: Planned) -> str | None:
    from pydantic import ValidationError

    try:
        planned.engine.options.model_validate({"no_such_option_exists": 1})
    except ValidationError:
        return None
    return "an unknown option is accepted"


def check_measurement_is_valid(observed: Observed) -> str | None:
    verdict = observed.summary.verdict
    return None if verdict == "VALID" else f"{verdict}: {'; '.join(observed.summary.reasons)}"


def check_every_result_is_right(observed: Observed) -> str | None:
    results = observed.summary.results
    if not results["expected"]:
        return "nothing was expected, so nothing was checked"
    bad = {kind: results[kind] for kind in ("wrong", "unexpected", "unfinished") if results[kind]}
    return f"{bad} of {results['expected']}" if bad else None


def check_nothing_is_lost(observed: Observed) -> str | None:
    lost = observed.summary.results["lost"]
    return f"{lost} results lost" if lost else None


def check_nothing_is_duplicated(observed: Observed) -> str | None:
    duplicates = observed.summary.results["duplicates"]
    return f"{duplicates} results duplicated" if duplicates else None


def check_reads_from_the_earliest_offset(observed: Observed) -> str | None:
    """The load started before the engine, so existing records must have been read too."""
    results = observed.summary.results
    return (
        None if results["matched"] == results["expected"] else f"{results['matched']} of {results['expected']} matched"
    )


def check_listens_on_loopback_only(observed: Observed) -> str | None:
    open_to_all = [where for where in observed.listening if not LOOPBACK.match(where.rpartition(":")[0])]
    return f"listens on {', '.join(sorted(open_to_all))}" if open_to_all else None


def check_ends_when_asked(observed: Observed) -> str | None:
    if not observed.ended:
        return "no process was observed"
    bad = [
        f"{e.role} ({'killed' if e.killed else f'code {e.exit_code}'})"
        for e in observed.ended
        if e.killed or e.exit_code not in (None, 0, *e.expected)
    ]
    return f"did not end cleanly: {', '.join(bad)}" if bad else None


def check_leaves_nothing_behind(observed: Observed) -> str | None:
    return f"left behind: {', '.join(observed.left_over)}" if observed.left_over else None


PlannedCheck = Callable[[Planned], str | None]
ObservedCheck = Callable[[Observed], str | None]


def planned_checks() -> tuple[PlannedCheck, ...]:
    return (
        check_every_workload_is_run_or_declared_a_gap,
        check_plan_is_pure,
        check_roles_are_unique,
        check_unknown_option_is_refused,
    )


def observed_checks(delivery: Delivery) -> tuple[ObservedCheck, ...]:
    """The checks of a run with this delivery guarantee."""
    checks: list[ObservedCheck] = [
        check_measurement_is_valid,
        check_every_result_is_right,
        check_listens_on_loopback_only,
        check_ends_when_asked,
        check_leaves_nothing_behind,
    ]
    if delivery != "at-most-once":
        checks += [check_nothing_is_lost, check_reads_from_the_earliest_offset]
    if delivery != "at-least-once":
        checks.append(check_nothing_is_duplicated)
    return tuple(checks)
