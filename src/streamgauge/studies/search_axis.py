"""What a capacity search varies: one whole number of a scenario, its workload's parameters or its engine's options.

Whether more of it is harder for the system under test (a rate) or less is (cores) is declared once, where the value is
defined: ``json_schema_extra={"harder": "less"}`` of its field, and ``None`` for a value that cannot be searched.
Without a declaration, more of a value of the scenario or the workload is harder, and less of an engine's option.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from pydantic.fields import FieldInfo

from streamgauge import registry
from streamgauge.model import Scenario
from streamgauge.model.capacity import Searched
from streamgauge.studies.pinned import pinned
from streamgauge.studies.scenario import Values, parse_literal, resolve

Harder = Literal["more", "less"]

RATE = "rate_per_s"
CORES = "cores"
RESOURCE_MAX = 1000
"""Of a value of which less is harder, unless the scenario itself has more of it."""


@dataclass(frozen=True)
class SearchAxis:
    """A value by its name, with the direction in which it becomes harder to sustain."""

    name: str
    harder: Harder

    @classmethod
    def of(cls, name: str, scenario: Scenario) -> SearchAxis:
        """The axis of that name. Raises UsageError when the scenario has no such whole number to search."""
        directions = _directions(scenario)
        if name not in directions:
            raise registry.unknown("whole number to search over", name, list(directions))
        return cls(name, directions[name])

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> SearchAxis:
        """What a search with these settings varies. In early files all but the rate was a resource."""
        name = settings.get("over", RATE)
        return cls(name, settings.get("harder") or ("more" if name == RATE else "less"))

    @classmethod
    def of_file(cls, capacity: Searched | None) -> SearchAxis:
        """What a ``capacity.json`` was searched over; the rate where there is none yet."""
        return RATE_AXIS if capacity is None else cls.of_settings(capacity.as_json())

    @property
    def more_is_harder(self) -> bool:
        return self.harder == "more"

    @property
    def is_rate(self) -> bool:
        """Whether the offered load itself is searched, so that the speed of a drain is a first guess."""
        return self.name == RATE

    @property
    def unit(self) -> str:
        return "records/s" if self.is_rate else self.name

    def value(self, scenario: Scenario) -> int:
        """The scenario's own value; at least 1."""
        return max(int(parse_literal(pinned(scenario)[self.name])), 1)

    def most(self) -> int | None:
        """The largest value that makes sense; None where the scenario alone limits it."""
        if self.more_is_harder:
            return None
        return os.cpu_count() or 1 if self.name == CORES else RESOURCE_MAX

    def set(self, scenario: Scenario, value: int) -> Scenario:
        """The scenario with this value, as ``--set`` gives it. Raises UsageError for a value that is refused."""
        changed = resolve(
            f"{scenario.study}/{scenario.name}",
            profile=scenario.profile,
            changes={**pinned(scenario), self.name: str(value)},
            engine=scenario.engine,
            slo=scenario.slo,
            job=scenario.job,
        )
        return replace(changed, faults=scenario.faults)


RATE_AXIS = SearchAxis(RATE, "more")


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
