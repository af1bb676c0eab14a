"""What the report of a long run shows of its durability: outages, failed records, and what grew."""

from __future__ import annotations

from streamgauge.model.summary import Growth
from streamgauge.report.draw import Figure, line, linear, main_axis, over_time, series_look
from streamgauge.report.source import Source
from streamgauge.report.text import NONE, number


def durability_rows(source: Source) -> list[tuple[str, str]]:
    """Empty for a run that was evaluated whole."""
    found = source.summary.durability
    if found is None:
        return []
    rows = [
        ("durability index", percent(found.index)),
        ("unavailable", f"{number(found.unavailable_s, 1)} s"),
        (f"outages: longer than {number(found.gap_limit_s, 1)} s without a result", number(found.gaps)),
        ("longest time without a result", longest_text(found.longest_gap_s)),
        ("failed records: lost, wrong or unfinished", number(found.failed_records)),
        ("failed-record rate", percent(found.failed_rate)),
        ("slices evaluated", f"{number(found.slices)}, up to second {number(found.evaluated_s)} of the run"),
    ]
    rows += [(f"memory of {group}", growth_text(trend)) for group, trend in found.growth_mb_per_hour.items()]
    rows.append(("heap of the engine after garbage collections", growth_text(found.heap_growth_mb_per_hour)))
    rows += [(f"files: {name}", growth_text(trend)) for name, trend in found.disk_growth_mb_per_hour.items()]
    return rows


def longest_text(longest_s: float) -> str:
    """Gaps of up to a second are not noted."""
    return f"{number(longest_s, 1)} s" if longest_s else "at most 1 s"


def percent(share: float | None) -> str:
    """With as many digits as it takes to tell it from the nearest whole."""
    return NONE if share is None else f"{100 * share:.6g} %"


def growth_text(trend: Growth | None) -> str:
    if trend is None:
        return f"{NONE} (too short to tell)"
    return f"{trend.per_hour:+,.1f} MB per hour (95 % interval {trend.low:+,.1f} to {trend.high:+,.1f})"


def durability_figures(source: Source) -> dict[str, Figure | None]:
    return {"slices": latency_by_slice(source), "disk": disk(source)}


def latency_by_slice(source: Source) -> Figure | None:
    """Percentiles of the records that were due in each slice."""
    windows = [window for slice_ in source.slices for window in slice_.windows if window.count]
    if not windows:
        return None
    half_s = source.manifest.scenario.slice_s / 2
    x = [window.second + half_s for window in windows]
    named = {"p50": [window.p50_ms for window in windows], "p99": [window.p99_ms for window in windows]}
    named["max"] = [window.max_ms for window in windows]
    traces = [line(name, x, y, unit="ms", **series_look(place)) for place, (name, y) in enumerate(named.items())]
    return over_time(source, traces, main_axis(source, "latency (ms)", traces), showlegend=True)


def disk(source: Source) -> Figure | None:
    """What the run directory takes, and each directory that is removed after the run."""
    if not source.disk:
        return None
    x = [source.since_start_s(sample.t_ns) for sample in source.disk]
    sizes = {"run directory": [sample.run_mb for sample in source.disk]}
    for name in dict.fromkeys(name for sample in source.disk for name in sample.work_mb):
        sizes[f"work directory of {name}"] = [sample.work_mb.get(name, 0.0) for sample in source.disk]
    traces = [line(name, x, y, unit="MB", **series_look(place)) for place, (name, y) in enumerate(sizes.items())]
    top = max(value for y in sizes.values() for value in y)
    return over_time(source, traces, linear("size of files (MB)", range=[0, max(top, 1.0) * 1.04]), showlegend=True)
