"""The tables of sustainable throughput: by the size of the cluster, with large windows, with a single key."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge.report.bars import Bar, BarSeries, bars
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table
from streamgauge.report.published import marks_table
from streamgauge.report.reproduction import CAPACITY, ExperimentResult, Reproduction, figure_of
from streamgauge.report.sweep import Search, search_panel
from streamgauge.report.text import NONE, number, rounded
from streamgauge.studies.sustainable.experiments import PROGRAMS, SIZES, capacity_name

PER_S = "records/s"


def nodes(result: ExperimentResult) -> int | None:
    """Workers of Spark, TaskManagers of Flink; None where no run of it can be read."""
    if result.manifest is None:
        return None
    return sum(process.node for process in result.manifest.processes) or 1


def edge_per_s(result: ExperimentResult) -> float | None:
    """What the engine sustains; None where the search found only a bound of it."""
    return result.value(CAPACITY) if result.capacity is not None and result.capacity.is_edge else None


def load_is_bound(reproduction: Reproduction, result: ExperimentResult) -> bool:
    """Whether the rate of a run is a share of a search in which the engine was not the limit."""
    program, cluster = (result.dimensions.get(name, "") for name in ("program", "cluster"))
    name = capacity_name(program or PROGRAMS[0], cluster or SIZES[0])
    searches = [one for one in reproduction.experiments if (one.name, one.engine) == (name, result.engine)]
    return any(edge_per_s(one) is None for one in searches)


def load_words(reproduction: Reproduction, result: ExperimentResult) -> str:
    """The share of what is sustained; of a bound where no more is known."""
    load = result.dimensions["load"]
    return f"{load} of a bound" if load_is_bound(reproduction, result) else load


def rate_words(result: ExperimentResult) -> str:
    """What was sustained; "at least" where the load, the transport or the range of the search was the limit."""
    best = result.value(CAPACITY)
    return number(best) if best is None or edge_per_s(result) is not None else f"≥ {number(best)}"


def by_cluster(context: Context) -> list[Panel]:
    """The rate that each engine sustains on each cluster, and every search."""
    return _searches(context, "cluster", "Sustainable throughput")


def by_evaluation(context: Context) -> list[Panel]:
    """The same with large windows, against small ones on the same cluster."""
    shown = [result for result in context.results if result.has_result]
    small = {
        result.engine: result
        for result in context.reproduction.experiments
        if result.name == "aggregation-1x" and result.usable
    }
    rows = []
    for result in shown:
        before = small.get(result.engine)
        rates = edge_per_s(result), None if before is None else edge_per_s(before)
        means = _best_mean_ms(result), None if before is None else _best_mean_ms(before)
        cells = [result.dimensions["evaluation"], result.engine, rate_words(result), _ratio(*rates)]
        cells += [number(means[0]), _ratio(*means), number(_best_p50_ms(result)), result.verdict]
        rows.append(Row(cells, muted=not result.usable))
    small_ones = "against (8 s, 4 s)"
    head = ["evaluation", "engine", PER_S, small_ones, "avg there, ms", small_ones, "p50 there, ms", "verdict"]
    note = (
        "Windows of 60 s that begin every 60 s. Incremental: each record changes the sum of its window. Recomputed: "
        "all records of a window are kept, and summed up when it has ended. avg, p50: end-to-end latency at the rate "
        "that was sustained."
    )
    tables = [Table("Large windows against small ones", head, rows, frozenset(range(2, 7)), note)] if rows else []
    against = [Panel(tables=tables)] if tables else []
    return [*against, *_searches(context, "evaluation", "Sustainable throughput with large windows")]


def _ratio(value: float | None, against: float | None) -> str:
    return f"{rounded(value / against)} ×" if value is not None and against else NONE


def _best_p50_ms(result: ExperimentResult) -> float | None:
    latency = None if result.capacity is None else result.capacity.best_latency_ms
    return None if latency is None else latency.p50


def _best_mean_ms(result: ExperimentResult) -> float | None:
    """Of the same run: the last one at the best rate, which confirms it. None where it cannot be read any more."""
    found = result.capacity
    probes = [] if found is None else [one for one in found.probes if one.value == found.interval[0]]
    sustained = [one for one in probes if one.verdict == "sustained"]
    source = result.probe_source(sustained[-1]) if sustained else None
    return None if source is None else figure_of(source.summary, "latency_ms.total.mean")


def _searches(context: Context, dimension: str, title: str) -> list[Panel]:
    shown = [result for result in context.results if result.has_result and result.capacity is not None]
    series = {}
    for engine in context.reproduction.engines:
        of_engine = [
            Bar(result.dimensions[dimension], rate, rate_words(result), result.usable)
            for result in shown
            if result.engine == engine and (rate := result.value(CAPACITY)) is not None
        ]
        if of_engine:
            series[engine] = BarSeries(engine, of_engine)
    marks = [(mark.dimensions[dimension], mark) for mark in context.marks(CAPACITY) if dimension in mark.dimensions]
    plots = []
    if series:
        words = "; ".join(
            f"{engine}: " + ", ".join(f"{bar.category} {_words(bar)}" for bar in of.bars)
            for engine, of in series.items()
        )
        drawn = bars(context, series, marks, PER_S, PER_S)
        plots.append(Plot(f"{context.id}-throughput", title, drawn, f"{words}. The paper's machines are others."))
    tables = [_table(shown, dimension, title)] if shown else []
    together = Panel(plots=plots, tables=[*tables, *marks_table(context.exhibit.marks)])
    own = [search_panel(Search.of(one, one.capacity)) for one in shown if one.capacity is not None]
    return [together, *own]


def _words(bar: Bar) -> str:
    return bar.text if bar.usable else f"{bar.text} (do not use)"


def _table(shown: Sequence[ExperimentResult], dimension: str, title: str) -> Table:
    head = [dimension, "nodes", "engine", f"sustained, {PER_S}", f"not sustained, {PER_S}", f"{PER_S} per node"]
    head += ["confirmed", "verdict"]
    rows = []
    for result in shown:
        assert result.capacity is not None
        best, beyond = result.capacity.interval
        count = nodes(result)
        rows.append(
            Row(
                [
                    result.dimensions[dimension],
                    number(count),
                    result.engine,
                    rate_words(result),
                    number(beyond),
                    NONE if best is None or not count else number(best / count),
                    "yes" if result.capacity.confirmed else "no",
                    result.verdict,
                ],
                muted=not result.usable,
            )
        )
    note = "≥: the engine was not the limit of the search."
    if dimension == "cluster":
        note = f"Cluster {SIZES[0]}: 2 nodes in the paper, 1 in the laptop profile. {note}"
    return Table(title, head, rows, frozenset({1, 3, 4, 5}), note)
