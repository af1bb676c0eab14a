"""What the report of one run shows of its bursts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.model.summary import BurstFigures
from streamgauge.report.draw import Figure, Mark, line, main_axis, over_time
from streamgauge.report.source import Source
from streamgauge.report.text import number

FIRST_OUTPUT, CAUGHT_UP = "first output", "caught up"


def burst_figures(source: Source) -> dict[str, Figure | None]:
    """Rates and latencies over time with the bursts marked; none for other loads."""
    if source.summary.burst is None:
        return {}
    kind = "total" if _known(source, "total_p50") else "latest"
    return {
        "burst-output": _marked(
            source,
            {
                "appended to the input": ("appended", {"color": "--s3", "dash": "dot"}),
                "appended to the output": ("output", {"color": "--s2"}),
            },
            "records per second",
            "records/s",
        ),
        "burst-latency": _marked(
            source,
            {
                "p50": (f"{kind}_p50", {"color": "--s1", "width": 2.4}),
                "p99": (f"{kind}_p99", {"color": "--s2"}),
            },
            f"{LATENCY_NAMES[kind]} (ms)",
            "ms",
        ),
    }


def burst_moments(source: Source) -> list[tuple[str, str]]:
    """What happened when after the start of the engine that found a backlog."""
    return [
        (text, "not in this run" if after_s is None else f"after {number(after_s, 2)} s")
        for text, after_s in _moments(source.summary.burst).items()
    ]


def _moments(burst: BurstFigures | None) -> dict[str, float | None]:
    """In seconds since the start of the engine."""
    if burst is None:
        return {}
    return {FIRST_OUTPUT: burst.first_output_s, CAUGHT_UP: burst.caught_up_s}


def burst_rows(source: Source) -> list[dict[str, str]]:
    """One row per burst of a periodic load."""
    return [
        {
            "begins at (s)": number(burst.start_s, 1),
            "sent within (ms)": number(burst.width_ms, 0) + (" (wide)" if burst.wide else ""),
            "p50 before (ms)": number(burst.p50_before_ms, 0),
            "highest p50 (ms)": number(burst.p50_peak_ms, 0),
            "highest p99 (ms)": number(burst.p99_peak_ms, 0),
            "elevated (s)": number(burst.elevated_s),
        }
        for burst in (source.summary.burst.bursts if source.summary.burst else ())
    ]


def _marked(source: Source, lines: Mapping[str, tuple[str, dict[str, Any]]], title: str, unit: str) -> Figure | None:
    middles = [second + 0.5 for second in source.seconds.get("second", ())]
    traces = [
        line(name, middles, source.seconds[column], unit=unit, **look)
        for name, (column, look) in lines.items()
        if _known(source, column)
    ]
    if not traces:
        return None
    return over_time(source, traces, main_axis(source, title, traces), _marks(source))


def _marks(source: Source) -> list[Mark]:
    burst = source.summary.burst
    if burst is not None and burst.kind == "periodic":
        return [
            Mark("wide burst", each.start_s, "--alarm") if each.wide else Mark("burst", each.start_s)
            for each in burst.bursts
        ]
    started_ns = source.outcome.engine_start_ns
    if started_ns is None:
        return []
    started_s = source.since_start_s(started_ns)
    moments = {"engine started": 0.0, **_moments(burst)}
    return [Mark(text, started_s + after_s) for text, after_s in moments.items() if after_s is not None]


def _known(source: Source, column: str) -> bool:
    return any(value is not None for value in source.seconds.get(column, ()))
