"""Each figure of the report, as data for plotly.js; a figure without data is left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from streamgauge.model import NS_PER_MS
from streamgauge.report import latencies
from streamgauge.report.batches import engine_figures
from streamgauge.report.bursts import burst_figures
from streamgauge.report.draw import (
    NOT_DATA,
    Figure,
    limit,
    line,
    linear,
    logarithmic,
    main_axis,
    over_time,
    series_look,
    shown_seconds,
)
from streamgauge.report.durability import durability_figures
from streamgauge.report.queries import query_figure
from streamgauge.report.source import Column, Source
from streamgauge.report.text import number

LATE_FLOOR_MS = 0.01
CLOCK_WARNING_MS, CLOCK_LIMIT_MS = 1.0, 5.0
"""Steps of the clock that warn, and that make a run INVALID; the evaluation decides, the figure only shows them."""


def all_figures(source: Source, baseline: Source | None = None) -> dict[str, Figure]:
    """By id, those that there is data for; ``baseline`` is drawn behind those over time and the distribution."""
    figures: dict[str, Figure | None] = {
        "rates": rates(source),
        **burst_figures(source),
        **latencies.over_seconds(source, baseline),
        "heatmap": latencies.heatmap(source),
        "distribution": latencies.distribution(source, baseline),
        "backlog": backlog(source),
        "unread": unread(source),
        **durability_figures(source),
        **engine_figures(source),
        "queries": query_figure(source),
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
    """Of a preloaded run, the records that the engine took and the results that it wrote while it worked."""
    middles = _middles(source)
    looks: dict[str, dict[str, Any]] = {
        "offered": {"color": "--offered", "width": 6},
        "sent": {"color": "--s1"},
        "appended": {"color": "--s3", "dash": "dot", "width": 2.4},
        "ingested": {"color": "--s4"},
        "output": {"color": "--s2"},
    }
    if source.preloaded:
        looks = {"output": looks["output"]}
    traces = [
        line(name, middles, source.seconds[name], unit="records/s", **look)
        for name, look in looks.items()
        if _any(source.seconds.get(name))
    ]
    if source.preloaded:
        traces = [*_consumed(source), *traces]
    if not traces:
        return None
    worst = None if source.preloaded else worst_second(source)
    if worst is not None:
        second, sent = worst
        point = line(f"worst second: {number(sent)} sent", [second + 0.5], [sent], "--ink", "records/s")
        marker = {"color": "--ink", "symbol": "circle-open", "size": 11, "line": {"width": 1.5}}
        traces.append({**point, "marker": marker, "meta": NOT_DATA})
    return over_time(source, traces, main_axis(source, "records per second", traces))


def _consumed(source: Source) -> list[Figure]:
    """Records per second that the engine said it had taken, between two samples."""
    known = [(source.since_start_s(s.t_ns), s.consumed) for s in source.positions if s.consumed is not None]
    points = [
        ((x + x_before) / 2, (taken - taken_before) / (x - x_before))
        for (x_before, taken_before), (x, taken) in pairwise(known)
        if x > x_before and taken >= taken_before
    ]
    if not any(rate for _, rate in points):
        return []
    return [line("taken by the engine", [x for x, _ in points], [y for _, y in points], "--s1", "records/s")]


def worst_second(source: Source) -> tuple[int, int] | None:
    """The whole second of the measured interval in which the fewest records were sent, and how many."""
    measured = source.main_phase
    if measured is None:
        return None
    rows = zip(source.seconds.get("sent", ()), source.seconds.get("second", ()), strict=False)
    whole = [
        (sent, second)
        for sent, second in rows
        if sent is not None and measured.from_s <= second and second + 1 <= measured.to_s
    ]
    return min(whole)[::-1] if whole else None


def backlog(source: Source) -> Figure | None:
    """The backlog, and through its middle the slope that was estimated, with its interval."""
    import numpy as np  # `list` reads every study, whose exhibits import this

    values = source.seconds.get("backlog")
    if not _any(values):
        return None
    assert values is not None
    middles = _middles(source)
    traces = [line("backlog", middles, values, "--s1", "records")]
    measured = source.main_phase
    figures = source.summary.backlog
    slope, interval = (None, None) if figures is None else (figures.slope_per_s, figures.slope_ci)
    inside = [
        (middle, value)
        for middle, value, phase in zip(middles, values, source.seconds.get("phase", ()), strict=False)
        if phase == "measured" and value is not None
    ]
    if slope is not None and measured is not None and inside:
        begin, end = measured.from_s, measured.to_s
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
            traces.append({**band, "fill": "toself", "fillcolor": "--band", "hoverinfo": "skip", "meta": NOT_DATA})
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
    shown = [traces[0], *_lag(source)]
    return over_time(source, [*_lag(source), *traces], main_axis(source, "records", shown))


def unread(source: Source) -> Figure | None:
    """Records that the transport had not handed to the engine yet, where it stamps that."""
    values = source.seconds.get("queued")
    if values is None or not _any(values):
        return None
    traces = [line("unread", _middles(source), values, "--s1", "records")]
    return over_time(source, traces, main_axis(source, "records", traces))


def _lag(source: Source) -> list[Figure]:
    """What the engine had not taken yet, by the positions that it reported; nothing where it reports none."""
    points = [(source.since_start_s(s.t_ns), s.lag) for s in source.positions if s.lag is not None]
    if not points:
        return []
    x, y = [x for x, _ in points], [lag for _, lag in points]
    return [line("lag: not taken by the engine", x, y, "--s3", "records", dash="dot")]


def lateness(source: Source) -> Figure | None:
    late = source.seconds.get("late_max_ms")
    top, _ = late_limits_ms(source)
    if not _any(late) or top is None:
        return None
    assert late is not None
    shown = [None if value is None else max(value, LATE_FLOOR_MS) for value in late]
    traces = [line("latest record of the second", _middles(source), shown, "--s1", "ms")]
    traces.append(limit(f"limit for any record: {number(top)} ms", top, shown_seconds(source)))
    return over_time(source, traces, logarithmic("lateness (ms)", [*shown, top, top * 1.8]))


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
    ends = shown_seconds(source)
    traces += [
        limit(f"{sign}{CLOCK_LIMIT_MS:g} ms: INVALID", factor * CLOCK_LIMIT_MS, ends)
        for sign, factor in (("+", 1), ("−", -1))
    ]
    reach = max(6.5, *(1.1 * abs(step) for _, step in steps))
    return over_time(source, traces, linear("step of the clock (ms)", range=[-reach, reach]))


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
    return over_time(source, traces, main_axis(source, title, traces), showlegend=True) if traces else None


def _middles(source: Source) -> list[float]:
    return [second + 0.5 for second in source.seconds.get("second", ())]


def _any(column: Column | None) -> bool:
    return column is not None and any(value is not None for value in column)


def _known(values: Iterable[Any]) -> Sequence[float]:
    return [value for value in values if value is not None]


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share
