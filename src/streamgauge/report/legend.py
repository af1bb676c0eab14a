"""The legend of a figure, as the page shows it above the plot: it wraps where plotly's own would cover the figure."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

_DASHES = {"dash": "6 3", "dot": "2 2", "dashdot": "6 2 2 2"}
_SHAPES = {
    "line-ns-open": "upright",
    "triangle-up": "triangle",
    "square": "square",
    "x": "cross",
    "circle-open": "ring",
    "diamond-open": "◇",
    "square-open": "□",
    "triangle-up-open": "△",
    "star-open": "☆",
    "cross-open": "+",
    "hexagon-open": "⬡",
}
"""A character where one looks the same."""


@dataclass(frozen=True)
class Entry:
    """A line, a filled area or a symbol, and what it stands for."""

    name: str
    color: str
    shape: str
    """line, area, upright, triangle, square, circle, ring, heat or a character."""
    width: float = 2.0
    dash: str = ""
    opacity: float = 1.0
    trace: int = 0
    """Its place in the figure's data."""


def entries(figure: Mapping[str, Any]) -> list[Entry]:
    """One for each name; none for a figure whose title says it all."""
    shown: dict[str, Entry] = {}
    for place, trace in enumerate(figure["data"]):
        if trace.get("showlegend", True):
            shown.setdefault(trace["name"], _entry(place, trace))
    return list(shown.values()) if len(shown) > 1 or figure["layout"]["showlegend"] else []


def _entry(place: int, trace: Mapping[str, Any]) -> Entry:
    line, marker = trace.get("line", {}), trace.get("marker", {})
    if trace["type"] == "heatmap":
        return Entry(html.unescape(str(trace["name"])), "--heat4", "heat", trace=place)
    common = Entry(html.unescape(str(trace["name"])), "", "", opacity=float(trace.get("opacity", 1.0)), trace=place)
    if trace.get("fill") or trace["type"] in ("bar", "box"):
        color = trace.get("fillcolor") if trace.get("fill") else marker.get("color", line.get("color"))
        if isinstance(color, list):  # of each bar; grey ones must not be used
            color = next((one for one in color if one != "--muted"), "--muted")
        return replace(common, color=str(color), shape="area", opacity=float(marker.get("opacity", 0.8)))
    if trace.get("mode") == "markers":
        symbol = marker.get("symbol", "circle")
        shape = _SHAPES.get(symbol, "circle")
        return replace(common, color=str(marker["color"]), shape=shape)
    width, dash = min(float(line.get("width", 2)), 6.0), _DASHES.get(line.get("dash", ""), "")
    return replace(common, color=str(line["color"]), shape="line", width=width, dash=dash)
