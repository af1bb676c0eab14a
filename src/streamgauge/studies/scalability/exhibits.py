"""What each number of instances sustains, and the line through it."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge.model.capacity import Capacity
from streamgauge.regression import fit
from streamgauge.report.draw import figure, line, linear
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table
from streamgauge.report.published import PAPER, mark_traces, marks_table
from streamgauge.report.reproduction import CAPACITY, ExperimentResult
from streamgauge.report.scale import adds_words, markers, trend
from streamgauge.report.sweep import Search, search_panel
from streamgauge.report.text import NONE, number, rounded
from streamgauge.search_axis import SearchAxis

Points = list[tuple[float, float]]


def by_instances(context: Context) -> list[Panel]:
    """The figure with a line for each engine and for the paper's points, a table, and every search."""
    shown = [result for result in context.results if result.has_result and result.capacity is not None]
    if not shown:
        return [Panel(tables=marks_table(context.exhibit.marks))]
    together = Panel(plots=[_plot(context, shown)], tables=[_table(shown), *marks_table(context.exhibit.marks)])
    return [together, *(search_panel(Search.of(one, one.capacity)) for one in shown if one.capacity is not None)]


def instances(result: ExperimentResult) -> int:
    return int(result.dimensions["instances"])


def _unit(shown: Sequence[ExperimentResult]) -> str:
    return next(result.capacity.unit for result in shown if result.capacity is not None)


def _points(shown: Sequence[ExperimentResult], *, edges: bool) -> Points:
    """Where the engine itself was the limit, or where only a bound of the capacity is known."""
    return [
        (instances(result), best)
        for result in shown
        if result.usable and _is_edge(result) is edges and (best := result.value(CAPACITY)) is not None
    ]


def _is_edge(result: ExperimentResult) -> bool:
    return result.capacity is not None and result.capacity.is_edge


def _bound(shown: Sequence[ExperimentResult]) -> str:
    """What a capacity is called at which the engine was not the limit."""
    return "at least" if SearchAxis.of_file(shown[0].capacity).more_is_harder else "at most"


def _plot(context: Context, shown: Sequence[ExperimentResult]) -> Plot:
    traces, words, unit = [], [], _unit(shown)
    for engine in context.reproduction.engines:
        of_engine = [result for result in shown if result.engine == engine]
        found, bounds = _points(of_engine, edges=True), _points(of_engine, edges=False)
        color = context.engine_color(engine)
        if (fitted := fit(found)) is not None:
            traces += trend(fitted, [x for x, _ in found], unit, color, f"{engine}: line")
            words.append(f"{engine}: each further instance {_adds(fitted.slope, fitted.slope_interval, unit)}")
        elif found or bounds:
            words.append(f"{engine}: too few points for a line")
        if found:
            traces.append(markers(engine, found, color, "circle", unit))
        if bounds:
            traces.append(markers(f"{engine}: {_bound(shown)}", bounds, color, "triangle-up-open", unit))
    theirs = {int(mark.dimensions["instances"]): mark for mark in context.marks(CAPACITY)}
    if (fitted := fit([(x, mark.value) for x, mark in theirs.items()])) is not None:
        ends = [min(theirs), max(theirs)]
        traces.append(line(f"{PAPER}line", ends, [fitted.at(x) for x in ends], "--muted", unit, dash="dash"))
    traces += mark_traces(context, [(mark, x, mark.value) for x, mark in theirs.items()])
    places = {*map(instances, shown), *theirs}
    x_axis = linear("instances", tickvals=sorted(places))
    drawn = figure(traces, x_axis, linear(unit), hovermode="closest")
    note = "Triangles: the engine was not the limit there, and the line leaves them out."
    return Plot(f"{context.id}-instances", "Sustained by so many instances", drawn, f"{'; '.join(words)}. {note}")


def _adds(slope: float, interval: tuple[float, float] | None, unit: str) -> str:
    between = "" if interval is None else f" (95 % interval {rounded(interval[0])} to {rounded(interval[1])})"
    return f"{adds_words(slope)} {unit}{between}"


def _table(shown: Sequence[ExperimentResult]) -> Table:
    unit = _unit(shown)
    head = ["engine", "instances", f"sustained, {unit}", f"not sustained, {unit}", "confirmed", "verdict", "note"]
    rows = []
    for result in sorted(shown, key=lambda one: (one.engine, instances(one))):
        assert result.capacity is not None
        best, beyond = result.capacity.interval
        cells = [result.engine, str(instances(result)), number(best), number(beyond)]
        note = "; ".join(filter(None, (result.capacity.note, _other_rule(result.capacity)))) or NONE
        cells += ["yes" if result.capacity.confirmed else "no", result.verdict, note]
        rows.append(Row(cells, muted=not result.usable))
    return Table("Capacity by the number of instances", head, rows, frozenset({1, 2, 3}))


def _other_rule(capacity: Capacity) -> str:
    """The rule that decided in the place of the search's own, and how often; empty where none did."""
    rules = [probe.rule for probe in capacity.probes if probe.rule]
    return f"rule {rules[0]} ({len(rules)} of {len(capacity.probes)} probes)" if rules else ""
