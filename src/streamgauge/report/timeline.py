"""Several runs over time in one figure: a line for each run and series, in the colour of its engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from streamgauge.model import NS_PER_S
from streamgauge.report.distributions import FLOOR_MS
from streamgauge.report.draw import WIDE, Figure, figure, line, linear, logarithmic
from streamgauge.report.exhibit import Context
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.source import Column, Source
from streamgauge.report.text import rounded

Point = tuple[float, float | None]
"""A second and the value there."""
Series = Mapping[str, tuple[Callable[[Source], list[Point]], str]]
"""What is drawn of each run, by the end of its name: how to read it, and the dash of its line."""


def lines(
    context: Context,
    results: Sequence[ExperimentResult],
    series: Series,
    unit: str,
    window: Callable[[ExperimentResult], tuple[float, float]],
) -> tuple[list[Figure], str]:
    """A line for each run and series that has a value in its window, and all of them in words."""
    traces, words = [], []
    for result in results:
        assert result.source is not None
        for end, (read, dash) in series.items():
            points = within(read(result.source), *window(result))
            if any(value is not None for _, value in points):
                name = f"{context.name(result)} {end}".strip()
                x, y = [x for x, _ in points], [y for _, y in points]
                traces.append(line(name, x, y, context.color(result), unit, dash=dash))
                words.append(_mean_and_highest(name, points))
    return traces, " ".join(words)


def _mean_and_highest(title: str, points: Sequence[Point]) -> str:
    values = [value for _, value in points if value is not None]
    mean = sum(values) / len(values)
    return f"{title}: mean {rounded(mean)}, highest {rounded(max(values))}."


def over_seconds(traces: Sequence[Figure], since: str, y_axis: Figure, shapes: Sequence[Figure] = ()) -> Figure:
    """The figure of these lines; ``since`` says what its seconds count from."""
    x = [float(value) for trace in traces for value in trace["x"] if value is not None]
    x_axis = {"title": {"text": since}, "range": [min(x), max(x)], "tickformat": ",.10~g", "hoverformat": ",.1f"}
    return figure(traces, x_axis, y_axis, shapes=list(shapes))


def latency_axis(traces: Sequence[Figure]) -> Figure:
    """Logarithmic where the engines lie so far apart that a linear axis would flatten the lower of them."""
    values = [max(value, FLOOR_MS) for trace in traces for value in trace["y"] if value is not None]
    if max(values) / min(values) <= WIDE:
        return linear("ms")
    for trace in traces:
        trace["y"] = [None if value is None else max(value, FLOOR_MS) for value in trace["y"]]
    return logarithmic(f"ms (less than {FLOOR_MS:g} drawn at {FLOOR_MS:g})", values)


def measured_interval(result: ExperimentResult) -> tuple[float, float] | None:
    """From and to, in seconds since the load started."""
    phases = result.source.phases if result.source is not None else ()
    return next(((phase.from_s, phase.to_s) for phase in phases if phase.name == "measured"), None)


def per_second(source: Source, name: str) -> list[Point]:
    """A value of each second, at its middle."""
    column: Column = source.seconds.get(name, ())
    return [(second + 0.5, value) for second, value in zip(source.seconds.get("second", ()), column, strict=False)]


def since_measured(source: Source, name: str) -> list[Point]:
    """The same, by seconds since the measured interval began."""
    start_s = next((phase.from_s for phase in source.phases if phase.name == "measured"), 0.0)
    return [(second - start_s, value) for second, value in per_second(source, name)]


def engine_cpu(source: Source, from_ns: int) -> list[Point]:
    """Cores that the engine's processes used together, by seconds since ``from_ns``."""
    points: list[Point] = []
    for (before_ns, before), (t_ns, now) in pairwise(_engine_sums(source, "cpu_s")):
        # A sum that shrinks has lost a process: what was used is not known there.
        used = (now - before) / ((t_ns - before_ns) / NS_PER_S) if now >= before else None
        points.append(((t_ns - from_ns) / NS_PER_S, used))
    return points


def engine_heap_mb(source: Source, from_ns: int) -> list[Point]:
    return [((t_ns - from_ns) / NS_PER_S, heap_mb) for t_ns, heap_mb in _engine_sums(source, "heap_used_mb")]


def _engine_sums(source: Source, name: str) -> list[tuple[int, float]]:
    """Samples of all roles of the engine are taken at the same moments."""
    sums: dict[int, float] = defaultdict(float)
    for sample in source.resources:
        if sample.group == "engine" and (value := getattr(sample, name)) is not None:
            sums[sample.t_ns] += value
    return sorted(sums.items())


def extent(points: Iterable[Point]) -> tuple[float, float, float] | None:
    """Lowest, mean and highest value; None where there is none."""
    values = [value for _, value in points if value is not None]
    return (min(values), sum(values) / len(values), max(values)) if values else None


def within(points: Iterable[Point], from_s: float, to_s: float) -> list[Point]:
    return [point for point in points if from_s <= point[0] <= to_s]
