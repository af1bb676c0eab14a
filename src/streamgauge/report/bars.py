"""Bars by category, ours and the paper's side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamgauge.report.draw import Figure, figure, label, linear
from streamgauge.report.exhibit import Context
from streamgauge.report.published import PAPER, mark_text, number_short
from streamgauge.study import Mark


@dataclass(frozen=True)
class Bar:
    """A value at a category."""

    category: str
    value: float
    text: str
    usable: bool = True
    """Whether it may be used; otherwise it is grey."""


@dataclass(frozen=True)
class BarSeries:
    """The bars of one engine."""

    engine: str
    bars: Sequence[Bar]
    opacity: float = 0.85
    """Tells the series of one engine apart."""


def bars(
    context: Context,
    series: Mapping[str, BarSeries],
    marks: Sequence[tuple[str, Mark]],
    title: str,
    unit: str,
) -> Figure:
    """Grouped bars by the name of their series, then the paper's, each with its category, by system."""
    traces = [
        {
            "type": "bar",
            "name": label(name),
            "x": [label(bar.category) for bar in of_series.bars],
            "y": [round(bar.value, 3) for bar in of_series.bars],
            "marker": {
                "color": _color(context.engine_color(of_series.engine), of_series.bars),
                "opacity": of_series.opacity,
            },
            "text": [bar.text for bar in of_series.bars],
            # Captions and tables have the numbers: on a phone they would lie over each other.
            "textposition": "none",
            "hovertemplate": f"%{{y:,.5~g}} {unit}",
        }
        for name, of_series in series.items()
    ]
    for system in dict.fromkeys(mark.system for _, mark in marks):
        theirs = [(category, mark) for category, mark in marks if mark.system == system]
        ours = context.counterpart(theirs[0][1])
        traces.append(
            {
                "type": "bar",
                "name": label(PAPER + system),
                "x": [label(category) for category, _ in theirs],
                "y": [mark.value for _, mark in theirs],
                "marker": {
                    "color": "--offered",
                    "line": {"color": "--muted" if ours is None else context.engine_color(ours), "width": 1},
                },
                "text": [number_short(mark.value) for _, mark in theirs],
                "textposition": "none",
                "hovertext": [label(mark_text(mark)) for _, mark in theirs],
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
        )
    return figure(traces, {"type": "category"}, linear(title), hovermode="closest", showlegend=True)


def _color(color: str, shown: Sequence[Bar]) -> str | list[str]:
    """One for all bars, or one for each where some must not be used."""
    return color if all(bar.usable for bar in shown) else [color if bar.usable else "--muted" for bar in shown]
