"""The look of all figures: lines, axes, shading. A figure is plain data for plotly.js.

Colours are names of the page's CSS variables (``--s1`` …), which the page's script resolves, so that figures
follow the reader's light or dark setting.
"""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Sequence
from typing import Any

from streamgauge.report.source import Phase, Source

Figure = dict[str, Any]

SERIES = ("--s1", "--s2", "--s3", "--s4", "--s5", "--s6")
DASHES = ("solid", "dash", "dot", "dashdot")
WIDE = 20.0
"""From this ratio of largest to smallest value on, an axis is logarithmic."""


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


def figure(traces: Sequence[Figure], x_axis: Figure, y_axis: Figure, **layout: Any) -> Figure:
    return {
        "data": list(traces),
        "layout": {
            "xaxis": {**_AXIS, **x_axis},
            "yaxis": {**_AXIS, "fixedrange": True, **y_axis},
            "showlegend": len([t for t in traces if t.get("showlegend", True)]) > 1,
            "legend": {"orientation": "h", "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom"},
            "margin": {"l": 64, "r": 12, "t": 26, "b": 44},
            "font": {
                "size": 12,
                "color": "--ink",
                "family": "system-ui, -apple-system, 'Segoe UI', sans-serif",
            },
            "paper_bgcolor": "--clear",
            "plot_bgcolor": "--clear",
            "hovermode": "x unified",
            "hoverlabel": {"bgcolor": "--surface", "bordercolor": "--rule", "font": {"color": "--ink"}},
            "modebar": {"bgcolor": "--clear", "color": "--muted", "activecolor": "--ink"},
            "uirevision": "keep",
            **layout,
        },
    }


def over_time(source: Source, traces: Sequence[Figure], y_axis: Figure, **layout: Any) -> Figure:
    """A figure over the seconds of the run, with all but the measured interval shaded and every fault marked."""
    shapes, notes = (one + other for one, other in zip(_shading(source.phases), _faults(source), strict=True))
    since = "the load started" if source.load_started else "the first sample (the load never started)"
    x_axis = {"title": {"text": f"seconds since {since}"}, "hoverformat": ",.1f", "tickformat": ",~g"}
    return figure(
        traces,
        x_axis,
        y_axis,
        shapes=shapes + layout.pop("shapes", []),
        annotations=notes + layout.pop("annotations", []),
        **layout,
    )


def linear(title: str, **axis: Any) -> Figure:
    return {"title": {"text": title}, "rangemode": "tozero", "tickformat": ",~g", **axis}


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


def limit(text: str, y: float, color: str = "--alarm") -> tuple[Figure, Figure]:
    """A horizontal limit and its label, for a linear axis; a logarithmic one wants the label at log10(y)."""
    shape = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": y,
        "y1": y,
        "line": {"color": color, "width": 1.2, "dash": "dash"},
    }
    note = {
        "xref": "paper",
        "x": 0.5,
        "xanchor": "center",
        "y": y,
        "yanchor": "bottom",
        "text": label(text),
        "showarrow": False,
        "font": {"size": 11, "color": color},
    }
    return shape, note


def mark(text: str, x: float, color: str = "--ink", *, label_after: bool = False) -> tuple[Figure, Figure]:
    """A moment: a vertical line and, before or after it, its label."""
    shape = {
        "type": "line",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "x0": x,
        "x1": x,
        "line": {"color": color, "width": 1, "dash": "dot"},
    }
    note = {
        "x": x,
        "xanchor": "left" if label_after else "right",
        "yref": "paper",
        "y": 0.98,
        "yanchor": "top",
        "text": label(text),
        "textangle": -90,
        "showarrow": False,
        "borderpad": 0,
        "font": {"size": 10, "color": color},
    }
    return shape, note


def _shading(phases: Sequence[Phase]) -> tuple[list[Figure], list[Figure]]:
    shapes: list[Figure] = []
    notes: list[Figure] = []
    for phase in phases:
        if phase.name == "measured":
            continue
        shapes.append(
            {
                "type": "rect",
                "layer": "below",
                "yref": "paper",
                "x0": phase.from_s,
                "x1": phase.to_s,
                "y0": 0,
                "y1": 1,
                "fillcolor": "--shade-tail" if phase.name == "tail" else "--shade",
                "line": {"width": 0},
            }
        )
        notes.append(
            {
                "x": phase.from_s,
                "xanchor": "left",
                "yref": "paper",
                # The tail is often too narrow for its label to stand beside the drain's.
                "y": 0.02 if phase.name == "tail" else 0.98,
                "yanchor": "bottom" if phase.name == "tail" else "top",
                "text": phase.name,
                "textangle": -90,
                "showarrow": False,
                "borderpad": 0,
                "font": {"size": 10, "color": "--muted"},
            }
        )
    return shapes, notes


def _faults(source: Source) -> tuple[list[Figure], list[Figure]]:
    """A line at the moment of each fault, and a band as long as it lasted."""
    shapes: list[Figure] = []
    notes: list[Figure] = []
    for position, fault in enumerate(source.outcome.faults):
        text = f"{fault.verb} {fault.role}" + ("" if fault.took_effect else ": no effect")
        at_ns, end_ns = fault.acted_ns or fault.planned_ns, fault.ended_ns
        if at_ns is None:
            continue
        # Two faults may act at the same moment: their labels stand on either side.
        shape, note = mark(text, source.since_start_s(at_ns), "--alarm", label_after=position % 2 == 1)
        shapes.append(shape)
        notes.append(note)
        if end_ns is not None:
            band = {"x0": source.since_start_s(at_ns), "x1": source.since_start_s(end_ns), "y0": 0, "y1": 1}
            look = {"fillcolor": "--band", "line": {"width": 0}}
            shapes.append({"type": "rect", "layer": "below", "yref": "paper", **band, **look})
    return shapes, notes


_AXIS: Figure = {
    "gridcolor": "--grid",
    "zerolinecolor": "--rule",
    "linecolor": "--rule",
    "automargin": True,
    "title": {"standoff": 10},
}
