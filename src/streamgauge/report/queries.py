"""The queries of a user's script: what their checkpoints show, what Spark says itself, and what was redirected."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from streamgauge.model.samples import BatchSample
from streamgauge.model.summary import QueryMeasured
from streamgauge.report.draw import Figure, line, main_axis, over_time, series_look
from streamgauge.report.source import Source
from streamgauge.report.text import number


def query_rows(source: Source) -> list[dict[str, str]]:
    return [
        {
            "query": query.name,
            "writes to": query.sink,
            "batches": number(query.batches),
            "records": number(query.records),
            "not committed": number(query.not_committed),
            "committed p50 (ms)": number(query.committed_ms.get("p50")),
            "p99 (ms)": number(query.committed_ms.get("p99")),
            "max (ms)": number(query.committed_ms.get("max")),
            **_of_windows(query),
        }
        for query in source.summary.queries
    ]


def _of_windows(query: QueryMeasured) -> dict[str, str]:
    windows = query.window_ms or {}
    # Of the windows of half a minute, percentiles would be those of a handful.
    return {
        "windows": number(query.windows) if query.window_ms is not None else "–",
        "result of a window, mean (ms)": number(windows.get("mean")),
        "latest (ms)": number(windows.get("max")),
    }


def own_rows(source: Source) -> list[dict[str, str]]:
    """What Spark says about the batches of each query in the main part of the run, medians."""
    main = source.main_phase
    rows = []
    for query in source.summary.queries:
        inside = [
            batch
            for batch in source.batches
            if batch.query == query.name and main and main.from_s <= source.since_start_s(batch.t_ns) <= main.to_s
        ]
        if inside:
            rows.append({"query": query.name, **_medians(inside)})
    return rows


def _medians(batches: Sequence[BatchSample]) -> dict[str, str]:
    def median(values: Sequence[float | None]) -> str:
        known = [value for value in values if value is not None]
        return number(statistics.median(known)) if known else "–"

    parts = list(dict.fromkeys(name for batch in batches for name in batch.parts_ms))
    last = batches[-1]
    behind = [
        (batch.began_ms - batch.watermark_ms) / 1000
        for batch in batches
        if batch.began_ms is not None and batch.watermark_ms
    ]
    return {
        "batches": number(len(batches)),
        "duration (ms)": median([batch.duration_ms for batch in batches]),
        **{f"{name} (ms)": median([batch.parts_ms.get(name) for batch in batches]) for name in parts},
        "records": median([batch.rows for batch in batches]),
        "input/s": median([batch.input_per_s for batch in batches]),
        "processed/s": median([batch.processed_per_s for batch in batches]),
        "state rows, last": number(last.state_rows),
        "state (MB), last": number(last.state_mb, 1),
        "watermark behind the clock (s)": number(statistics.median(behind), 1) if behind else "–",
    }


def redirected_rows(source: Source) -> list[dict[str, str]]:
    return [{"what": one.what, "in the script": one.old, "in the run": one.new} for one in source.outcome.redirected]


def query_figure(source: Source) -> Figure | None:
    """The median committed latency of each query, by the second in which records arrived."""
    drawn = [query for query in source.summary.queries if any(value is not None for value in query.medians_ms)]
    if not drawn:
        return None
    traces = [
        line(
            query.name,
            [second + 0.5 for second in range(len(query.medians_ms))],
            query.medians_ms,
            unit="ms",
            **series_look(place),
        )
        for place, query in enumerate(drawn)
    ]
    return over_time(source, traces, main_axis(source, "committed after (ms)", traces), showlegend=len(traces) > 1)
