"""The figures of bursts over time, engines side by side: a backlog to catch up with (single), and periodic ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from streamgauge.model import NS_PER_S
from streamgauge.report.draw import Figure, figure, line, linear, logarithmic
from streamgauge.report.draw import mark as moment
from streamgauge.report.figures import WIDE
from streamgauge.report.source import Column, Source
from streamgauge.report.study_parts import (
    CAUGHT_UP,
    FLOOR_MS,
    Context,
    Panel,
    Plot,
    Point,
    Row,
    Table,
    engine_cpu,
    engine_heap_mb,
    marks_table,
    paper_marks,
    within,
)
from streamgauge.report.study_source import ExperimentResult
from streamgauge.report.text import NONE, number, rounded

SINGLE_SHOWN_S = 180.0
"""The paper shows three minutes of a single burst and the last minute of periodic ones."""
PERIODIC_SHOWN_S = 60.0
LABEL_HEIGHT = 0.07
"""Of the figure's."""

Series = Mapping[str, tuple[Callable[[Source], list[Point]], str]]
"""What is drawn of each run, by the end of its name: how to read it, and the dash of its line."""


def single_burst(context: Context) -> list[Panel]:
    """Output per second, CPU and heap since each engine was started."""
    shown = [taken for taken in context.taken if taken.source is not None]
    timed = [taken for taken in shown if _knows_its_start(taken.source)]
    times = [mark for mark in context.exhibit.marks if mark.what == CAUGHT_UP]
    shown_s = max([SINGLE_SHOWN_S, *(1.05 * mark.value for mark in times)])
    since = "seconds since the engine was started"
    figures: Mapping[str, tuple[str, str, Series]] = {
        "output": ("Results per second", "results/s", {"": (_output_since_start, "solid")}),
        "cpu": ("CPU of the engine", "cores", {"": (lambda source: engine_cpu(source, _start_ns(source)), "solid")}),
        "heap": ("Heap in use", "MB", {"": (lambda source: engine_heap_mb(source, _start_ns(source)), "solid")}),
    }
    shapes, notes = _moments(context, timed)
    plots = []
    for name, (title, unit, series) in figures.items():
        traces, said = _traces(context, timed, series, unit, lambda taken: (0.0, shown_s))
        if not traces:
            continue
        wide = name == "output"
        if wide:
            traces += paper_marks(context, [(mark, mark.value, 0.0) for mark in times])
            said = f"{_single_words(timed)} Open symbols: when the paper's systems had caught up. {said}"
        drawn = _over(traces, since, linear(unit), shapes, notes if wide else [])
        plots.append(Plot(f"{context.id}-{name}", title, drawn, said, 21.0 if wide else 17.0, wide))
    together = [Panel(plots=plots, tables=[_single_table(shown)])] if shown else []
    return [*together, *_unusable(shown), Panel(tables=marks_table(context.exhibit.marks))]


def _single_words(shown: Sequence[ExperimentResult]) -> str:
    return " ".join(
        f"{taken.engine}: first output {_seconds(_burst(taken).get('first_output_s'))}, caught up "
        f"{_seconds(_burst(taken).get('caught_up_s'))} after it was started, with "
        f"{number(_burst(taken).get('records'))} records waiting."
        for taken in shown
    )


def _moments(context: Context, shown: Sequence[ExperimentResult]) -> tuple[list[Figure], list[Figure]]:
    """Upright lines in each engine's colour: its first output, named at the foot, and when it had caught up.

    The names lie one above another: engines that are about as fast would write over each other.
    """
    shapes: list[Figure] = []
    notes: list[Figure] = []
    for place, taken in enumerate(shown):
        up = 0.02 + LABEL_HEIGHT * place
        for key, words, y in (("first_output_s", "first output", up), ("caught_up_s", "caught up", 1 - up)):
            x = _burst(taken).get(key)
            if x is not None:
                shape, note = moment(f"{taken.engine} {words} {_seconds(x)}", x, context.color(taken), label_after=True)
                shapes.append(shape)
                notes.append({**note, "textangle": 0, "yanchor": "bottom" if y == up else "top", "y": y})
    return shapes, notes


def _single_table(shown: Sequence[ExperimentResult]) -> Table:
    rows = [
        Row(
            [
                taken.engine,
                number(_burst(taken).get("records")),
                _seconds(_burst(taken).get("first_output_s")),
                _seconds(_burst(taken).get("caught_up_s")),
                taken.verdict,
            ],
            not taken.usable,
        )
        for taken in shown
    ]
    head = ["engine", "records waiting", "first output", "caught up", "verdict"]
    return Table("Single burst", head, rows, frozenset({1, 2, 3}))


def periodic_burst(context: Context) -> list[Panel]:
    """Rates, latency, CPU and heap over the last minute of the measured interval; then each engine's bursts."""
    shown = [taken for taken in context.taken if taken.source is not None]
    timed = [taken for taken in shown if _measured(taken) is not None]
    kind = context.study.latency
    figures: Mapping[str, tuple[str, str, Series]] = {
        "rates": (
            "Records per second",
            "records/s",
            {"input": (lambda s: _seconds_of(s, "appended"), "dot"), "output": (_output, "solid")},
        ),
        "latency": (
            f"{kind.capitalize()} latency of each second",
            "ms",
            {
                "p50": (lambda s: _seconds_of(s, f"{kind}_p50"), "solid"),
                "p99": (lambda s: _seconds_of(s, f"{kind}_p99"), "dash"),
            },
        ),
        "cpu": ("CPU of the engine", "cores", {"": (lambda s: engine_cpu(s, s.load_start_ns), "solid")}),
        "heap": ("Heap in use", "MB", {"": (lambda s: engine_heap_mb(s, s.load_start_ns), "solid")}),
    }
    plots = []
    for name, (title, unit, series) in figures.items():
        traces, said = _traces(context, timed, series, unit, _last_minute)
        if not traces:
            continue
        y_axis = _latency_axis(traces) if name == "latency" else linear(unit)
        drawn = _over(traces, "seconds since the load started", y_axis, _burst_lines(timed), [])
        plots.append(Plot(f"{context.id}-{name}", title, drawn, said, 19.0, wide=False))
    together = [Panel(plots=plots, tables=[_periodic_table(shown)])] if shown else []
    own = [Panel(taken.title, taken.verdict, taken.why, tables=[_burst_table(taken)]) for taken in shown]
    return [*together, *own, Panel(tables=marks_table(context.exhibit.marks))]


def _traces(
    context: Context,
    shown: Sequence[ExperimentResult],
    series: Series,
    unit: str,
    window: Callable[[ExperimentResult], tuple[float, float]],
) -> tuple[list[Figure], str]:
    """A line for each run and series that has a value in its window, and all of them in words."""
    traces, words = [], []
    for taken in shown:
        assert taken.source is not None
        for end, (read, dash) in series.items():
            points = within(read(taken.source), *window(taken))
            if any(value is not None for _, value in points):
                name = f"{context.name(taken)} {end}".strip()
                x, y = [x for x, _ in points], [y for _, y in points]
                traces.append(line(name, x, y, context.color(taken), unit, dash=dash))
                words.append(_highest(name, points))
    return traces, " ".join(words)


def _latency_axis(traces: Sequence[Figure]) -> Figure:
    """Logarithmic where the engines lie so far apart that a linear axis would flatten the lower of them."""
    values = [max(value, FLOOR_MS) for trace in traces for value in trace["y"] if value is not None]
    if max(values) / min(values) <= WIDE:
        return linear("ms")
    for trace in traces:
        trace["y"] = [None if value is None else max(value, FLOOR_MS) for value in trace["y"]]
    return logarithmic(f"ms (less than {FLOOR_MS:g} drawn at {FLOOR_MS:g})", values)


def _measured(taken: ExperimentResult) -> tuple[float, float] | None:
    """From and to, in seconds since the load started."""
    phases = taken.source.phases if taken.source is not None else ()
    return next(((phase.from_s, phase.to_s) for phase in phases if phase.name == "measured"), None)


def _last_minute(taken: ExperimentResult) -> tuple[float, float]:
    measured = _measured(taken)
    assert measured is not None
    from_s, to_s = measured
    return max(from_s, to_s - PERIODIC_SHOWN_S), to_s


def _burst_lines(shown: Sequence[ExperimentResult]) -> list[Figure]:
    """Where the bursts began: at the same seconds on every engine, which all got the same plan."""
    for taken in shown:
        from_s, to_s = _last_minute(taken)
        inside = [one for one in _bursts(taken) if from_s <= one["start_s"] <= to_s]
        if inside:
            return [moment("", one["start_s"], "--muted")[0] for one in inside]
    return []


def _periodic_table(shown: Sequence[ExperimentResult]) -> Table:
    rows = [
        Row(
            [
                taken.engine,
                number(len(_bursts(taken))),
                number(_burst(taken).get("wide")),
                number(_burst(taken).get("p99_peak_ms"), 1),
                number(_burst(taken).get("elevated_s"), 1),
                number((taken.summary.get("results") or {}).get("inputs_per_result"), 2),
                taken.verdict,
            ],
            not taken.usable,
        )
        for taken in shown
    ]
    head = ["engine", "bursts", "wide", "p99 peak, ms", "elevated for, s", "inputs behind a result", "verdict"]
    note = (
        "Peak and elevated time: of the total latency, the median over the bursts. A wide burst took longer to send "
        "than it should have."
    )
    return Table("Bursts, engine by engine", head, rows, frozenset(range(1, 6)), note)


def _burst_table(taken: ExperimentResult) -> Table:
    head = ["burst at, s", "width, ms", "wide", "p50 before, ms", "p50 peak, ms", "p99 peak, ms", "elevated for, s"]
    fields = ("p50_before_ms", "p50_peak_ms", "p99_peak_ms", "elevated_s")
    rows = [
        Row(
            [
                number(one.get("start_s"), 1),
                number(one.get("width_ms"), 1),
                "yes" if one.get("wide") else "no",
                *(number(one.get(name), 1) for name in fields),
            ],
            not taken.usable,
        )
        for one in _bursts(taken)
    ]
    return Table("Bursts", head, rows, frozenset({0, 1, 3, 4, 5, 6}), "Latencies are total ones.")


def _unusable(shown: Iterable[ExperimentResult]) -> list[Panel]:
    """A banner for each run whose numbers must not be used."""
    return [Panel(taken.title, taken.verdict, taken.why) for taken in shown if not taken.usable]


def _burst(taken: ExperimentResult) -> Mapping[str, Any]:
    found = taken.summary.get("burst")
    return found if isinstance(found, Mapping) else {}


def _bursts(taken: ExperimentResult) -> list[Mapping[str, Any]]:
    return [one for one in _burst(taken).get("bursts") or () if isinstance(one, Mapping)]


def _knows_its_start(source: Source | None) -> bool:
    return source is not None and source.load_started and source.outcome.engine_start_ns is not None


def _start_ns(source: Source) -> int:
    """When the engine was started."""
    assert source.outcome.engine_start_ns is not None
    return source.outcome.engine_start_ns


def _output(source: Source) -> list[Point]:
    return _seconds_of(source, "output")


def _output_since_start(source: Source) -> list[Point]:
    shift_s = (_start_ns(source) - source.load_start_ns) / NS_PER_S
    return [(second - shift_s, value) for second, value in _output(source)]


def _seconds_of(source: Source, name: str) -> list[Point]:
    """A value of each second, at its middle."""
    column: Column = source.seconds.get(name, ())
    return [(second + 0.5, value) for second, value in zip(source.seconds.get("second", ()), column, strict=False)]


def _over(
    traces: Sequence[Figure], since: str, y_axis: Figure, shapes: Sequence[Figure], notes: Sequence[Figure]
) -> Figure:
    x = [float(value) for trace in traces for value in trace["x"]]
    x_axis = {"title": {"text": since}, "range": [min(x), max(x)], "tickformat": ",~g", "hoverformat": ",.1f"}
    return figure(traces, x_axis, y_axis, shapes=list(shapes), annotations=list(notes))


def _highest(title: str, points: Sequence[Point]) -> str:
    values = [value for _, value in points if value is not None]
    mean = sum(values) / len(values)
    return f"{title}: mean {rounded(mean)}, highest {rounded(max(values))}."


def _seconds(value: float | None) -> str:
    return NONE if value is None else f"{number(value, 1)} s"
