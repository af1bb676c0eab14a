"""The numbers of a scenario, its workload and its engine that a capacity search can vary.

Whether a higher value (a rate) or a lower one (cores) is harder for the system under test is declared where the value
is defined: ``json_schema_extra={"harder": "less"}`` of its field, or ``None`` for a value that cannot be searched.
Without a declaration, higher is harder for values of the scenario and the workload, and lower for engine options.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from pydantic.fields import FieldInfo

from streamgauge import registry
from streamgauge.errors import UsageError, invalid
from streamgauge.model import Scenario
from streamgauge.search_axis import RATE, Harder, SearchAxis
from streamgauge.studies import fields
from streamgauge.studies.parsing import parse_literal
from streamgauge.studies.pinned import pinned
from streamgauge.studies.scenario import Values, resolve

LOAD_WORKERS = "generators"
UNITS = ("_per_s", "_ms", "_mb", "_s")
"""What may be left out behind a name: ``heap`` is ``heap_mb``."""


def axis_of(name: str, scenario: Scenario, harder: Harder | None = None) -> SearchAxis:
    """The axis of that name, in its own direction or the given one.

    Raises UsageError if the scenario has no such number to search.
    """
    axes = _axes(scenario)
    name = registry.workload(scenario.workload, scenario.parameters).searched_as.get(name, name)
    short = [] if name in pinned(scenario) else [name + unit for unit in UNITS]
    full = [candidate for candidate in (name, *short) if candidate in axes]
    if not full:
        if name == LOAD_WORKERS:
            raise UsageError(
                f"--over {name} cannot be searched: it is the number of load workers, which share the same load",
                expected=f"one of {', '.join(sorted(axes))}",
                hint=f"--over {RATE}, and --generators N for as many load workers as that takes",
            )
        raise registry.unknown("--over", name, list(axes))
    return replace(axes[full[0]], harder=harder or axes[full[0]].harder)


def value_on(axis: SearchAxis, scenario: Scenario) -> float:
    """The scenario's value; 1 where it is 0. Raises UsageError like ``axis_of``."""
    axis_of(axis.name, scenario)
    value = parse_literal(pinned(scenario)[axis.name])
    return max(int(value), 1) if axis.whole else float(value) or 1.0


def with_value(axis: SearchAxis, scenario: Scenario, value: float, typed: str | None = None) -> Scenario:
    """The scenario with this value, as with ``--set``. Raises UsageError for an invalid value, named as ``typed``."""
    workload = registry.workload(scenario.workload)
    follows = workload.follows(axis.name, value, scenario.parameters, scenario.load.rate_per_s)
    changes = {axis.name: str(value), **follows}
    return with_changes(scenario, changes, None if typed is None else {axis.name: typed})


def with_changes(scenario: Scenario, changes: Mapping[str, str], typed: Mapping[str, str] | None = None) -> Scenario:
    """The scenario with these changes, as with ``--set``. Raises UsageError for an invalid value."""
    changed = resolve(
        f"{scenario.study}/{scenario.name}",
        profile=scenario.profile,
        changes={**pinned(scenario), **changes},
        engine=scenario.engine,
        slo=scenario.slo,
        script=scenario.script,
        typed=typed,
    )
    return replace(changed, faults=scenario.faults)


def bound_on(axis: SearchAxis, scenario: Scenario, text: str, option: str) -> float:
    """A bound of the search, typed as ``--set`` takes it. Raises UsageError for what the scenario refuses."""
    value = number_of(axis.name, _fields(scenario)[axis.name][0], text, f"{option} {text}")
    with_value(axis, scenario, value, typed=f"{option} {text}")
    return value


def number_of(name: str, field: FieldInfo, text: str, typed: str) -> float:
    """The number above 0 that was typed for a field. Raises UsageError."""
    value = fields.read(text, name, field)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not abs(value) <= sys.float_info.max or (fields.is_whole(field) and value != int(value)):
        raise invalid(typed, fields.expected(name, field))
    if value <= 0:
        least = fields.limits(field)[0] or 0
        raise invalid(typed, fields.expected(name, field) if least > 0 else "a number above 0")
    return cast(float, value)


def limits_on(axis: SearchAxis, scenario: Scenario) -> tuple[float | None, float | None]:
    """The least and the largest value that the field itself takes; None where it has no such limit."""
    return fields.limits(_fields(scenario)[axis.name][0])


def _fields(scenario: Scenario) -> dict[str, tuple[FieldInfo, Harder]]:
    """Everything that can be set, with the direction that it has without a declaration."""
    values = {**Values.model_fields, **registry.workload(scenario.workload).parameters.model_fields}
    options = registry.engine(scenario.engine).options.model_fields
    return {
        **{name: (field, "more") for name, field in values.items()},
        **{name: (field, "less") for name, field in options.items()},
    }


def _axes(scenario: Scenario) -> dict[str, SearchAxis]:
    """Every number that can be searched."""
    numbers = {name for name, text in pinned(scenario).items() if type(parse_literal(text)) in (int, float)}
    axes = {}
    for name, (field, default) in _fields(scenario).items():
        harder = _declared(field, default)
        if name in numbers and harder is not None:
            axes[name] = SearchAxis(name, harder, fields.is_whole(field))
    return axes


def _declared(field: FieldInfo, default: Harder) -> Harder | None:
    extra = field.json_schema_extra
    return cast("Harder | None", extra.get("harder", default)) if isinstance(extra, dict) else default
