"""Shows an exhibit with a custom figure: traces for plotly.js, in the style of streamgauge's pages.

``draw`` is called after every experiment, with the results so far.
"""

from __future__ import annotations

from streamgauge.report.draw import figure, line, linear
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, verdict_words
from streamgauge.report.text import number

MEDIAN, ALARMS = "latency.total.p50", "rate.output"
"""Figures of a run: metric names as for ``--slo``, or keys of summary.json."""


def latency_by_alarms(context: Context) -> list[Panel]:
    """Median latency against alarms per second, one line per engine, and a table of all runs."""
    traces, rows = [], []
    for engine in context.reproduction.engines:
        measured = [one for one in context.results if one.engine == engine and one.has_result]
        # Numbers of INVALID and FAILED runs must not be used: they only appear in the table, in grey.
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
    drawn = figure(traces, linear("alarms per second"), linear("end-to-end latency, p50 (ms)"))
    title, caption = "Median latency by alarms per second", "Each point is a VALID run; the table has its numbers."
    return [Panel(plots=[Plot(f"{context.id}-alarms", title, drawn, caption)], tables=[table])]
