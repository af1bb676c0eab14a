"""The figures of latency: over time, as a heatmap, and as a distribution with every nine of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.report.draw import (
    SERIES,
    WIDE,
    Figure,
    figure,
    line,
    linear,
    logarithmic,
    main_axis,
    over_time,
    shown_seconds,
)
from streamgauge.report.source import Column, Source

if TYPE_CHECKING:
    import numpy as np

KINDS = ("total", "latest", "average")
OVER_SECONDS = ("total", "latest", "processing_time")
ALIKE_MS, ALIKE_SHARE = 2.0, 0.02
"""Two kinds of latency are the same when they are at most this far apart, whichever is more."""
ALIKE_AT = (0.1, 0.5, 0.9, 0.99)
FLOOR_MS = 0.5
"""Stamps are whole milliseconds, and a logarithmic axis has no zero: less than this is drawn here."""
LOOKS: Mapping[str, dict[str, Any]] = {
    "p50": {"color": "--s1", "width": 2.4},
    "p99": {"color": "--s2"},
    "max": {"color": "--s4", "dash": "dot"},
}
BASELINE = "baseline"
COLUMNS_MAX = 120


def latency_name(kind: str) -> str:
    return LATENCY_NAMES.get(kind, kind.replace("_", " "))


def alike(source: Source) -> list[list[str]]:
    """The kinds of latency that were measured, those together that are practically the same."""
    kinds = [kind for kind in KINDS if kind in source.latency] + sorted(set(source.latency) - set(KINDS))
    groups: list[list[str]] = []
    for kind in kinds:
        here = _levels(source.latency[kind])
        near = (group for group in groups if _near(_levels(source.latency[group[0]]), here))
        group = next(near, None)
        if group is None:
            groups.append([kind])
        else:
            group.append(kind)
    return groups


def joined_names(kinds: Sequence[str]) -> str:
    """ "end-to-end, processing and mean-input latency"."""
    *first, last = [latency_name(kind) for kind in kinds]
    words = [name.removesuffix(" latency") for name in first]
    return f"{', '.join(words)} and {last}" if words else last


def over_seconds(source: Source, baseline: Source | None = None) -> dict[str, Figure]:
    """p50, p99 and max of each second; one figure for kinds that are practically the same, by its id.

    Nothing where all input was there before the engine: its latency is the wait for the engine.
    """
    if source.preloaded:
        return {}
    drawn = {kinds[0]: _percentiles(source, kinds[0]) for kinds in kinds_over_seconds(source)}
    every = [trace for lines in drawn.values() for trace in lines]
    if not every:
        return {}
    figures = {}
    for kind, lines in drawn.items():
        # One scale for both kinds, so that they can be compared by eye.
        axis = main_axis(source, f"{latency_name(kind)} (ms)", every, may_be_log=True)
        figures[f"latency-{kind}"] = over_time(source, [*_behind(source, baseline, kind), *lines], axis)
    return figures


def kinds_over_seconds(source: Source) -> list[list[str]]:
    """The kinds of latency that are drawn over time, those together that are practically the same."""
    known = [kind for kind in OVER_SECONDS if _percentiles(source, kind)]
    groups = [[kind for kind in group if kind in known] for group in alike(source)]
    # A run without a distribution may still have seconds.
    groups += [[kind] for kind in known if kind not in source.latency]
    return sorted((group for group in groups if group), key=lambda group: OVER_SECONDS.index(group[0]))


def _percentiles(source: Source, kind: str) -> list[Figure]:
    middles = [second + 0.5 for second in source.seconds.get("second", ())]
    traces = []
    for name, look in LOOKS.items():
        shown, column = name, source.seconds.get(f"{kind}_{name}", ())
        if name == "p99" and _mostly_unknown(source, column):
            # At a low rate, a second has too few results for it.
            column = source.seconds.get(f"{kind}_p99_window", ())
            shown = f"p99 of {next(iter(source.seconds.get('window_s', ())), 1)} s"
        if any(value is not None for value in column):
            traces.append({**line(shown, middles, column, unit="ms", **look), "legendgroup": name})
    return traces


def _mostly_unknown(source: Source, column: Column) -> bool:
    """In the measured interval."""
    inside = [v for v, phase in zip(column, source.seconds.get("phase", ()), strict=False) if phase == "measured"]
    return sum(value is None for value in inside) * 2 >= len(inside)


def _behind(source: Source, baseline: Source | None, kind: str) -> list[Figure]:
    """The baseline's lines, from the same moment of its measured interval on."""
    here, there = source.main_phase, None if baseline is None else baseline.main_phase
    if baseline is None or here is None or there is None:
        return []
    shift_s = here.from_s - there.from_s
    dashes = {"p50": "solid", "p99": "dash", "max": "dot"}
    return [
        {
            **trace,
            "name": f"{BASELINE} {trace['name']}",
            "x": [x + shift_s for x in trace["x"]],
            "line": {"color": "--baseline", "width": 1.6, "dash": dashes[trace["legendgroup"]]},
        }
        for trace in _percentiles(baseline, kind)
    ]


def heatmap(source: Source) -> Figure | None:
    """Time by latency: how large a share of the results of each moment had that latency.

    None for runs of early versions, which did not count it, and for preloaded ones, as in ``over_seconds``.
    """
    import numpy as np  # `list` reads every study, whose exhibits import this

    rows = [] if source.preloaded else source.heatmap
    if not rows:
        return None
    from_s, to_s = shown_seconds(source)
    step_s = max(1, math.ceil((to_s - from_s) / COLUMNS_MAX))
    columns = math.ceil((to_s - math.floor(from_s)) / step_s)
    edges = sorted({edge for row in rows for edge in (max(row["from_ms"], FLOOR_MS), row["to_ms"])})
    counts = np.zeros((len(edges) - 1, columns))
    for row in rows:
        column = int((row["second"] - math.floor(from_s)) // step_s)
        if 0 <= column < columns:
            first = edges.index(max(row["from_ms"], FLOOR_MS))
            counts[first, column] += row["count"]
    every = counts.sum(axis=0)
    shares = 100 * counts / np.maximum(every, 1)
    z = [[float(f"{share:.4g}") if share else None for share in line] for line in shares.tolist()]
    x = [math.floor(from_s) + step_s * column for column in range(columns + 1)]
    name = latency_name(str(rows[0]["kind"]))
    trace = {
        "type": "heatmap",
        "name": f"share of the results of a moment, up to {shares.max():.3g} %",
        "x": x,
        "y": edges,
        "z": z,
        "zmin": 0,
        "colorscale": [[0, "--heat1"], [0.03, "--heat2"], [0.25, "--heat3"], [1, "--heat4"]],
        "showscale": False,
        "hovertemplate": "from second %{x}: %{z} % at %{y:,.4~g} ms<extra></extra>",
        "xgap": 0,
    }
    main = source.main_phase
    inside = [r for r in rows if main is None or main.from_s <= r["second"] < main.to_s] or rows
    ends = [max(row["from_ms"], FLOOR_MS) for row in inside] + [row["to_ms"] for row in inside]
    columns_of_csv = {"x": "from second", "y": "from ms", "z": "share of the results (%)"}
    look: dict[str, Any] = {"hovermode": "closest", "showlegend": True, "meta": columns_of_csv}
    return over_time(source, [trace], logarithmic(f"{name} (ms)", ends), **look)


def distribution(source: Source, baseline: Source | None = None) -> Figure | None:
    """Latency by percentile, on an axis that gives each further nine the same width, as HdrHistogram draws it."""
    traces: list[Figure] = []
    if baseline is not None and not baseline.preloaded:
        for group in alike(baseline):
            if group[0] in source.latency:
                lead = {"color": "--baseline", "dash": ("solid", "dash", "dot")[len(traces) % 3]}
                traces.append(percentile_line(baseline, group[0], f"{BASELINE} {joined_names(group)}", lead))
    for position, group in enumerate(alike(source)):
        look = {"color": SERIES[position % len(SERIES)], "dash": ("solid", "dash", "dot")[position % 3]}
        traces.append(percentile_line(source, group[0], joined_names(group), look))
    return percentile_figure(traces, "latency (ms)") if traces else None


def percentile_figure(traces: Sequence[Figure], title: str) -> Figure:
    """Of lines as ``percentile_line`` gives them."""
    values = [max(value, FLOOR_MS) for trace in traces for value in trace["y"]]
    wide = max(values) / min(values) > WIDE
    if wide:
        traces = [{**trace, "y": [max(value, FLOOR_MS) for value in trace["y"]]} for trace in traces]
    lowest = min(value for trace in traces for value in trace["y"])
    y_axis = logarithmic(title, values) if wide else linear(title, range=[min(0.0, lowest), 1.05 * max(values)])
    most = max(trace["x"][-1] for trace in traces)
    nines = range(1, math.floor(math.log10(most)) + 1) if most >= 10 else range(0)
    ticks = {1.0: "0", 2.0: "50", **{10.0**power: _percent(power) for power in nines}}
    x_axis = {
        "title": {"text": "percentile (%)"},
        "type": "log",
        "range": [0, math.log10(max(most, 2.0)) + 0.05],
        "tickvals": list(ticks),
        "ticktext": list(ticks.values()),
        "tickangle": 0,
    }
    columns = {"x": "1/(1 - quantile)", "customdata": "percentile (%)"}
    return figure(traces, x_axis, y_axis, hovermode="closest", meta=columns, showlegend=True)


def percentile_line(source: Source, kind: str, name: str, look: Mapping[str, str]) -> Figure:
    """A stair: up to ``x = 1 / (1 − q)`` the latency is at most ``y``; the last step is the slowest result."""
    import numpy as np  # `list` reads every study, whose exhibits import this

    values, counts = source.latency[kind]
    every = float(counts.sum()) + float(source.summary.latency(kind).get("missing") or 0)
    done = np.cumsum(counts)
    # Beyond the last result but one, a percentile is the slowest result.
    x = every / np.maximum(every - done, 1.0)
    wanted = np.logspace(0, math.log10(max(x[-1], 1.0)), 400)
    indices = np.unique(np.append(np.minimum(np.searchsorted(x, wanted), len(values) - 1), len(values) - 1))
    places, levels = [1.0, *x[indices].tolist()], [float(values[0]), *values[indices].tolist()]
    shares = [0.0, *(100 * done[indices] / every).tolist()]
    drawn = line(name, [float(f"{place:.7g}") for place in places], levels, unit="ms", shape="vh", **look)
    hover = "%{customdata} % within %{y:,.5~g} ms"
    return {**drawn, "customdata": [float(f"{share:.8g}") for share in shares], "hovertemplate": hover}


def _percent(nines: int) -> str:
    """90, 99, 99.9, …"""
    return f"{100 - 10.0 ** (2 - nines):.{max(nines - 2, 0)}f}"


def _levels(latency: tuple[np.ndarray, np.ndarray]) -> list[float]:
    import numpy as np  # as above

    values, counts = latency
    done = np.cumsum(counts)
    places = np.searchsorted(done, [share * done[-1] for share in ALIKE_AT])
    return [float(value) for value in values[np.minimum(places, len(values) - 1)]]


def _near(a: Sequence[float], b: Sequence[float]) -> bool:
    return all(abs(x - y) <= max(ALIKE_MS, ALIKE_SHARE * abs(x)) for x, y in zip(a, b, strict=True))
