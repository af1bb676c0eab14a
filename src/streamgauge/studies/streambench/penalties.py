"""What the failure of a node costs: the paper's throughput and latency penalty factors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamgauge.report.bars import Bar, BarSeries, bars
from streamgauge.report.draw import limit
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, unusable, verdict_words
from streamgauge.report.published import mark_traces, marks_table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.text import NONE, number, throughput_words
from streamgauge.studies.streambench.exhibits import PER_S
from streamgauge.studies.streambench.experiments import (
    FAILURE,
    FEWER,
    HALF,
    PROGRAMS,
    fault_name,
    recipients_name,
)
from streamgauge.studies.streambench.numbers import LATENCY, LPF, TPF
from streamgauge.studies.streambench.recipients import who_received

MEAN = "mean"
"""The category of the mean over the programs."""
_ALL = "N nodes"


@dataclass(frozen=True)
class Factor:
    """A penalty factor of one program on one engine, with the three runs behind it."""

    program: str
    engine: str
    metric: str
    runs: dict[str, ExperimentResult | None]
    """With all nodes, with one fewer, and with one that fails."""

    @property
    def inputs(self) -> list[float | None]:
        """Of each run, if it may be used."""
        return [None if run is None or not run.usable else run.value(self.metric) for run in self.runs.values()]

    @property
    def value(self) -> float | None:
        """The value with the failure, in parts of the mean of the two without one."""
        all_nodes, fewer, failure = self.inputs
        if all_nodes is None or fewer is None or failure is None or all_nodes + fewer == 0:
            return None
        return failure / ((all_nodes + fewer) / 2)

    @property
    def lacking(self) -> str:
        """Which runs it has no usable value of, and why."""
        pairs = zip(self.runs.items(), self.inputs, strict=True)
        return "; ".join(f"{case}: {_state(run)}" for (case, run), value in pairs if value is None)

    @property
    def unsettled(self) -> str:
        """The runs without a failure whose latency still moved."""
        moving = [
            case
            for case, run in self.runs.items()
            if case != FAILURE and run is not None and run.usable and verdict_words(run) != run.verdict
        ]
        return f"not settled: {', '.join(moving)}" if moving and self.metric == LATENCY else ""

    @property
    def bounds(self) -> str:
        """The runs whose throughput is known only within bounds; the lower one counts."""
        if self.metric != PER_S:
            return ""
        within = [
            f"{case}: {throughput_words(run.summary)}"
            for case, run in self.runs.items()
            if run is not None and run.summary is not None and "records_per_s_at_most" in run.summary.processing
        ]
        return f"known only within bounds, {', '.join(within)}" if within else ""

    @property
    def failed_node(self) -> str:
        failure = self.runs[FAILURE]
        faults = () if failure is None or failure.summary is None else failure.summary.faults
        return "; ".join(f"{fault.role} at {number(fault.acted_s, 1)} s" for fault in faults) or NONE


def _state(run: ExperimentResult | None) -> str:
    if run is None:
        return "not part of this reproduction"
    return "no value" if run.usable else run.verdict


def penalties(context: Context) -> list[Panel]:
    """TPF and LPF of each program, with the numbers that they are computed from."""
    of_throughput = _factors(context, PER_S, latency=False)
    of_latency = _factors(context, LATENCY, latency=True)
    plots = [
        *_plot(context, of_throughput, TPF, "TPF", "Throughput penalty factor"),
        *_plot(context, of_latency, LPF, "LPF", "Latency penalty factor"),
    ]
    tables = [
        *_table(of_throughput, "TPF", "Throughput with and without a failure", "records/s"),
        *_table(of_latency, "LPF", "Mean latency with and without a failure", "ms"),
    ]
    runs = [run for one in (*of_throughput, *of_latency) for case in (FEWER, FAILURE) if (run := one.runs[case])]
    shown = [run for run in runs if run.has_result]
    return [
        *unusable(shown),
        Panel(plots=plots, tables=[*tables, *marks_table(context.exhibit.marks)]),
        *who_received(shown),
    ]


def _factors(context: Context, metric: str, *, latency: bool) -> list[Factor]:
    """Of each program and engine with a result of its own for this suite."""
    found = {(result.name, result.engine): result for result in context.results}
    factors = []
    for program in PROGRAMS:
        for engine in context.reproduction.engines:
            runs = {
                _ALL: found.get((recipients_name(program, HALF, latency=latency), engine)),
                **{case: found.get((fault_name(program, case, latency=latency), engine)) for case in (FEWER, FAILURE)},
            }
            if any(run is not None and run.has_result for run in (runs[FEWER], runs[FAILURE])):
                factors.append(Factor(program, engine, metric, runs))
    return factors


def _plot(context: Context, factors: Sequence[Factor], metric: str, short: str, title: str) -> list[Plot]:
    series, words = {}, []
    for engine in context.reproduction.engines:
        values = {one.program: one.value for one in factors if one.engine == engine and one.value is not None}
        if values:
            mean = sum(values.values()) / len(values)
            shown = [*values.items(), (MEAN, mean)]
            series[engine] = BarSeries(engine, [Bar(name, value, number(value, 2)) for name, value in shown])
            words.append(f"{engine}: {', '.join(f'{name} {number(value, 2)}' for name, value in values.items())}; ")
            words[-1] += f"mean over {len(values)} {'program' if len(values) == 1 else 'programs'} {number(mean, 2)}."
    if not series:
        return []
    drawn = bars(context, series, (), short, "")
    points = [(mark, mark.dimensions.get("program", MEAN), mark.value) for mark in context.marks(metric)]
    drawn["data"] += mark_traces(context, points)
    categories = [*PROGRAMS, MEAN]
    drawn["layout"]["xaxis"] |= {"categoryorder": "array", "categoryarray": categories}
    drawn["data"].append(limit("no penalty", 1, categories))
    name = f"{context.id}-{short.lower()}"
    return [Plot(name, title, drawn, " ".join(words))]


def _table(factors: Sequence[Factor], short: str, title: str, unit: str) -> list[Table]:
    if not factors:
        return []
    letter = short[0]
    head = ["program", "engine", f"{letter} with N nodes, {unit}", f"{letter} with N − 1 nodes, {unit}"]
    head += [f"{letter} with a failure, {unit}", short, "failed node", "remarks"]
    rows = [
        Row(
            [
                one.program,
                one.engine,
                *(number(value, 0 if unit == "records/s" else 1) for value in one.inputs),
                number(one.value, 2),
                one.failed_node,
                "; ".join(remark for remark in (one.lacking, one.unsettled, one.bounds) if remark) or NONE,
            ],
            muted=one.value is None,
        )
        for one in factors
    ]
    note = f"{short} = {letter} with a failure ÷ ((N nodes + N − 1 nodes) ÷ 2), from VALID runs; 1 means no penalty."
    return [Table(title, head, rows, frozenset({2, 3, 4, 5}), note)]
