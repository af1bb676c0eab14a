"""The table of configuration: every value that was set, by scenario, beside the published one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamgauge.report.exhibit import Row, Table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.text import NONE, plain

OfScenario = tuple[str, Mapping[str, Any]]
"""The values of a run, and the scenario that it belongs to."""


def configuration_table(title: str, here: Sequence[OfScenario], published: Sequence[OfScenario]) -> Table:
    """A row for each value that is set in one of the two."""
    rows = []
    for key in dict.fromkeys(key for _, values in (*here, *published) for key in values):
        ours, theirs = _cell(key, here), _cell(key, published)
        if (ours, theirs) != (NONE, NONE):
            rows.append(Row([key, ours, theirs]))
    note = "One value: the same in every scenario. – : not set, the default holds."
    return Table(title, ["name", "here", "in the paper's profile"], rows, note=note)


def engine_title(result: ExperimentResult) -> str:
    if result.manifest is None:
        return result.engine
    engine = result.manifest.engine
    return f"{engine.title or result.engine} {engine.version}".strip()


def engine_options(result: ExperimentResult) -> Mapping[str, Any]:
    """With the system's own settings (``conf``) one by one, as a scenario file has them."""
    options = {} if result.manifest is None else dict(result.manifest.engine.options)
    own = options.pop("conf", None) or {}
    return {**options, **own}


def _cell(key: str, runs: Sequence[OfScenario]) -> str | list[str]:
    """One value where all agree; else a line per scenario, with all the values that it had."""
    per_scenario: dict[str, dict[str, None]] = {}
    for scenario, values in runs:
        per_scenario.setdefault(scenario, {})[_spelled(values.get(key))] = None
    spelled = {scenario: ", ".join(values) for scenario, values in per_scenario.items()}
    if len(set(spelled.values())) == 1:
        return next(iter(spelled.values()))
    return [f"{scenario}: {value}" for scenario, value in spelled.items()]


def _spelled(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,.10g}"
    return plain(value)
