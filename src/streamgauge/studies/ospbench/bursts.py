"""The figures of bursts over time, engines side by side: a single burst to catch up with, and periodic bursts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamgauge.model import NS_PER_S
from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.model.summary import BurstFigures, OneBurst
from streamgauge.report.draw import Figure, key, linear, upright
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, unusable
from streamgauge.report.published import mark_traces, marks_table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.source import Source
from streamgauge.report.text import NONE, number
from streamgauge.report.timeline import (
    Point,
    Series,
    engine_cpu,
    engine_heap_mb,
    latency_axis,
    lines,
    measured_interval,
    over_seconds,
    per_second,
)
from streamgauge.studies.ospbench.numbers import CAUGHT_UP

SINGLE_SHOWN_S = 180.0
"""The paper shows three minutes of a single burst and the last minute of periodic ones."""
PERIODIC_SHOWN_S = 60.0
NO_FIGURES = BurstFigures(kind="single")


def single_burst(context: Context) -> list[Panel]:
    """Output per second, CPU and heap since the start of each engine."""
    shown = [result for result in context.results if result.source is not None]
    timed = [result for result in shown if _knows_its_start(result.source)]
    times = context.marks(CAUGHT_UP)
    shown_s = max([SINGLE_SHOWN_S, *(1.05 * mark.value for mark in times)])
    since = "seconds since the engine started"
    figures: Mapping[str, tuple[str, str, Series]] = {
        "output": ("Results per second", "results/s", {"": (_output_since_start, "solid")}),
        "cpu": ("CPU of the engine", "cores", {"": (lambda source: engine_cpu(source, _start_ns(source)), "solid")}),
        "heap": ("Heap in use", "MB", {"": (lambda source: engine_heap_mb(source, _start_ns(source)), "solid")}),
    }
    shapes, keys = _moments(context, timed)
    plots = []
    for name, (title, unit, series) in figures.items():
        traces, caption = lines(context, timed, series, unit, lambda result: (0.0, shown_s))
        if not traces:
            continue
        wide = name == "output"
        if wide:
            traces += mark_traces(context, [(mark, mark.value, 0.0) for mark in times])
            caption = f"{_single_caption(timed)} Open symbols: when the paper's systems caught up. {caption}"
        drawn = over_seconds([*traces, *(keys if wide else [])], since, linear(unit), shapes)
        plots.append(Plot(f"{context.id}-{name}", title, drawn, caption, 21.0 if wide else 17.0, wide))
    together = [Panel(plots=plots, tables=[_single_table(shown)])] if shown else []
    return [*together, *unusable(shown), Panel(tables=marks_table(context.exhibit.marks))]


def _single_caption(shown: Sequence[ExperimentResult]) -> str:
    return " ".join(
        f"{result.engine}: first output {_seconds(_burst(result).first_output_s)}, caught up "
        f"{_seconds(_burst(result).caught_up_s)} after it was started, with "
        f"{number(_burst(result).records)} records waiting."
        for result in shown
    )


def _moments(context: Context, shown: Sequence[ExperimentResult]) -> tuple[list[Figure], list[Figure]]:
    """Vertical lines in each engine's colour, and what the legend calls them: its first output, and caught up."""
    shapes: list[Figure] = []
    keys: list[Figure] = []
    for result in shown:
        burst = _burst(result)
        for x, words in ((burst.first_output_s, "first output"), (burst.caught_up_s, "caught up")):
            if x is not None:
                shapes.append(upright(x, context.color(result)))
                keys.append(key(f"{result.engine} {words} {_seconds(x)}", context.color(result)))
    return shapes, keys


def _single_table(shown: Sequence[ExperimentResult]) -> Table:
    rows = [
        Row(
            [
                result.engine,
                number(_burst(result).records),
                _seconds(_burst(result).first_output_s),
                _seconds(_burst(result).caught_up_s),
                result.verdict,
            ],
            not result.usable,
        )
        for result in shown
    ]
    head = ["engine", "records waiting", "first output", "caught up", "verdict"]
    return Table("Single burst", head, rows, frozenset({1, 2, 3}))


def periodic_burst(context: Context) -> list[Panel]:
    """Rates, latency, CPU and heap in the last minute of the measured interval; then each engine's bursts."""
    shown = [result for result in context.results if result.source is not None]
    timed = [result for result in shown if measured_interval(result) is not None]
    kind = context.study.latency
    figures: Mapping[str, tuple[str, str, Series]] = {
        "rates": (
            "Records per second",
            "records/s",
            {"input": (lambda s: per_second(s, "appended"), "dot"), "output": (_output, "solid")},
        ),
        "latency": (
            f"{LATENCY_NAMES[kind].capitalize()} per second",
            "ms",
            {
                "p50": (lambda s: per_second(s, f"{kind}_p50"), "solid"),
                "p99": (lambda s: per_second(s, f"{kind}_p99"), "dash"),
            },
        ),
        "cpu": ("CPU of the engine", "cores", {"": (lambda s: engine_cpu(s, s.load_start_ns), "solid")}),
        "heap": ("Heap in use", "MB", {"": (lambda s: engine_heap_mb(s, s.load_start_ns), "solid")}),
    }
    plots = []
    for name, (title, unit, series) in figures.items():
        traces, caption = lines(context, timed, series, unit, _last_minute)
        if not traces:
            continue
        y_axis = latency_axis(traces) if name == "latency" else linear(unit)
        drawn = over_seconds(traces, "seconds since the load started", y_axis, _burst_lines(timed))
        plots.append(Plot(f"{context.id}-{name}", title, drawn, caption, 19.0, wide=False))
    together = [Panel(plots=plots, tables=[_periodic_table(shown)])] if shown else []
    own = [Panel(result.title, result.verdict, result.why, tables=[_burst_table(result)]) for result in shown]
    return [*together, *own, Panel(tables=marks_table(context.exhibit.marks))]


def _last_minute(result: ExperimentResult) -> tuple[float, float]:
    measured = measured_interval(result)
    assert measured is not None
    from_s, to_s = measured
    return max(from_s, to_s - PERIODIC_SHOWN_S), to_s


def _burst_lines(shown: Sequence[ExperimentResult]) -> list[Figure]:
    """The starts of the bursts: the same on every engine, because all get the same plan."""
    for result in shown:
        from_s, to_s = _last_minute(result)
        inside = [one for one in _bursts(result) if from_s <= one.start_s <= to_s]
        if inside:
            return [upright(one.start_s, "--muted") for one in inside]
    return []


def _periodic_table(shown: Sequence[ExperimentResult]) -> Table:
    rows = [
        Row(
            [
                result.engine,
                number(len(_bursts(result))),
                number(_burst(result).wide),
                number(_burst(result).p99_peak_ms, 1),
                number(_burst(result).elevated_s, 1),
                number(None if result.summary is None else result.summary.results.get("inputs_per_result"), 2),
                result.verdict,
            ],
            not result.usable,
        )
        for result in shown
    ]
    head = ["engine", "bursts", "wide", "p99 peak, ms", "elevated for, s", "inputs per result", "verdict"]
    note = (
        "Peak and elevated time: of the end-to-end latency, the median over the bursts. A wide burst took longer to "
        "send than planned."
    )
    return Table("Bursts, engine by engine", head, rows, frozenset(range(1, 6)), note)


def _burst_table(result: ExperimentResult) -> Table:
    head = ["burst at, s", "width, ms", "wide", "p50 before, ms", "p50 peak, ms", "p99 peak, ms", "elevated for, s"]
    rows = [
        Row(
            [
                number(one.start_s, 1),
                number(one.width_ms, 1),
                "yes" if one.wide else "no",
                *(number(value, 1) for value in (one.p50_before_ms, one.p50_peak_ms, one.p99_peak_ms, one.elevated_s)),
            ],
            not result.usable,
        )
        for one in _bursts(result)
    ]
    return Table("Bursts", head, rows, frozenset({0, 1, 3, 4, 5, 6}), "End-to-end latencies.")


def _burst(result: ExperimentResult) -> BurstFigures:
    """Empty if the run has none."""
    return (result.summary and result.summary.burst) or NO_FIGURES


def _bursts(result: ExperimentResult) -> Sequence[OneBurst]:
    return _burst(result).bursts


def _knows_its_start(source: Source | None) -> bool:
    return source is not None and source.load_started and source.outcome.engine_start_ns is not None


def _start_ns(source: Source) -> int:
    """The start of the engine."""
    assert source.outcome.engine_start_ns is not None
    return source.outcome.engine_start_ns


def _output(source: Source) -> list[Point]:
    return per_second(source, "output")


def _output_since_start(source: Source) -> list[Point]:
    shift_s = (_start_ns(source) - source.load_start_ns) / NS_PER_S
    return [(second - shift_s, value) for second, value in _output(source)]


def _seconds(value: float | None) -> str:
    return NONE if value is None else f"{number(value, 1)} s"
