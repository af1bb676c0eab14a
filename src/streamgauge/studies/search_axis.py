"""Which whole numbers of a scenario, its workload and its engine a capacity search can vary, and setting them.

Whether more of it is harder for the system under test (a rate) or less is (cores) is declared once, where the value is
defined: ``json_schema_extra={"harder": "less"}`` of its field, and ``None`` for a value that cannot be searched.
Without a declaration, more of a value of the scenario or the workload is harder, and less of an engine's option.
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
    """The axis of that name. Raises UsageError when the scenario has no such whole number to search."""
    directions = _directions(scenario)
    if name not in directions:
        raise registry.unknown("--over", name, list(directions))
    return SearchAxis(name, directions[name])


def value_on(axis: SearchAxis, scenario: Scenario) -> int:
    """The scenario's own value; at least 1. Raises UsageError as ``axis_of`` does."""
    axis_of(axis.name, scenario)
    return max(int(parse_literal(pinned(scenario)[axis.name])), 1)


def with_value(axis: SearchAxis, scenario: Scenario, value: int) -> Scenario:
    """The scenario with this value, as ``--set`` gives it. Raises UsageError for a value that is refused."""
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
    """Every whole number that can be searched, with its direction."""
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
