"""The integers of a scenario, its workload and its engine that a capacity search can vary.

Whether a higher value (a rate) or a lower one (cores) is harder for the system under test is declared where the value
is defined: ``json_schema_extra={"harder": "less"}`` of its field, or ``None`` for a value that cannot be searched.
Without a declaration, higher is harder for values of the scenario and the workload, and lower for engine options.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from pydantic.fields import FieldInfo

from streamgauge import registry
from streamgauge.model import Scenario
from streamgauge.search_axis import Harder, SearchAxis
from streamgauge.studies.parsing import parse_literal
from streamgauge.studies.pinned import pinned
from streamgauge.studies.scenario import Values, resolve


def axis_of(name: str, scenario: Scenario) -> SearchAxis:
    """The axis of that name. Raises UsageError if the scenario has no such integer to search."""
    directions = _directions(scenario)
    if name not in directions:
        raise registry.unknown("--over", name, list(directions))
    return SearchAxis(name, directions[name])


def value_on(axis: SearchAxis, scenario: Scenario) -> int:
    """The scenario's value, at least 1. Raises UsageError like ``axis_of``."""
    axis_of(axis.name, scenario)
    return max(int(parse_literal(pinned(scenario)[axis.name])), 1)


def with_value(axis: SearchAxis, scenario: Scenario, value: int) -> Scenario:
    """The scenario with this value, as with ``--set``. Raises UsageError for an invalid value."""
    changed = resolve(
        f"{scenario.study}/{scenario.name}",
        profile=scenario.profile,
        changes={**pinned(scenario), axis.name: str(value)},
        engine=scenario.engine,
        slo=scenario.slo,
        script=scenario.script,
    )
    return replace(changed, faults=scenario.faults)


def _directions(scenario: Scenario) -> dict[str, Harder]:
    """Every integer that can be searched, with its direction."""
    values = {**Values.model_fields, **registry.workload(scenario.workload).parameters.model_fields}
    options = registry.engine(scenario.engine).options.model_fields
    fields: dict[str, tuple[FieldInfo, Harder]] = {
        **{name: (field, "more") for name, field in values.items()},
        **{name: (field, "less") for name, field in options.items()},
    }
    numbers = {name for name, text in pinned(scenario).items() if type(parse_literal(text)) is int}
    declared = {name: _declared(field, default) for name, (field, default) in fields.items() if name in numbers}
    return {name: harder for name, harder in declared.items() if harder is not None}


def _declared(field: FieldInfo, default: Harder) -> Harder | None:
    extra = field.json_schema_extra
    return cast("Harder | None", extra.get("harder", default)) if isinstance(extra, dict) else default
