"""Each figure of the report, as data for plotly.js; a figure without data is left out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from streamgauge.model import NS_PER_MS
from streamgauge.report.bursts import burst_figures
from streamgauge.report.draw import (
    DASHES,
    SERIES,
    WIDE,
    Figure,
    figure,
    limit,
    line,
    linear,
    logarithmic,
    over_time,
    series_look,
)
from streamgauge.report.source import Column, Source
from streamgauge.report.text import number

if TYPE_CHECKING:
    import numpy as np

LATE_FLOOR_MS = 0.01
CLOCK_WARNING_MS, CLOCK_LIMIT_MS = 1.0, 5.0
"""Steps of the clock that warn, and that make a run INVALID; the evaluation decides, the figure only shows them."""


def all_figures(source: Source) -> dict[str, Figure]:
    """By id, those that there is data for."""
    figures: dict[str, Figure | None] = {
        "rates": rates(source),
        **burst_figures(source),
        "latency-total": latency_over_time(source, "total"),
        "latency-latest": latency_over_time(source, "latest"),
        "distribution": distribution(source),
        "backlog": backlog(source),
        "lateness": lateness(source),
        "cpu": cpu(source),
        "rss": level(source, "rss_mb", "resident memory (MB)"),
        "heap": level(source, "heap_used_mb", "heap in use (MB)"),
        "gc": gc(source),
        "machine": machine(source),
        "clock": clock(source),
    }
    return {name: drawn for name, drawn in figures.items() if drawn is not None}


def rates(source: Source) -> Figure | None:
    middles = _middles(source)
    looks: dict[str, dict[str, Any]] = {
        "offered": {"color": "--offered", "width": 6},
        "sent": {"color": "--s1"},
        "appended": {"color": "--s3", "dash": "dot", "width": 2.4},
        "output": {"color": "--s2"},
    }
    traces = [
        line(name, middles, source.seconds[name], unit="records/s", **look)
        for name, look in looks.items()
        if _any(source.seconds.get(name))
    ]
    if not traces:
        return None
    worst = worst_second(source)
    notes = []
    if worst is not None:
        second, sent = worst
        place = second / len(middles)
        notes = [
            {
                "x": second + 0.5,
                "xanchor": "left" if place < 0.4 else "right" if place > 0.6 else "center",
                "y": sent,
                "text": f"worst second: {number(sent)} sent",
                "arrowcolor": "--ink",
                "arrowwidth": 1,
                "arrowhead": 2,
                "ax": 0,
                "ay": 34,
                "bgcolor": "--surface",
                "font": {"size": 11, "color": "--ink"},
            }
        ]
    return over_time(source, traces, linear("records per second"), annotations=notes)


def worst_second(source: Source) -> tuple[int, int] | None:
    """The whole second of the measured interval in which the fewest records were sent, and how many."""
    measured = next((phase for phase in source.phases if phase.name == "measured"), None)
    if measured is None:
        return None
    rows = zip(source.seconds.get("sent", ()), source.seconds.get("second", ()), strict=False)
    whole = [
        (sent, second)
        for sent, second in rows
        if sent is not None and measured.from_s <= second and second + 1 <= measured.to_s
    ]
    return min(whole)[::-1] if whole else None


def latency_over_time(source: Source, kind: str) -> Figure | None:
    looks: dict[str, dict[str, Any]] = {
        "p50": {"color": "--s1", "width": 2.4},
        "p99": {"color": "--s2"},
        "max": {"color": "--s4", "dash": "dot"},
    }
    traces = [
        line(name, _middles(source), source.seconds[f"{kind}_{name}"], unit="ms", **look)
        for name, look in looks.items()
        if _any(source.seconds.get(f"{kind}_{name}"))
    ]
    if not traces:
        return None
    # One scale for both kinds, so that the eye may compare them.
    both = _known(v for k in ("total", "latest") for name in looks for v in source.seconds.get(f"{k}_{name}", ()))
    title = f"{kind} latency (ms)"
    if min(both) > 0 and max(both) / min(both) > WIDE:
        return over_time(source, traces, logarithmic(title, both))
    top = max(max(both), 0.0) * 1.05
    return over_time(source, traces, linear(title, range=[min(0.0, min(both)), top]) if top else linear(title))


def distribution(source: Source) -> Figure | None:
    """The share of results within each latency, reduced to some hundred points that are exact."""
    kinds = [kind for kind in ("total", "latest", "average") if kind in source.latency]
    kinds += sorted(set(source.latency) - set(kinds))
    reduced = {kind: _cumulated(*source.latency[kind], _missing(source, kind)) for kind in kinds}
    positive = [v for values, _ in reduced.values() for v in values if v > 0]
    wide = bool(positive) and max(positive) / min(positive) > WIDE
    traces = []
    for position, (kind, (values, shares)) in enumerate(reduced.items()):
        look = {"color": SERIES[position % len(SERIES)], "dash": DASHES[position % len(DASHES)]}
        trace = line(kind, values, shares, unit="%", shape="hv", **look)
        traces.append({**trace, "hovertemplate": "%{y:.4~g} % within %{x:,.5~g} ms"})
    if not traces:
        return None
    title = "latency (ms)"
    x_axis = logarithmic(title, positive) if wide else {"title": {"text": title}, "tickformat": ",~g"}
    marks = [limit(f"{share} %", share, "--muted") for share in (50, 99)]
    return figure(
        traces,
        x_axis,
        {"title": {"text": "share of results (%)"}, "range": [0, 104], "tickvals": [0, 25, 50, 75, 100]},
        shapes=[shape for shape, _ in marks],
        annotations=[{**note, "x": 0, "xanchor": "left"} for _, note in marks],
        hovermode="closest",
    )


def backlog(source: Source) -> Figure | None:
    """The backlog, and through its middle the slope that was estimated, with its interval."""
    import numpy as np  # `list` reads every study, whose exhibits import this

    values = source.seconds.get("backlog")
    if not _any(values):
        return None
    assert values is not None
    middles = _middles(source)
    traces = [line("backlog", middles, values, "--s1", "records")]
    measured = [phase for phase in source.phases if phase.name == "measured"]
    figures = source.summary.backlog
    slope, interval = (None, None) if figures is None else (figures.slope_per_s, figures.slope_ci)
    inside = [
        (middle, value)
        for middle, value, phase in zip(middles, values, source.seconds.get("phase", ()), strict=False)
        if phase == "measured" and value is not None
    ]
    if slope is not None and measured and inside:
        begin, end = measured[0].from_s, measured[0].to_s
        middle_x = float(np.median([x for x, _ in inside]))
        middle_y = float(np.median([y for _, y in inside]))

        def at(x: float, rise: float) -> float:
            return middle_y + rise * (x - middle_x)

        if interval:
            low, high = interval
            corners = [(begin, low), (middle_x, 0.0), (end, low), (end, high), (middle_x, 0.0), (begin, high)]
            band = line(
                "interval of the slope", [x for x, _ in corners], [at(*c) for c in corners], "--band", "", width=0
            )
            traces.append({**band, "fill": "toself", "fillcolor": "--band", "hoverinfo": "skip"})
        traces.append(
            line(
                "slope",
                [begin, end],
                [at(begin, slope), at(end, slope)],
                "--s2",
                "records",
                width=2.4,
                dash="dash",
            )
        )
    return over_time(source, traces, linear("backlog (records)"))


def lateness(source: Source) -> Figure | None:
    late = source.seconds.get("late_max_ms")
    top, _ = late_limits_ms(source)
    if not _any(late) or top is None:
        return None
    assert late is not None
    shown = [None if value is None else max(value, LATE_FLOOR_MS) for value in late]
    traces = [line("latest record of the second", _middles(source), shown, "--s1", "ms")]
    shape, note = limit(f"limit for any record: {number(top)} ms", top)
    note["y"] = math.log10(top)
    axis = logarithmic("lateness (ms)", [*shown, top, top * 1.8])
    return over_time(source, traces, axis, shapes=[shape], annotations=[note])


def late_limits_ms(source: Source) -> tuple[float | None, float | None]:
    """The lateness that no record, and that at most 1 % of the records, may exceed: as the verdict had them."""
    generator = source.summary.generator
    return (None, None) if generator is None else (generator.late_max_limit_ms, generator.late_p99_limit_ms)


def cpu(source: Source) -> Figure | None:
    return _per_role(source, "cpu_s", "CPU (cores)", "cores", growth=True)


def gc(source: Source) -> Figure | None:
    return _per_role(source, "gc_ms", "garbage collection (ms per s)", "ms per s", growth=True)


def level(source: Source, field: str, title: str) -> Figure | None:
    return _per_role(source, field, title, "MB", growth=False)


def machine(source: Source) -> Figure | None:
    fields = {
        "cpu_busy": "CPU busy (all cores)",
        "steal": "stolen by the host",
        "psi_cpu_some": "waiting for CPU (PSI)",
        "psi_io_some": "waiting for I/O (PSI)",
        "psi_memory_some": "waiting for memory (PSI)",
    }
    x = [source.since_start_s(sample.t_ns) for sample in source.machine]
    traces = []
    for position, (field, name) in enumerate(fields.items()):
        y = [_percent(getattr(sample, field)) for sample in source.machine]
        if _any(y):
            traces.append(line(name, x, y, unit="%", **series_look(position)))
    if not traces:
        return None
    top = max(_known(v for trace in traces for v in trace["y"]))
    return over_time(source, traces, linear("share of the time (%)", range=[0, max(100.0, top) * 1.04]))


def clock(source: Source) -> Figure | None:
    steps = clock_steps_ms(source)
    if not steps:
        return None
    traces = [line("step", [x for x, _ in steps], [step for _, step in steps], "--s1", "ms")]
    marks = [limit(f"{sign}{CLOCK_LIMIT_MS:g} ms: INVALID", float(f"{sign}{CLOCK_LIMIT_MS}")) for sign in ("+", "-")]
    reach = max(6.5, *(1.1 * abs(step) for _, step in steps))
    return over_time(
        source,
        traces,
        linear("step of the clock (ms)", range=[-reach, reach]),
        shapes=[shape for shape, _ in marks],
        annotations=[{**note, "text": note["text"].replace("-", "−")} for _, note in marks],
    )


def clock_steps_ms(source: Source) -> list[tuple[float, float]]:
    """How far the real-time clock moved against the monotonic one between two samples: (second, ms)."""
    readings = [(sample.t_ns, sample.t_ns - sample.mono_ns) for sample in source.clock]
    return [
        (source.since_start_s(t_ns), (offset - before) / NS_PER_MS)
        for (_, before), (t_ns, offset) in pairwise(readings)
    ]


def _per_role(source: Source, field: str, title: str, unit: str, growth: bool) -> Figure | None:
    """One line per role; with ``growth``, of how fast a running sum grows per second."""
    roles = list(dict.fromkeys(sample.role for sample in source.resources))
    traces = []
    for position, role in enumerate(roles):
        points = [
            (source.since_start_s(sample.t_ns), value)
            for sample in source.resources
            if sample.role == role and (value := getattr(sample, field)) is not None
        ]
        if growth:
            # A sum that shrinks has lost a process: its growth is not known there.
            points = [
                (x, (y - y_before) / (x - x_before) if y >= y_before else None)
                for (x_before, y_before), (x, y) in pairwise(points)
                if x > x_before
            ]
        if points:
            x, y = [p[0] for p in points], [p[1] for p in points]
            traces.append(line(role, x, y, unit=unit, **series_look(position)))
    return over_time(source, traces, linear(title), showlegend=True) if traces else None


def _missing(source: Source, kind: str) -> float:
    """Results that never came: the line ends below 100 %."""
    return float(source.summary.latency(kind).get("missing") or 0)


def _cumulated(values: np.ndarray, counts: np.ndarray, missing: float) -> tuple[list[float], list[float]]:
    """Value and share (%) of results within it: evenly spaced shares, closer ones in the tail, both ends."""
    import numpy as np  # as above

    shares = np.cumsum(counts) / (counts.sum() + missing)
    wanted = np.concatenate([np.linspace(0, 1, 401), 1 - np.logspace(-6, -2, 81)])
    indices = np.unique(np.minimum(np.searchsorted(shares, np.sort(wanted)), len(values) - 1))
    return values[indices].tolist(), (100 * shares[indices]).round(5).tolist()


def _middles(source: Source) -> list[float]:
    return [second + 0.5 for second in source.seconds.get("second", ())]


def _any(column: Column | None) -> bool:
    return column is not None and any(value is not None for value in column)


def _known(values: Iterable[Any]) -> Sequence[float]:
    return [value for value in values if value is not None]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
