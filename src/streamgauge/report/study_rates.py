"""The figure of sustainable throughput: latency, CPU and heap of every probe against its rate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streamgauge.report.capacity import headline, latency_against_value, unsustainable
from streamgauge.report.draw import Figure, figure, linear, logarithmic
from streamgauge.report.source import Source
from streamgauge.report.study_parts import (
    RATE,
    Context,
    Panel,
    Plot,
    Point,
    Row,
    Table,
    engine_cpu,
    engine_heap_mb,
    extent,
    marks_table,
    paper_marks,
    paper_symbols,
    within,
)
from streamgauge.report.study_source import Taken
from streamgauge.report.text import number, rounded
from streamgauge.studies.description import Mark

JUDGED = ("sustained", "not sustained", "undecided")


def rate_sweep(context: Context) -> list[Panel]:
    """For each engine: latency, CPU and heap against the rate, and every probe."""
    panels = [_panel(context, taken, n) for n, taken in enumerate(context.taken) if taken.has_result]
    return [*panels, Panel(tables=marks_table(context.exhibit.marks))]


def _panel(context: Context, taken: Taken, place: int) -> Panel:
    rates = [m for m in context.exhibit.marks if m.what.startswith(RATE) and m.variant == taken.variant]
    resources = {str(probe["directory"]): _resources(taken, probe) for probe in _probes(taken)}
    plots = []
    latency = _with_paper(taken, latency_against_value(taken.capacity) if _probes(taken) else None, rates)
    if latency is not None:
        plots.append(Plot(f"{context.id}-{place}-latency", "Latency", latency, _latency_words(taken)))
    for name, title, digits in (("cpu", "CPU of the engine (cores)", 2), ("heap", "Heap in use (MB)", 0)):
        points = [(probe, resources[str(probe["directory"])][name]) for probe in _probes(taken)]
        known = [(probe, levels) for probe, levels in points if levels is not None]
        if known:
            drawn = _levels(taken, known, title)
            words = _level_words(known, title, digits)
            plots.append(Plot(f"{context.id}-{place}-{name}", title, drawn, words, 17.0, wide=False))
    return Panel(
        title=f"{taken.title}: {headline(taken.capacity)[1]}" if taken.capacity else taken.title,
        verdict=taken.verdict,
        why=taken.why,
        plots=plots,
        tables=[_probe_table(taken, resources)] if taken.capacity.get("probes") else [],
    )


def _probes(taken: Taken) -> list[Mapping[str, Any]]:
    return [probe for probe in taken.capacity.get("probes") or () if probe["verdict"] in JUDGED]


Levels = tuple[float, float, float]


def _resources(taken: Taken, probe: Mapping[str, Any]) -> dict[str, Levels | None]:
    """Lowest, mean and highest in the measured interval of a probe."""
    source = taken.probe_source(probe)
    if source is None:
        return {"cpu": None, "heap": None}
    return {"cpu": _extent(source, engine_cpu), "heap": _extent(source, engine_heap_mb)}


def _extent(source: Source, series: Callable[[Source, int], list[Point]]) -> Levels | None:
    measured = next((phase for phase in source.phases if phase.name == "measured"), None)
    start_ns = source.outcome.get("load_start_ns")
    if measured is None or start_ns is None:
        return None
    return extent(within(series(source, start_ns), measured.from_s, measured.to_s))


def _with_paper(taken: Taken, drawn: Figure | None, marks: Sequence[Mark]) -> Figure | None:
    """The paper's rates as symbols along the foot of the figure."""
    if drawn is None or not marks or taken.capacity["over"] != "rate_per_s":
        return drawn
    layout = drawn["layout"]
    low, high = layout["yaxis"]["range"]
    foot = 10 ** (low + 0.05 * (high - low))
    values = [probe["value"] for probe in _probes(taken)] + [mark.value for mark in marks]
    axis = {**layout["xaxis"], **logarithmic(str(taken.capacity["unit"]), values)}
    shapes = [{**shape, "x1": 10 ** axis["range"][1]} for shape in layout["shapes"]]
    notes = [{**note, "y": 0.1} for note in layout["annotations"]]  # clear of the symbols
    traces = [*drawn["data"], *paper_marks([(mark, mark.value, foot) for mark in marks], paper_symbols(marks))]
    return {"data": traces, "layout": {**layout, "xaxis": axis, "shapes": shapes, "annotations": notes}}


def _levels(taken: Taken, known: Sequence[tuple[Mapping[str, Any], Levels]], title: str) -> Figure:
    """The mean of each probe, with a whisker from its lowest to its highest second."""
    last = {probe["value"]: (probe, levels) for probe, levels in known}
    shown = [last[value] for value in sorted(last)]
    means = [round(levels[1], 3) for _, levels in shown]
    trace = {
        "type": "scatter",
        "mode": "lines+markers",
        "name": "mean, lowest and highest",
        "x": [probe["value"] for probe, _ in shown],
        "y": means,
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [round(levels[2] - levels[1], 3) for _, levels in shown],
            "arrayminus": [round(levels[1] - levels[0], 3) for _, levels in shown],
            "color": "--s1",
            "thickness": 1.2,
        },
        "line": {"color": "--s1", "width": 1.8},
        "marker": {
            "color": "--s1",
            "size": 9,
            "symbol": ["circle" if probe["verdict"] == "sustained" else "x" for probe, _ in shown],
        },
        "hovertemplate": "%{y:,.5~g} at %{x:,}",
    }
    unit = str(taken.capacity["unit"])
    x_axis = logarithmic(unit, [probe["value"] for probe, _ in shown])
    shapes, notes = unsustainable(taken.capacity, [probe for probe, _ in shown], x_axis["range"])
    return figure([trace], x_axis, linear(title), shapes=shapes, annotations=notes, hovermode="closest")


def _latency_words(taken: Taken) -> str:
    shown = [p for p in _probes(taken) if p["total_p50"] is not None and p["verdict"] == "sustained"]
    best = max(shown, key=lambda p: float(p["value"]), default=None)
    said = f"{headline(taken.capacity)[1].capitalize()}."
    if best is not None:
        said += (
            f" At {number(best['value'])}: p50 {rounded(best['total_p50'])} ms, p99 {rounded(best['total_p99'])} ms."
        )
    return said + (
        " One marker per probe, of several at one rate the last; a cross was not sustained. Shaded: not sustained."
        " Open symbols at the foot are the rates that the paper's systems sustained on the paper's machines."
    )


def _level_words(known: Sequence[tuple[Mapping[str, Any], Levels]], title: str, digits: int) -> str:
    low = min(known, key=lambda one: float(one[0]["value"]))
    high = max(known, key=lambda one: float(one[0]["value"]))
    said = [f"{number(levels[1], digits)} at {number(probe['value'])}" for probe, levels in (low, high)]
    return f"{title}: mean {' and '.join(dict.fromkeys(said))}. Whiskers: lowest and highest second of the probe."


def _probe_table(taken: Taken, resources: Mapping[str, Mapping[str, Levels | None]]) -> Table:
    head = [str(taken.capacity.get("unit", "rate")), "purpose", "verdict", "p50, ms", "p99, ms"]
    head += ["CPU, cores: min / mean / max", "heap, MB: min / mean / max", "reason"]
    rows = []
    for probe in taken.capacity.get("probes") or ():
        used = resources.get(str(probe["directory"]), {})
        rows.append(
            Row(
                [
                    number(probe["value"]),
                    probe["purpose"],
                    probe["verdict"] + (" (weak)" if probe.get("weak") else ""),
                    number(probe["total_p50"], 1),
                    number(probe["total_p99"], 1),
                    _three(used.get("cpu"), 2),
                    _three(used.get("heap"), 0),
                    probe["reason"],
                ],
                muted=probe["verdict"] not in JUDGED or not taken.usable,
            )
        )
    return Table("Probes, in the order in which they ran (total latency)", head, rows, frozenset({0, 3, 4, 5, 6}))


def _three(levels: Levels | None, digits: int) -> str:
    return number(None) if levels is None else " / ".join(number(level, digits) for level in levels)
