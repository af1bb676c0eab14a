"""Shows an exhibit with a figure of its own: traces for plotly.js, in the look of streamgauge's pages.

``draw`` runs again after every experiment, with whatever has been measured until then.
"""

from __future__ import annotations

from streamgauge.report.draw import figure, line, linear
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, verdict_words
from streamgauge.report.text import number

MEDIAN, ALARMS = "latency.total.p50", "rate.output"
"""Figures of a run: the names that ``--slo`` knows, or keys of summary.json."""


def latency_by_alarms(context: Context) -> list[Panel]:
    """Median latency against alarms per second, a line for each engine, and a table of all runs."""
    traces, rows = [], []
    for engine in context.reproduction.engines:
        measured = [one for one in context.results if one.engine == engine and one.has_result]
        # INVALID and FAILED runs have numbers that must not be used: they are in the table, in grey.
        points = [(one.value(ALARMS), one.value(MEDIAN)) for one in measured if one.usable]
        if known := sorted((x, y) for x, y in points if x is not None and y is not None):
            x, y = zip(*known, strict=True)
            traces.append(line(engine, x, y, context.engine_color(engine), "ms") | {"mode": "lines+markers"})
        rows += [
            Row(
                [
                    one.dimensions["alarms"],
                    engine,
                    verdict_words(one),
                    number(one.value(ALARMS), 1),
                    number(one.value(MEDIAN), 1),
                ],
                muted=not one.usable,
            )
            for one in measured
        ]
    table = Table("Alarms", ["alarms", "engine", "verdict", "alarms/s", "p50, ms"], rows, frozenset({3, 4}))
    if not traces:
        return [Panel(tables=[table])]
    drawn = figure(traces, linear("alarms per second"), linear("total latency, p50 (ms)"))
    title, caption = "Median latency by alarms per second", "Each point is a VALID run; the table has its numbers."
    return [Panel(plots=[Plot(f"{context.id}-alarms", title, drawn, caption)], tables=[table])]
