"""The table of configuration: every option and value that was set, by workload, beside the paper's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streamgauge.errors import UsageError
from streamgauge.report.study_parts import Context, Panel, Row, Table
from streamgauge.report.study_source import ExperimentResult
from streamgauge.report.text import NONE, plain
from streamgauge.studies import scenario
from streamgauge.studies.search_axis import SearchAxis

CHOSEN = ("stage", "engine", "seed", "broker_port")
"""What an experiment chooses for itself, or what says nothing about the system."""
NO_VALUES = (
    "study",
    "name",
    "profile",
    "title",
    "dataset",
    "pipeline",
    "workload",
    "choice",
    "chosen",
    "load",
    "parameters",
    "scaled",
    "slo",
    "job",
    "faults",
)
"""What a manifest says about a scenario besides its values."""
SEARCHED = "searched"

Values = Callable[[ExperimentResult], Mapping[str, Any]]


def configuration(context: Context) -> list[Panel]:
    """For each engine that ran: its options, then the values of the scenarios."""
    experiments = context.reproduction.experiments
    panels = []
    for engine in context.reproduction.engines:
        ran = [taken for taken in experiments if taken.engine == engine and taken.manifest]
        if ran:
            panels.append(Panel(title=_title(ran[0]), tables=_tables(ran)))
    return panels


def _tables(ran: Sequence[ExperimentResult]) -> list[Table]:
    return [
        _table("Options of the engine", ran, _options, _paper_options),
        _table("Load and topics", ran, _values, _paper_values),
    ]


def _title(taken: ExperimentResult) -> str:
    engine = taken.manifest.get("engine") or {}
    return f"{engine.get('title') or taken.engine} {engine.get('version') or ''}".strip()


def _table(title: str, ran: Sequence[ExperimentResult], of_run: Values, of_paper: Values) -> Table:
    here = [(taken.workload, of_run(taken)) for taken in ran]
    there = [(taken.workload, of_paper(taken)) for taken in ran]
    rows = []
    for key in dict.fromkeys(key for _, values in (*here, *there) for key in values):
        ours, theirs = _said(key, here), _said(key, there)
        if (ours, theirs) != (NONE, NONE):
            rows.append(Row([key, ours, theirs]))
    note = "One value: the same in every workload. – : not set, the default holds."
    return Table(title, ["name", "here", "in the paper's profile"], rows, note=note)


def _values(taken: ExperimentResult) -> Mapping[str, Any]:
    described = taken.manifest.get("scenario") or {}
    load = dict(described.get("load") or {})
    if taken.purpose == "capacity":
        load[SearchAxis.of_file(taken.capacity).name] = SEARCHED
    named = {key: value for key, value in described.items() if key not in NO_VALUES}
    return _set({**load, **named, **(described.get("parameters") or {})})


def _paper_values(taken: ExperimentResult) -> Mapping[str, Any]:
    try:
        values = scenario.profile_values(taken.scenario, "paper")
    except UsageError:  # a study of another version
        return {}
    searched = {SearchAxis.of_file(taken.capacity).name: SEARCHED} if taken.purpose == "capacity" else {}
    return _set(values | searched)


def _set(values: Mapping[str, Any]) -> dict[str, Any]:
    """Without what the shape of the load does not use."""
    return {k: v for k, v in values.items() if k not in CHOSEN and not (k in scenario.SHAPE_VALUES and not v)}


def _options(taken: ExperimentResult) -> Mapping[str, Any]:
    """With the system's own settings (``conf``) one by one, as a scenario file has them."""
    options = dict((taken.manifest.get("engine") or {}).get("options") or {})
    own = options.pop("conf", None) or {}
    return {**options, **own}


def _paper_options(taken: ExperimentResult) -> Mapping[str, Any]:
    try:
        file = scenario.describe(taken.scenario)
    except UsageError:  # a study of another version
        return {}
    return {**file.common.engines.get(taken.engine, {}), **file.paper.engines.get(taken.engine, {})}


def _said(key: str, runs: Sequence[tuple[str, Mapping[str, Any]]]) -> str | list[str]:
    """One value where all agree; else a line per workload, with all the values that it had."""
    per_workload: dict[str, dict[str, None]] = {}
    for workload, values in runs:
        per_workload.setdefault(workload, {})[_spelled(values.get(key))] = None
    spelled = {workload: ", ".join(found) for workload, found in per_workload.items()}
    if len(set(spelled.values())) == 1:
        return next(iter(spelled.values()))
    return [f"{workload}: {value}" for workload, value in spelled.items()]


def _spelled(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,.10g}"
    return plain(value)
