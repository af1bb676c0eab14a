"""The page of a comparison: the answer first, every value of both sides, their distributions behind each other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from streamgauge.errors import UsageError
from streamgauge.model.comparison import ComparedRuns, ComparedSearches, Comparison
from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.report.draw import Figure, figure, line, linear
from streamgauge.report.exhibit import Row, Table
from streamgauge.report.latencies import latency_name, percentile_figure, percentile_line
from streamgauge.report.layout import Head, build, write_whole
from streamgauge.report.source import Source
from streamgauge.report.tables import measured_on
from streamgauge.report.text import number, rounded

STYLES = {"faster": "valid", "same": "valid", "slower": "failed", "cannot tell": "invalid"}
COLORS = {"A": "--s1", "B": "--s2"}


def write_comparison(comparison: Comparison, target: Path, a: Sequence[Source] = (), b: Sequence[Source] = ()) -> Path:
    """Write the page, whole or not at all, and return its path; ``a`` and ``b`` are the runs of the two sides.

    Raises UsageError where a directory is in its place.
    """
    if target.is_dir():
        raise UsageError("the page cannot be written", where=target, got="a directory", expected="a file")
    target.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(target, render(comparison, a, b))


def render(comparison: Comparison, a: Sequence[Source] = (), b: Sequence[Source] = ()) -> str:
    """The whole page. The same comparison gives the same bytes."""
    sides = {"A": comparison.a, "B": comparison.b}
    low, high = comparison.interval
    known = "" if low is None else f", 95 % interval {low:.3f} to {'no known end' if high is None else f'{high:.3f}'}"
    head = Head(
        kind="comparison",
        title=f"{comparison.word} · B against A",
        heading=" against ".join(_engine(side) for side in reversed(sides.values())),
        word=comparison.word,
        meaning=f"B : A = {comparison.ratio:.3f}{known} ({_measure(comparison)}; above 1, B is worse).",
        style=STYLES[comparison.word],
        footer=f"comparison format {comparison.format}",
    )
    figures = {"values": values_figure(comparison)}
    if drawn := distributions_figure(comparison, a, b):
        figures["distribution"] = drawn
    measured = [measured_on(source.manifest, source.outcome) for source in (*a[:1], *b[:1])]
    return build(
        "comparison.html.j2",
        head,
        figures,
        comparison=comparison,
        needed=comparison.runs_needed if comparison.word == "cannot tell" else None,
        sides={name: (side, _engine(side)) for name, side in sides.items()},
        values=_table(comparison),
        measured_on=dict(zip(sides, measured, strict=False)),
    )


def values_figure(comparison: Comparison) -> Figure:
    """A point for each run or search, and a line at the median of each side."""
    traces: list[Figure] = []
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        numbers = list(range(1, len(side.values) + 1))
        points = line(f"{name}: {_engine(side)}", numbers, side.values, COLORS[name], "")
        traces.append({**points, "mode": "markers", "marker": {"color": COLORS[name], "size": 9}})
        most = max(len(comparison.a.values), len(comparison.b.values))
        ends, level = [0.5, most + 0.5], [side.median] * 2
        traces.append(line(f"median of {name}: {rounded(side.median)}", ends, level, COLORS[name], "", dash="dash"))
    searched = isinstance(comparison.a, ComparedSearches)
    x_axis = {"title": {"text": "search" if searched else "run"}, "dtick": 1, "tickformat": "d"}
    return figure(traces, x_axis, linear(_measure(comparison)), hovermode="closest")


def distributions_figure(comparison: Comparison, a: Sequence[Source], b: Sequence[Source]) -> Figure | None:
    """Latency by percentile of every run that has the compared kind; None where none has."""
    kind = comparison.measure.removesuffix("_p50_ms")
    traces: list[Figure] = []
    for name, side, sources in (("A", comparison.a, a), ("B", comparison.b, b)):
        known = [source for source in sources if kind in source.latency]
        look = {"color": COLORS[name], "dash": "solid" if name == "A" else "dash"}
        drawn = [percentile_line(source, kind, f"{name}: {_engine(side)}", look) for source in known]
        traces += [{**trace, "showlegend": place == 0} for place, trace in enumerate(drawn)]
    return percentile_figure(traces, f"{latency_name(kind)} (ms)") if traces else None


def _measure(comparison: Comparison) -> str:
    """What is compared, as the pages call it."""
    kind = comparison.measure.removesuffix("_p50_ms")
    return f"{LATENCY_NAMES[kind]}, p50 (ms)" if kind in LATENCY_NAMES else comparison.measure


def _engine(side: ComparedRuns | ComparedSearches) -> str:
    return "unknown engine" if side.engine is None else f"{side.engine.name} {side.engine.version}"


def _table(comparison: Comparison) -> Table:
    rows = []
    for name, side in (("A", comparison.a), ("B", comparison.b)):
        names = side.searches if isinstance(side, ComparedSearches) else side.runs
        rows += [Row([name, one, number(value, 1)]) for one, value in zip(names, side.values, strict=True)]
    what = "search" if isinstance(comparison.a, ComparedSearches) else "run"
    return Table("", ["side", what, _measure(comparison)], rows, frozenset({2}))
