"""The configuration exhibit of any study: the settings of every engine, next to those of the paper profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamgauge.errors import UsageError
from streamgauge.report.configuration import configuration_table, engine_options, engine_title
from streamgauge.report.exhibit import Context, Panel, Table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.search_axis import SearchAxis
from streamgauge.studies import scenario

PAPER = "paper"
NO_VALUES = (
    *("study", "name", "profile", "title", "dataset", "pipeline", "workload", "choice", "chosen"),
    *("load", "parameters", "scaled", "slo", "script", "faults"),
)
"""Entries of a scenario in a manifest that are not values."""
CHOSEN = ("engine", "seed", "broker_port")
"""Values that do not affect the system."""
SEARCHED = "searched"


def configuration(context: Context) -> list[Panel]:
    """For each engine that ran: its options, then the values of the scenarios."""
    panels = []
    for engine in context.reproduction.engines:
        ran = [result for result in context.reproduction.experiments if result.engine == engine and result.manifest]
        if ran:
            panels.append(Panel(title=engine_title(ran[0]), tables=_tables(ran)))
    return panels


def _tables(ran: Sequence[ExperimentResult]) -> list[Table]:
    by_title = {
        "Options of the engine": (_options, _published_options),
        "Load and streams": (_values, _published_values),
    }
    return [
        configuration_table(
            title,
            [(result.scenario_name, here(result)) for result in ran],
            [(result.scenario_name, published(result)) for result in ran],
        )
        for title, (here, published) in by_title.items()
    ]


def _values(result: ExperimentResult) -> Mapping[str, Any]:
    if result.manifest is None:
        return {}
    described = result.manifest.scenario
    named = {key: value for key, value in described.as_json().items() if key not in NO_VALUES}
    return _shown(result, {**described.load.as_json(), **named, **described.parameters})


def _published_values(result: ExperimentResult) -> Mapping[str, Any]:
    try:
        return _shown(result, scenario.profile_values(result.scenario, PAPER))
    except UsageError:  # from another version of the study
        return {}


def _shown(result: ExperimentResult, values: Mapping[str, Any]) -> dict[str, Any]:
    """Without the values that distinguish the experiments and those that the load shape does not use."""
    hidden = {*CHOSEN, *result.dimensions, *(key for key in scenario.SHAPE_VALUES if not values.get(key))}
    return {key: value for key, value in _with_searched(result, values).items() if key not in hidden}


def _with_searched(result: ExperimentResult, values: Mapping[str, Any]) -> dict[str, Any]:
    """A capacity search has no fixed value for what it varies."""
    varied = SearchAxis.of_file(result.capacity).name if result.purpose == "capacity" else None
    return {key: SEARCHED if key == varied else value for key, value in values.items()}


def _options(result: ExperimentResult) -> Mapping[str, Any]:
    return _with_searched(result, engine_options(result))


def _published_options(result: ExperimentResult) -> Mapping[str, Any]:
    try:
        file = scenario.describe(result.scenario)
    except UsageError:  # from another version of the study
        return {}
    options = {**file.common.engines.get(result.engine, {}), **file.paper.engines.get(result.engine, {})}
    return _with_searched(result, options)
