"""What the report of one run shows of its bursts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from streamgauge.report.draw import Figure, line, linear, mark, over_time
from streamgauge.report.source import Source
from streamgauge.report.text import number

MOMENTS = {"first_output_s": "first output", "caught_up_s": "caught up"}


def burst_of(source: Source) -> Mapping[str, Any]:
    """The summary's figures of the bursts; empty where the load has none."""
    found = source.summary.get("burst")
    return found if isinstance(found, Mapping) else {}


def burst_figures(source: Source) -> dict[str, Figure | None]:
    """Rates and latencies over time with the bursts marked; none for other loads."""
    if not burst_of(source):
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
            f"{kind} latency (ms)",
            "ms",
        ),
    }


def burst_moments(source: Source) -> list[tuple[str, str]]:
    """What happened when after the start of the engine that found a backlog."""
    burst = burst_of(source)
    return [
        (text, "not in this run" if burst.get(field) is None else f"after {number(burst[field], 2)} s")
        for field, text in MOMENTS.items()
    ]


def burst_rows(source: Source) -> list[dict[str, str]]:
    """One row per burst of a periodic load."""
    return [
        {
            "begins at (s)": number(burst.get("start_s"), 1),
            "sent within (ms)": number(burst.get("width_ms"), 0) + (" (wide)" if burst.get("wide") else ""),
            "p50 before (ms)": number(burst.get("p50_before_ms"), 0),
            "highest p50 (ms)": number(burst.get("p50_peak_ms"), 0),
            "highest p99 (ms)": number(burst.get("p99_peak_ms"), 0),
            "elevated (s)": number(burst.get("elevated_s")),
        }
        for burst in burst_of(source).get("bursts", ())
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
    marks = _marks(source)
    return over_time(
        source,
        traces,
        linear(title),
        shapes=[shape for shape, _ in marks],
        annotations=[note for _, note in marks],
        showlegend=True,
    )


def _marks(source: Source) -> list[tuple[Figure, Figure]]:
    burst = burst_of(source)
    if burst.get("kind") == "periodic":
        return [
            mark("wide burst", each["start_s"], "--alarm") if each.get("wide") else mark("burst", each["start_s"])
            for each in burst.get("bursts", ())
        ]
    started_ns = source.outcome.engine_start_ns
    if started_ns is None:
        return []
    started_s = source.since_start_s(started_ns)
    moments = {"engine started": 0.0, **{text: burst.get(field) for field, text in MOMENTS.items()}}
    # An engine may catch up right after its first output: their labels stand on either side.
    return [
        mark(text, started_s + after_s, label_after=text == MOMENTS["caught_up_s"])
        for text, after_s in moments.items()
        if after_s is not None
    ]


def _known(source: Source, column: str) -> bool:
    return any(value is not None for value in source.seconds.get(column, ()))
