"""The look of all figures: lines, axes, shading. A figure is plain data for plotly.js.

No text stands inside a figure: the legend names lines, limits and zones, and phases are named above it.

Colours are names of the page's CSS variables (``--s1`` …), which the page's script resolves, so that figures
follow the reader's light or dark setting.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.report.source import Phase, Source
from streamgauge.report.text import number

Figure = dict[str, Any]

NOT_DATA = "not data"
"""The ``meta`` of traces that explain a figure: its CSV leaves them out."""
ROW_PX, GAP_PX = 15, 5
"""The height of a row of notes above a figure, and how far they stay away from it and its marks."""

SERIES = ("--s1", "--s2", "--s3", "--s4", "--s5", "--s6")
DASHES = ("solid", "dash", "dot", "dashdot")
WIDE = 20.0
"""From this ratio of largest to smallest value on, an axis is logarithmic."""


@dataclass(frozen=True)
class Mark:
    """A moment of the run that has a name; ``end`` where it lasted."""

    text: str
    x: float
    color: str = "--ink"
    end: float | None = None


def label(text: object) -> str:
    """Text for plotly.js, which reads a few HTML tags in names: show them as they are."""
    return html.escape(str(text), quote=False)


def line(name: str, x: Sequence[Any], y: Sequence[Any], color: str, unit: str, **look: Any) -> Figure:
    """One line; ``look`` goes to plotly's ``line`` (width, dash, shape)."""
    return {
        "type": "scatter",
        "mode": "lines" if len(x) > 1 else "markers",
        "name": label(name),
        "x": list(x),
        "y": list(y),
        "line": {"color": color, "width": 1.8, **look},
        "marker": {"color": color},
        "hovertemplate": f"%{{y:,.5~g}} {unit}",
    }


def series_look(position: int) -> dict[str, str]:
    """Colour and dash of the n-th line of a figure: more lines than colours stay apart by their dashes."""
    return {
        "color": SERIES[position % len(SERIES)],
        "dash": DASHES[position // len(SERIES) % len(DASHES)],
    }


def figure(traces: Sequence[Figure], x_axis: Figure, y_axis: Figure, *, rows_above: int = 0, **layout: Any) -> Figure:
    """``rows_above``: how many rows of notes stand above the figure. The page shows the legend (legend.py)."""
    return {
        "data": list(traces),
        "layout": {
            "xaxis": {**_AXIS, **x_axis},
            "yaxis": {**_AXIS, "fixedrange": True, **y_axis},
            "showlegend": len([t for t in traces if t.get("showlegend", True)]) > 1,
            "margin": {"l": 64, "r": 12, "t": 8 + GAP_PX + ROW_PX * rows_above, "b": 44},
            "font": {
                "size": 12,
                "color": "--ink",
                "family": "system-ui, -apple-system, 'Segoe UI', sans-serif",
            },
            "paper_bgcolor": "--clear",
            "plot_bgcolor": "--clear",
            "hovermode": "x unified",
            "hoverlabel": {"bgcolor": "--surface", "bordercolor": "--rule", "font": {"color": "--ink"}},
            "uirevision": "keep",
            **layout,
        },
    }


def over_time(
    source: Source, traces: Sequence[Figure], y_axis: Figure, marks: Sequence[Mark] = (), **layout: Any
) -> Figure:
    """A figure over the seconds of the run: all but its main part shaded, faults and ``marks`` numbered above it.

    The main part sets both axes (see ``main_axis``); what lies beyond its top is marked at the edge.
    """
    from_s, to_s = shown_seconds(source)
    shapes, phase_notes = _shading(source.phases, from_s, to_s)
    lines, numbers, keys = _numbered([*_faults(source), *marks], from_s, to_s)
    since = "the load started" if source.load_started else "the first sample"
    x_axis = {
        "title": {"text": f"seconds since {since}"},
        "hoverformat": ",.1f",
        "tickformat": ",.10~g",
        "range": [from_s, to_s],
    }
    notes = [*numbers, *({**note, "yshift": GAP_PX + ROW_PX * bool(numbers)} for note in phase_notes)]
    rows = bool(numbers) + bool(phase_notes)
    drawn = [*traces, *_clipped(traces, y_axis, from_s, to_s), *keys]
    return figure(drawn, x_axis, y_axis, shapes=[*shapes, *lines], annotations=notes, rows_above=rows, **layout)


def shown_seconds(source: Source) -> tuple[float, float]:
    """From and to: the main part, with at most half as much before it and after it."""
    main = source.main_phase
    if main is None:
        moments = [source.since_start_s(s.t_ns) for s in (*source.resources, *source.machine, *source.clock)]
        moments += [float(second) for second in source.seconds.get("second", ())]
        return min(moments, default=0.0), max(moments, default=1.0)
    around = (main.to_s - main.from_s) / 2
    first, last = source.phases[0], source.phases[-1]
    return max(first.from_s, main.from_s - around), min(last.to_s, main.to_s + around)


def main_axis(source: Source, title: str, traces: Sequence[Figure], *, may_be_log: bool = False) -> Figure:
    """An axis that holds what the lines are in the main part of the run; with ``may_be_log``, logarithmic if wide."""
    main = source.main_phase
    known = [(x, y) for trace in traces for x, y in zip(trace["x"], trace["y"], strict=True) if y is not None]
    inside = [y for x, y in known if main is None or main.from_s <= x <= main.to_s]
    values = inside or [y for _, y in known]
    low, high = min(values), max(values)
    if may_be_log and low > 0 and high / low > WIDE:
        return logarithmic(title, values)
    return linear(title, range=[1.05 * min(0.0, low), 1.05 * high if high > 0 else 1.0])


def _clipped(traces: Sequence[Figure], y_axis: Figure, from_s: float, to_s: float) -> list[Figure]:
    """A triangle at the top edge over each stretch that goes beyond it, which the legend explains."""
    if "range" not in y_axis:
        return []
    log = y_axis.get("type") == "log"
    top = 10 ** y_axis["range"][1] if log else y_axis["range"][1]
    highest: dict[float, float] = {}
    for trace in traces:
        for x, y in _points(trace):
            if x is not None and y is not None and y > top and from_s <= x <= to_s:
                highest[x] = max(y, highest.get(x, y))
    if not highest:
        return []
    peaks = _peaks(sorted(highest.items()), (to_s - from_s) / 20)
    words = f"beyond the axis: up to {number(max(highest.values()))}"
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": words,
            "x": [x for x, _ in peaks],
            "y": [top] * len(peaks),
            "cliponaxis": False,
            "marker": {"symbol": "triangle-up", "size": 9, "color": "--alarm"},
            "customdata": [y for _, y in peaks],
            "hovertemplate": "%{customdata:,.5~g}<extra>beyond the axis</extra>",
            "meta": NOT_DATA,
        }
    ]


def _points(trace: Figure) -> Iterator[tuple[Any, Any]]:
    """Of a heatmap, the highest of each column."""
    if trace["type"] != "heatmap":
        yield from zip(trace["x"], trace["y"], strict=True)
        return
    for column, x in enumerate(trace["x"][:-1]):
        filled = [place for place, row in enumerate(trace["z"]) if row[column] is not None]
        yield x, trace["y"][filled[-1] + 1] if filled else None


def _peaks(points: Sequence[tuple[float, float]], apart: float) -> list[tuple[float, float]]:
    """Of points that lie closer together than ``apart``, the highest."""
    peaks: list[tuple[float, float]] = []
    last = -math.inf
    for x, y in points:
        if x - last > apart:
            peaks.append((x, y))
        elif y > peaks[-1][1]:
            peaks[-1] = (x, y)
        last = x
    return peaks


def linear(title: str, **axis: Any) -> Figure:
    return {"title": {"text": title}, "rangemode": "tozero", "tickformat": ",.10~g", **axis}


def logarithmic(title: str, values: Iterable[Any]) -> Figure:
    """A logarithmic axis with ticks at 1, 2 and 5, that holds all positive values."""
    positive = [v for v in values if v is not None and v > 0]
    low, high = math.log10(min(positive)), math.log10(max(positive))
    pad = 0.06 * max(high - low, 0.3)
    low, high = low - pad, high + pad
    steps: tuple[int, ...] = (1, 2, 5) if high - low < 2.5 else (1,)
    powers = range(math.floor(low), math.ceil(high) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps if low <= math.log10(step) + power <= high]
    return {
        "title": {"text": title},
        "type": "log",
        "range": [low, high],
        "tickvals": ticks,
        "ticktext": [f"{tick:,.10g}" for tick in ticks],
    }


def limit(name: str, y: float, x: Sequence[Any]) -> Figure:
    """A horizontal limit from the first to the last ``x``, named by the legend."""
    drawn = line(name, [x[0], x[-1]], [y, y], "--alarm", "", dash="dash", width=1.2)
    return {**drawn, "hoverinfo": "skip", "hovertemplate": None, "meta": NOT_DATA}


def key(name: str, color: str, symbol: str = "line-ns-open", **trace: Any) -> Figure:
    """An entry of the legend for a shape, which cannot have one of its own."""
    marker = {"color": color, "size": 12, "symbol": symbol, "line": {"color": color, "width": 1.5}}
    about = {"type": "scatter", "mode": "markers", "name": label(name), "hoverinfo": "skip", "meta": NOT_DATA}
    return {**about, "x": [None], "y": [None], "marker": marker, "showlegend": True, **trace}


def upright(x: float, color: str = "--ink") -> Figure:
    """A vertical line at a moment; ``key`` names it."""
    look = {"color": color, "width": 1, "dash": "dot"}
    return {"type": "line", "yref": "paper", "y0": 0, "y1": 1, "x0": x, "x1": x, "line": look}


def _numbered(marks: Sequence[Mark], from_s: float, to_s: float) -> tuple[list[Figure], list[Figure], list[Figure]]:
    """Lines, their numbers above the figure, and what each number stands for: equal words share one."""
    shapes: list[Figure] = []
    numbers: dict[str, int] = {}
    colors: dict[str, str] = {}
    placed: list[tuple[float, list[int]]] = []
    for mark in sorted(marks, key=lambda mark: mark.x):
        shapes.append(upright(mark.x, mark.color))
        if mark.end is not None:
            band = {"x0": mark.x, "x1": mark.end, "y0": 0, "y1": 1, "fillcolor": "--band", "line": {"width": 0}}
            shapes.append({"type": "rect", "layer": "below", "yref": "paper", **band})
        mine = numbers.setdefault(mark.text, len(numbers) + 1)
        colors[mark.text] = mark.color
        if not from_s <= mark.x <= to_s:
            continue
        # Numbers of moments that lie close together would lie over each other.
        if placed and mark.x - placed[-1][0] < 0.05 * (to_s - from_s):
            if mine not in placed[-1][1]:
                placed[-1][1].append(mine)
        else:
            placed.append((mark.x, [mine]))
    notes = [
        _above(x, ", ".join(str(one) for one in sorted(of_place)), "--ink", xanchor="center") for x, of_place in placed
    ]
    return shapes, notes, [key(f"{mine} {text}", colors[text]) for text, mine in numbers.items()]


def _above(x: float, text: str, color: str, **look: Any) -> Figure:
    """A note above the figure, where it can lie over no curve and no axis."""
    place = {"x": x, "yref": "paper", "y": 1, "yanchor": "bottom", "yshift": GAP_PX, "showarrow": False}
    return {**place, "text": text, "borderpad": 0, "font": {"size": 10, "color": color}, **look}


def _shading(phases: Sequence[Phase], from_s: float, to_s: float) -> tuple[list[Figure], list[Figure]]:
    """All but the main part shaded, and above the figure the name of each part that is wide enough for it."""
    shapes: list[Figure] = []
    notes: list[Figure] = []
    for phase in phases:
        left, right = max(phase.from_s, from_s), min(phase.to_s, to_s)
        if not phase.main:
            band = {"x0": phase.from_s, "x1": phase.to_s, "y0": 0, "y1": 1, "line": {"width": 0}}
            color = "--shade-tail" if phase.name == "tail" else "--shade"
            shapes.append({"type": "rect", "layer": "below", "yref": "paper", **band, "fillcolor": color})
        if (right - left) / (to_s - from_s) > 0.02 * len(phase.name):
            notes.append(_above((left + right) / 2, phase.name, "--muted", xanchor="center"))
    return shapes, notes


def _faults(source: Source) -> list[Mark]:
    """A line at the moment of each fault, and a band as long as it lasted."""
    marks = []
    times = Counter((fault.verb, fault.role) for fault in source.outcome.faults)
    for fault in source.outcome.faults:
        number = f" (fault {fault.number})" if fault.number and times[fault.verb, fault.role] > 1 else ""
        text = f"{fault.verb} {fault.role}{number}" + ("" if fault.took_effect else ": no effect")
        at_ns, end_ns = fault.acted_ns or fault.planned_ns, fault.ended_ns
        if at_ns is not None:
            end = None if end_ns is None else source.since_start_s(end_ns)
            marks.append(Mark(text, source.since_start_s(at_ns), "--alarm", end))
    return marks


_AXIS: Figure = {
    # They keep the labels of two axes apart where these meet.
    "ticks": "outside",
    "ticklen": 5,
    "tickcolor": "--clear",
    "gridcolor": "--grid",
    "zerolinecolor": "--rule",
    "linecolor": "--rule",
    "automargin": True,
    "title": {"standoff": 10},
}
