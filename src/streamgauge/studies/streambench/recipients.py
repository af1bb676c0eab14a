"""Throughput and latency by reception ability, and which nodes received."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge.model.summary import NodeFigures
from streamgauge.report.bars import BarSeries, bars
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, unusable
from streamgauge.report.published import marks_table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.text import NONE, number, rounded
from streamgauge.studies.streambench.exhibits import (
    PER_S,
    bar,
    has_bar,
    is_saturated,
    latency_table,
    nodes,
    saturation,
    speed_cells,
    throughput_cells,
)
from streamgauge.studies.streambench.numbers import ALL_TO_HALF, HALF_TO_ONE, LATENCY, THROUGHPUT

_OPACITIES = (0.3, 0.6, 0.95)
_STEPS = {HALF_TO_ONE: ("one node", "0.5"), ALL_TO_HALF: ("0.5", "1.0")}
"""Neighbouring reception abilities, by the name of their ratio."""


def throughput(context: Context) -> list[Panel]:
    """MB/s of each program by reception ability, a figure for each engine as in the paper, and who received."""
    measured = [result for result in context.results if result.has_result]
    tables = [_throughput_table(measured), _growth_table(context, measured, PER_S)] if measured else []
    return [
        *unusable([result for result in measured if not is_saturated(result)]),
        Panel(
            finding=saturation(measured),
            plots=_by_ability(context, measured, THROUGHPUT, "MB/s", "Throughput"),
            tables=[*tables, *marks_table(context.exhibit.marks)],
        ),
        *who_received(measured),
    ]


def latency(context: Context) -> list[Panel]:
    """The mean latency of each program by reception ability, at half of the throughput with that ability."""
    measured = [result for result in context.results if result.has_result and result.value(LATENCY) is not None]
    half_of = "the throughput of the same program with the same ability"
    by_ability = ["program", "ability"]
    tables = (
        [latency_table(measured, by_ability, half_of), _growth_table(context, measured, LATENCY)] if measured else []
    )
    return [
        *unusable(measured),
        Panel(
            plots=_by_ability(context, measured, LATENCY, "ms", "Mean latency"),
            tables=[*tables, *marks_table(context.exhibit.marks)],
        ),
        *who_received(measured),
    ]


def _by_ability(
    context: Context, measured: Sequence[ExperimentResult], metric: str, unit: str, title: str
) -> list[Plot]:
    plots = []
    for engine in context.reproduction.engines:
        of_engine = [
            one
            for one in measured
            if one.engine == engine and (has_bar(one) if metric == THROUGHPUT else one.value(metric) is not None)
        ]
        series = {}
        for ability, opacity in zip(context.order("ability"), _OPACITIES, strict=True):
            shown = [bar(one, metric, unit) for one in of_engine if one.dimensions["ability"] == ability]
            if shown:
                series[f"{engine}, {ability}"] = BarSeries(engine, shown, opacity)
        if series:
            words = [
                f"{name}: {', '.join(f'{one.category} {one.text}' for one in of.bars)}" for name, of in series.items()
            ]
            drawn = bars(context, series, (), unit, unit)
            plots.append(Plot(f"{context.id}-{engine}", f"{title} of {engine}", drawn, f"{'; '.join(words)}."))
    return plots


def _throughput_table(results: Sequence[ExperimentResult]) -> Table:
    head = ["program", "ability", "engine", "records/s", "MB/s", "nodes", "records/s per node", "MB/s per node"]
    head += ["written, records/s", "served, records/s"]
    rows = [
        Row(
            [
                result.dimensions["program"],
                result.dimensions["ability"],
                result.engine,
                *throughput_cells(result),
                *speed_cells(result),
                result.verdict,
            ],
            muted=not result.usable,
        )
        for result in results
    ]
    note = "Ability: the share of the nodes that receive. All input was in the broker before the engine started."
    return Table("Throughput of each run", [*head, "verdict"], rows, frozenset(range(3, 10)), note)


def _growth_table(context: Context, measured: Sequence[ExperimentResult], metric: str) -> Table:
    """The mean ratio over the programs that have VALID runs with both abilities."""
    values = {
        (one.engine, one.dimensions["program"], one.dimensions["ability"]): value
        for one in measured
        if one.usable and (value := one.value(metric))
    }
    rows = []
    for engine in context.reproduction.engines:
        cells = [engine]
        for lower, upper in _STEPS.values():
            pairs = [
                values[engine, program, upper] / values[engine, program, lower]
                for program in context.order("program")
                if {(engine, program, lower), (engine, program, upper)} <= values.keys()
            ]
            cells += [f"{rounded(sum(pairs) / len(pairs))} ×" if pairs else NONE, str(len(pairs))]
        rows.append(Row(cells))
    head = ["engine"]
    for lower, upper in _STEPS.values():
        head += [f"{upper} against {lower}", "programs"]
    note = "Mean ratio over the programs with VALID runs of both."
    return Table("Growth with the reception ability", head, rows, frozenset({1, 2, 3, 4}), note)


def who_received(results: Sequence[ExperimentResult]) -> list[Panel]:
    """For each run, how many nodes read of how many, and what each received; a sentence about those that differ."""
    if not results:
        return []
    rows, differing = [], []
    for result in results:
        found = [] if result.summary is None else [node for node in result.summary.nodes if node.reads is not None]
        reading, asked = sum(bool(node.reads) for node in found), _recipients(result)
        differs = bool(found) and asked is not None and reading != asked
        if differs:
            differing.append(f"{result.title}: {reading} instead of {asked}")
        rows.append(
            Row(
                [
                    result.dimensions["program"],
                    " ".join(value for name, value in result.dimensions.items() if name != "program"),
                    result.engine,
                    number(asked),
                    (f"{reading} of {number(nodes(result))}" + (" ≠" if differs else "")) if found else NONE,
                    ", ".join(f"{node.role} {_received(node)}" for node in found if node.reads) or NONE,
                    ", ".join(_received(node) for node in found if not node.reads) or NONE,
                    result.verdict,
                ],
                muted=not result.usable,
            )
        )
    head = ["program", "run", "engine", "asked for", "nodes that read", "MB read by these", "MB read by others"]
    note = "≠ marks a run in which another number of nodes read than was asked for; – stands for what was not recorded."
    finding = f"Not as many nodes read as were asked for: {'; '.join(differing)}." if differing else ""
    return [Panel(finding=finding, tables=[Table("Which nodes read", [*head, "verdict"], rows, frozenset({3}), note)])]


def _received(node: NodeFigures) -> str:
    """What it has read from the transport, or received from everywhere where only that is known."""
    return rounded(node.received_mb if node.from_transport_mb is None else node.from_transport_mb)


def _recipients(result: ExperimentResult) -> int | None:
    """As many as the topic has partitions."""
    return None if result.manifest is None else result.manifest.scenario.partitions
