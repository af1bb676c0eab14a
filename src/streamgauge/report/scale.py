"""The page of a scale: the capacity against an option of the engine, the line through the points, every search."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from streamgauge.model import capacity
from streamgauge.model.scale import ENGINE, NAME, Scale, ScalePoint, read, typed_value
from streamgauge.regression import Line, fit
from streamgauge.report.capacity import bracket, measured_where
from streamgauge.report.draw import NOT_DATA, Figure, figure, line, linear
from streamgauge.report.layout import Head, build, write_whole
from streamgauge.report.text import NONE, number, rounded
from streamgauge.search_axis import SearchAxis

_STYLES = {"FOUND": "valid", "FAILED": "failed", "MISSED": "failed"}
BAND_STEPS = 40
"""The interval of a line is curved: it is drawn in this many steps."""


def write_scale(out: Path) -> Path:
    """Write ``report.html`` beside ``scale.json``, whole or not at all, and return its path."""
    scale = read(out / NAME)
    return write_whole(out / "report.html", render(scale, _measured_where(out, scale)))


def render(scale: Scale, measured: str = "") -> str:
    """The whole page; ``measured`` says when and on which machine. The same searches give the same bytes."""
    word, sentence = headline(scale)
    head = Head(
        kind="scale",
        title=f"{word} · {scale.over} against {scale.against} · {scale.engine} · {scale.scenario}",
        heading=scale.engine,
        word=word,
        meaning=f"{sentence}.",
        style=_STYLES.get(word, "invalid"),
        footer=f"scale.json format {scale.format}",
    )
    drawn = capacity_against_option(scale)
    return build(
        "scale.html.j2",
        head,
        {} if drawn is None else {"capacity": drawn},
        scale=scale,
        rows=[(point, bracket(point, scale), efficiency_words(point), limit_words(point)) for point in scale.points],
        line=line_words(scale),
        memory=memory_words(scale),
        measured_on=measured,
    )


def memory_words(scale: Scale) -> list[str]:
    """The heap of an instance, and the limit of all its memory, where they are given and the same at all values."""
    options = scale.settings.get("options", {})
    # Where an engine has workers, its own heap is that of the driver.
    heap = "worker_memory_mb" if scale.against == "worker_memory_mb" or options.get("worker_memory_mb") else "heap_mb"
    shown = (("heap", options.get(heap)), ("memory limit", options.get("instance_memory_mb")))
    return [f"{name} {number(mb)} MB" for name, mb in shown if mb]


def _measured_where(out: Path, scale: Scale) -> str:
    for point in scale.points:
        path = out / point.directory / capacity.NAME
        if path.is_file() and (words := measured_where(path.parent, capacity.read(path))):
            return words
    return ""


def headline(scale: Scale) -> tuple[str, str]:
    """One word and one sentence."""
    points = scale.points
    for word, what, bad in (
        ("INVALID", "the measurements cannot be trusted", [p for p in points if p.outcome == "invalid"]),
        ("FAILED", "the system under test failed", [p for p in points if p.failed]),
        ("MISSED", "nothing is sustained", [p for p in points if p.outcome == "missed"]),
    ):
        if bad:
            return word, f"{what} at {scale.against} {', '.join(typed_value(p.value) for p in bad)}"
    if scale.state == "unfinished":
        done = sum(point.outcome is not None for point in points)
        return "UNFINISHED", f"{done} of {len(scale.values)} searches have come to their end"
    return "FOUND", line_words(scale)


def line_words(scale: Scale) -> str:
    """What each further unit of the option adds."""
    found = scale.regression
    if found is None:
        return "no line: the engine was the limit at fewer than two values"
    adds = f"each further unit of {scale.against} {adds_words(found.slope)} {scale.unit}"
    ends = found.slope_interval
    if ends is None:
        return f"{adds} (two points: no interval)"
    return f"{adds} (95 % interval {rounded(ends[0])} to {rounded(ends[1])}, {found.points} points)"


def adds_words(slope: float) -> str:
    return f"{'adds' if slope >= 0 else 'changes it by'} {rounded(slope)}"


def efficiency_words(point: ScalePoint) -> str:
    if point.efficiency is None:
        return NONE
    return f"{'' if point.is_edge else '≥ '}{100 * point.efficiency:.0f} %"


def limit_words(point: ScalePoint) -> str:
    """What was the limit, for the table."""
    if point.limited_by is None:
        return NONE
    return point.limited_by if point.limited_by == ENGINE else f"{point.limited_by}, not the engine"


def capacity_against_option(scale: Scale) -> Figure | None:
    """Every point, those that are only a bound apart, the line through the others and its interval."""
    edges = [(p.value, p.best) for p in scale.points if p.is_edge and p.best is not None]
    bounds = [(p.value, p.best) for p in scale.points if not p.is_edge and p.best is not None]
    if not edges and not bounds:
        return None
    traces: list[Figure] = []
    if fitted := fit(edges):
        traces += trend(fitted, [p.value for p in scale.points if p.best is not None], scale.unit)
    more = SearchAxis.of_file(scale).more_is_harder
    if edges:
        traces.append(markers("capacity", edges, "--s1", "circle", scale.unit))
    if bounds:
        name = f"at {'least' if more else 'most'}: the engine was not the limit"
        traces.append(markers(name, bounds, "--s2", "triangle-up-open", scale.unit))
    values = sorted(x for x, _ in (*edges, *bounds))
    x_axis = linear(scale.against, tickvals=values, ticktext=[typed_value(value) for value in values])
    return figure(traces, x_axis, linear(scale.unit), hovermode="closest")


def trend(
    fitted: Line, values: Sequence[float], unit: str, color: str = "--s3", name: str = "line through the capacities"
) -> list[Figure]:
    """A line from the smallest to the largest of these values, and its interval if it has one."""
    low, high = min(values), max(values)
    drawn = [line(name, [low, high], [fitted.at(low), fitted.at(high)], color, unit)]
    steps = [low + (high - low) * step / BAND_STEPS for step in range(BAND_STEPS + 1)]
    ends = [(x, interval) for x in steps if (interval := fitted.interval_at(x)) is not None]
    if ends:
        xs = [x for x, _ in ends]
        edge = [upper for _, (_, upper) in ends] + [lower for _, (lower, _) in reversed(ends)]
        band = line("its 95 % interval", [*xs, *reversed(xs)], edge, "--clear", unit, width=0)
        drawn.insert(0, {**band, "fill": "toself", "fillcolor": "--band", "hoverinfo": "skip", "meta": NOT_DATA})
    return drawn


def markers(name: str, points: Sequence[tuple[float, float]], color: str, symbol: str, unit: str) -> Figure:
    drawn = line(name, [x for x, _ in points], [y for _, y in points], color, unit)
    return {**drawn, "mode": "markers", "marker": {"color": color, "size": 10, "symbol": symbol}}
