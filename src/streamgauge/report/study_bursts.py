"""The figures of bursts over time: a backlog to catch up with (single), and one every few seconds (periodic)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streamgauge.model import NS_PER_S
from streamgauge.report.draw import Figure, figure, line, linear
from streamgauge.report.draw import mark as moment
from streamgauge.report.source import Column, Source
from streamgauge.report.study_parts import (
    CAUGHT_UP,
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
    paper_symbols,
    within,
)
from streamgauge.report.study_source import Taken
from streamgauge.report.text import NONE, number, rounded

SINGLE_SHOWN_S = 180.0
"""The paper shows three minutes of a single burst and the last minute of periodic ones."""
PERIODIC_SHOWN_S = 60.0


def single_burst(context: Context) -> list[Panel]:
    """For each engine: output per second, CPU and heap since the engine was started."""
    panels = [_single(context, taken, n) for n, taken in enumerate(context.taken) if taken.source is not None]
    return [*panels, Panel(tables=marks_table(context.exhibit.marks))]


def _single(context: Context, taken: Taken, place: int) -> Panel:
    source = taken.source
    assert source is not None
    burst = _burst(taken)
    first_s, caught_up_s = burst.get("first_output_s"), burst.get("caught_up_s")
    start_ns, load_ns = source.outcome.get("engine_start_ns"), source.outcome.get("load_start_ns")
    times = [mark for mark in context.exhibit.marks if mark.what == CAUGHT_UP]
    words = (
        f"First output {_seconds(first_s)}, caught up {_seconds(caught_up_s)} after the engine was started, "
        f"with {number(burst.get('records'))} records waiting."
    )
    plots = []
    if start_ns is not None and load_ns is not None:
        shift_s = (start_ns - load_ns) / NS_PER_S
        shown_s = max([SINGLE_SHOWN_S, *(1.05 * mark.value for mark in times)])
        output = [(second + 0.5 - shift_s, value) for second, value in _series(source, "output")]
        shapes, notes = _moments(first_s, caught_up_s)
        lines = {
            "output": ("Results per second", "results/s", output),
            "cpu": ("CPU of the engine", "cores", engine_cpu(source, start_ns)),
            "heap": ("Heap in use", "MB", engine_heap_mb(source, start_ns)),
        }
        for name, (title, unit, series) in lines.items():
            points = within(series, 0.0, shown_s)
            if not any(value is not None for _, value in points):
                continue
            traces = [line(title, [x for x, _ in points], [y for _, y in points], "--s1", unit)]
            if name == "output":
                traces += paper_marks([(mark, mark.value, 0.0) for mark in times], paper_symbols(times))
            said, wide = _caption(words, name, title, points), name == "output"
            drawn = _over(traces, "seconds since the engine was started", unit, shapes, notes)
            plots.append(Plot(f"{context.id}-{place}-{name}", title, drawn, said, 19.0 if wide else 17.0, wide))
    table = Table(
        "Single burst",
        ["records waiting", "first output", "caught up", "verdict"],
        [
            Row(
                [number(burst.get("records")), _seconds(first_s), _seconds(caught_up_s), taken.verdict],
                not taken.usable,
            )
        ],
    )
    return Panel(taken.title, taken.verdict, taken.why, plots, [table])


def _caption(words: str, name: str, title: str, points: Sequence[Point]) -> str:
    if name == "output":
        return f"{words} Shaded: after it had caught up. Open symbols: when the paper's systems had caught up."
    return _highest(title, points)


def _moments(first_s: float | None, caught_up_s: float | None) -> tuple[list[Figure], list[Figure]]:
    """Upright lines for both moments, and the zone behind the second."""
    shapes: list[Figure] = []
    notes: list[Figure] = []
    for x, said in ((first_s, "first output"), (caught_up_s, "caught up")):
        if x is not None:
            shape, note = moment(f"{said} {_seconds(x)}", x, "--s2")
            shapes.append(shape)
            notes.append(note)
    if caught_up_s is not None:
        zone = {"type": "rect", "layer": "below", "yref": "paper", "x0": caught_up_s, "xref": "x", "x1": 1e6}
        shapes.append({**zone, "y0": 0, "y1": 1, "fillcolor": "--shade", "line": {"width": 0}})
    return shapes, notes


def periodic_burst(context: Context) -> list[Panel]:
    """For each engine: rates, latency, CPU and heap over the last minute of the measured interval."""
    panels = [_periodic(context, taken, n) for n, taken in enumerate(context.taken) if taken.source is not None]
    return [*panels, Panel(tables=marks_table(context.exhibit.marks))]


def _periodic(context: Context, taken: Taken, place: int) -> Panel:
    source = taken.source
    assert source is not None
    burst = _burst(taken)
    bursts = [one for one in burst.get("bursts") or () if isinstance(one, Mapping)]
    measured = next((phase for phase in source.phases if phase.name == "measured"), None)
    plots = []
    if measured is not None:
        to_s = measured.to_s
        from_s = max(measured.from_s, to_s - PERIODIC_SHOWN_S)
        kind = context.study.latency if f"{context.study.latency}_p50" in source.seconds else "latest"
        start_ns = source.outcome["load_start_ns"]
        panels: dict[str, tuple[str, str, dict[str, list[Point]]]] = {
            "rates": (
                "Records per second",
                "records/s",
                {"input": _seconds_of(source, "appended"), "output": _seconds_of(source, "output")},
            ),
            "latency": (
                f"{kind.capitalize()} latency of each second",
                "ms",
                {name: _seconds_of(source, f"{kind}_{name}") for name in ("p50", "p99")},
            ),
            "cpu": ("CPU of the engine", "cores", {"CPU": engine_cpu(source, start_ns)}),
            "heap": ("Heap in use", "MB", {"heap": engine_heap_mb(source, start_ns)}),
        }
        marked = [moment("", one["start_s"], "--muted")[0] for one in bursts if from_s <= one["start_s"] <= to_s]
        for name, (title, unit, series) in panels.items():
            inside = {key: within(points, from_s, to_s) for key, points in series.items()}
            inside = {key: points for key, points in inside.items() if any(y is not None for _, y in points)}
            if not inside:
                continue
            traces = [
                line(key, [x for x, _ in points], [y for _, y in points], color, unit)
                for (key, points), color in zip(inside.items(), ("--s1", "--s2"), strict=False)
            ]
            drawn = _over(traces, "seconds since the load started", unit, marked, [])
            said = " ".join(_highest(key, points) for key, points in inside.items())
            plots.append(Plot(f"{context.id}-{place}-{name}", title, drawn, said, 17.0, wide=False))
    return Panel(taken.title, taken.verdict, taken.why, plots, [_burst_table(taken, burst, bursts)])


def _burst_table(taken: Taken, burst: Mapping[str, Any], bursts: Sequence[Mapping[str, Any]]) -> Table:
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
        for one in bursts
    ]
    per_result = (taken.summary.get("results") or {}).get("inputs_per_result")
    note = (
        f"{len(bursts)} bursts, {number(burst.get('wide'))} of them wide. Median: p99 at the peak "
        f"{number(burst.get('p99_peak_ms'), 1)} ms, elevated for {number(burst.get('elevated_s'), 1)} s. "
        f"Inputs behind a result: {number(per_result, 2)}."
    )
    return Table("Bursts", head, rows, frozenset({0, 1, 3, 4, 5, 6}), note)


def _burst(taken: Taken) -> Mapping[str, Any]:
    found = taken.summary.get("burst")
    return found if isinstance(found, Mapping) else {}


def _series(source: Source, name: str) -> list[Point]:
    column: Column = source.seconds.get(name, ())
    return list(zip(source.seconds.get("second", ()), column, strict=False))


def _seconds_of(source: Source, name: str) -> list[Point]:
    return [(second + 0.5, value) for second, value in _series(source, name)]


def _over(traces: Sequence[Figure], since: str, unit: str, shapes: Sequence[Figure], notes: Sequence[Figure]) -> Figure:
    x = [float(value) for trace in traces for value in trace["x"]]
    # Zones reach beyond the data, and must not stretch the axis.
    x_axis = {"title": {"text": since}, "range": [min(x), max(x)], "tickformat": ",~g", "hoverformat": ",.1f"}
    return figure(traces, x_axis, linear(unit), shapes=list(shapes), annotations=list(notes))


def _highest(title: str, points: Sequence[Point]) -> str:
    values = [value for _, value in points if value is not None]
    mean = sum(values) / len(values)
    return f"{title}: mean {rounded(mean)}, highest {rounded(max(values))}."


def _seconds(value: float | None) -> str:
    return NONE if value is None else f"{number(value, 1)} s"
