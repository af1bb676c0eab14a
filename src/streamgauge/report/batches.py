"""What the engine itself reports: its batches, and how far it is behind in each partition of its input."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence

from streamgauge.model.samples import BatchSample
from streamgauge.report.draw import Figure, line, main_axis, over_time, series_look
from streamgauge.report.source import Source
from streamgauge.report.text import number

MOST_PARTITIONS = 8
"""With more, only the least, the median and the greatest lag of all partitions are drawn."""


def engine_figures(source: Source) -> dict[str, Figure | None]:
    return {
        "batch-duration": _over_batches(source, "duration_ms", "duration (ms)", "ms"),
        "batch-rows": _over_batches(source, "rows", "input records", "records"),
        "lag-by-partition": lag_by_partition(source),
    }


def _over_batches(source: Source, field: str, title: str, unit: str) -> Figure | None:
    if not source.batches:
        return None
    x = [source.since_start_s(batch.t_ns) for batch in source.batches]
    y = [getattr(batch, field) for batch in source.batches]
    # A batch is a point: between two there is nothing.
    trace = {**line(f"{title} of a batch", x, y, "--s1", unit), "mode": "markers"}
    return over_time(source, [trace], main_axis(source, title, [trace]))


def batch_rows(source: Source) -> list[tuple[str, str]]:
    """The batches that the engine reported in the main part of the run, in numbers."""
    main = source.main_phase
    inside: Sequence[BatchSample] = [
        batch for batch in source.batches if main and main.from_s <= source.since_start_s(batch.t_ns) <= main.to_s
    ]
    if not inside:
        return []
    durations, rows = [batch.duration_ms for batch in inside], [batch.rows for batch in inside]
    return [
        ("batches", number(len(inside))),
        ("median duration", f"{number(statistics.median(durations))} ms"),
        ("longest", f"{number(max(durations))} ms"),
        ("median size", f"{number(statistics.median(rows))} records"),
        ("largest", f"{number(max(rows))} records"),
    ]


def lag_by_partition(source: Source) -> Figure | None:
    """A line for each partition of each input, or a summary of many."""
    known = [(source.since_start_s(s.t_ns), s.lag_by_partition) for s in source.positions if _named(s.lag_by_partition)]
    if not known:
        return None
    x = [second for second, _ in known]
    at_once = [_named(lag) for _, lag in known]
    names = list(dict.fromkeys(name for by_name in at_once for name in by_name))
    lags: dict[str, list[int | None]] = {name: [by_name.get(name) for by_name in at_once] for name in names}
    if len(names) > MOST_PARTITIONS:
        lags = {
            f"greatest of {len(names)} partitions": [max(by_name.values()) for by_name in at_once],
            "median": [statistics.median_low(by_name.values()) for by_name in at_once],
            "least": [min(by_name.values()) for by_name in at_once],
        }
    traces = [line(name, x, y, unit="records", **series_look(place)) for place, (name, y) in enumerate(lags.items())]
    return over_time(source, traces, main_axis(source, "records", traces), showlegend=True)


def _named(lag: Mapping[str, Sequence[int]] | None) -> dict[str, int]:
    return {
        f"{stream} {partition}": of
        for stream, partitions in (lag or {}).items()
        for partition, of in enumerate(partitions)
    }
