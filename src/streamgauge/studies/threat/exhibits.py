"""The figures of throughput against cores, and of the failure of a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamgauge.model.summary import FaultFigures, Summary
from streamgauge.report.bars import Bar, BarSeries, bars
from streamgauge.report.draw import Figure, figure, line, linear, upright
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, unusable
from streamgauge.report.published import marks_table
from streamgauge.report.repeated import interval_words, mean_interval
from streamgauge.report.reproduction import ExperimentResult, figure_of
from streamgauge.report.text import number, rounded
from streamgauge.report.timeline import Series, lines, measured_interval, over_seconds, since_measured

CORES = "cores"
LOST = "lost.percent"
BACK_AT = "back_at_s"
MICRO_BATCHES = ("spark",)
"""Engines that work in micro-batches."""

_PER_MINUTE = "messages/min"


@dataclass(frozen=True)
class Measured:
    """One engine with some number of cores."""

    result: ExperimentResult
    per_minute: Sequence[float]
    """Of each VALID run."""

    @property
    def cores(self) -> int:
        return int(self.result.dimensions[CORES])

    @property
    def words(self) -> str:
        return f"{self.cores} {'core' if self.cores == 1 else 'cores'}"

    @property
    def mean(self) -> float:
        return mean_interval(self.per_minute)[0]


def parallelism(context: Context) -> list[Panel]:
    """Messages per minute of each engine against its cores, with 95 % intervals."""
    shown = [Measured(result, _per_minute(result)) for result in context.results if result.has_result]
    usable = [one for one in shown if one.per_minute]
    plots = [_against_cores(context, usable)] if usable else []
    rows = [
        Row(
            [
                str(one.cores),
                one.result.engine,
                interval_words(one.per_minute),
                number(len(one.per_minute)),
                one.result.verdict,
            ],
            not one.result.usable,
        )
        for one in shown
    ]
    head = ["cores", "engine", _PER_MINUTE, "runs", "verdict"]
    note = "Mean and its 95 % interval over the VALID runs, without an interval for a single run."
    table = Table("Throughput", head, rows, frozenset({0, 2, 3}), note)
    panels = [Panel(finding=_against_spark(usable), plots=plots, tables=[table])] if rows else []
    bad = unusable([one.result for one in shown])
    return [*panels, *bad, Panel(tables=marks_table(context.exhibit.marks))]


def _per_minute(result: ExperimentResult) -> list[float]:
    rates = [figure_of(summary, "processing.records_per_s") for summary in result.summaries if summary.valid]
    return [60 * rate for rate in rates if rate is not None]


def _against_cores(context: Context, usable: Sequence[Measured]) -> Plot:
    traces: list[Figure] = []
    words = []
    for engine in dict.fromkeys(one.result.engine for one in usable):
        of_engine = [one for one in usable if one.result.engine == engine]
        color = context.engine_color(engine)
        intervals = [mean_interval(one.per_minute) for one in of_engine]
        drawn = line(engine, [one.cores for one in of_engine], [round(mean) for mean, _ in intervals], color, "")
        whiskers = {"type": "data", "array": [half or 0.0 for _, half in intervals], "color": color, "thickness": 1.2}
        traces.append({**drawn, "mode": "lines+markers", "error_y": whiskers})
        words.append(f"{engine}: " + ", ".join(f"{one.words} {rounded(one.mean)}" for one in of_engine) + ".")
    x_axis = {"title": {"text": "cores"}, "dtick": 1, "rangemode": "tozero"}
    drawn_figure = figure(traces, x_axis, linear(_PER_MINUTE, rangemode="tozero"), hovermode="closest")
    caption = f"Mean messages per minute. {' '.join(words)} Whiskers: 95 % interval of the mean over the runs."
    return Plot(f"{context.id}-parallelism", "Messages per minute", drawn_figure, caption)


def _against_spark(usable: Sequence[Measured]) -> str:
    """The highest ratio to Spark with as many cores, for each other engine; empty if nothing can be compared."""
    spark = {one.cores: one.mean for one in usable if one.result.engine == "spark"}
    best: dict[str, tuple[float, str]] = {}
    for one in usable:
        if one.result.engine != "spark" and spark.get(one.cores):
            ratio = (one.mean / spark[one.cores], one.words)
            best[one.result.engine] = max(best.get(one.result.engine, ratio), ratio)
    here = ", ".join(f"{engine} {number(ratio, 1)} × ({words})" for engine, (ratio, words) in best.items())
    paper = "In the paper, Storm and Flink have up to 15 × the throughput of Spark Streaming."
    return f"{paper} Here, against spark with as many cores, at most: {here}." if here else ""


def native(context: Context) -> list[Panel]:
    """Messages per second over time of the systems that process record by record, and how they recovered."""
    shown = [result for result in context.results if result.has_result and result.engine not in MICRO_BATCHES]
    return [*_behaviour(context, shown), Panel(tables=marks_table(context.exhibit.marks))]


def micro_batches(context: Context) -> list[Panel]:
    """The same of systems with micro-batches, and the messages that every system lost."""
    shown = [result for result in context.results if result.has_result]
    behaviour = _behaviour(context, [result for result in shown if result.engine in MICRO_BATCHES])
    return [*behaviour, *_losses(context, shown), Panel(tables=marks_table(context.exhibit.marks))]


def _behaviour(context: Context, shown: Sequence[ExperimentResult]) -> list[Panel]:
    windows = [window for result in shown if (window := measured_interval(result)) is not None]
    timed = [result for result in shown if measured_interval(result) is not None]
    series: Series = {
        "sent": (lambda source: since_measured(source, "appended"), "dot"),
        "analysed": (lambda source: since_measured(source, "output"), "solid"),
    }
    length_s = max((to_s - from_s for from_s, to_s in windows), default=0.0)
    traces, words = lines(context, timed, series, "messages/s", lambda _: (0.0, length_s))
    plots = []
    if traces:
        moments = {fault.acted_s for result in timed for fault in _faults(result) if fault.acted_s is not None}
        upright_lines = [upright(moment_s, "--muted") for moment_s in sorted(moments)]
        since = "seconds since the start of the measured interval"
        drawn = over_seconds(traces, since, linear("messages/s"), upright_lines)
        caption = f"Vertical lines: the failure. Of several runs, the median one. {words}"
        plots.append(Plot(f"{context.id}-behaviour", "Messages per second", drawn, caption))
    rows = [
        Row(
            [result.engine, fault.fault, *_recovery(fault), _count(result, "duplicates"), result.verdict],
            not result.usable,
        )
        for result in shown
        for fault in _faults(result)
    ]
    head = ["engine", "fault", "worst outage, s", "caught up at, s", "duplicates", "verdict"]
    note = (
        "The worst outage is that of a single partition. Caught up: no more messages waited than before the failure; "
        "in seconds since the start of the measured interval."
    )
    tables = [Table("Recovery", head, rows, frozenset({2, 3, 4}), note)] if rows else []
    panels = [Panel(plots=plots, tables=tables)] if plots or tables else []
    return [*panels, *unusable(shown)]


def _recovery(fault: FaultFigures) -> tuple[str, str]:
    known = fault.acted_s is not None and fault.backlog_back_s is not None
    back_s = (fault.acted_s or 0.0) + (fault.backlog_back_s or 0.0) if known else None
    return number(fault.outage_worst_s, 1), number(back_s, 1)


def _losses(context: Context, shown: Sequence[ExperimentResult]) -> list[Panel]:
    """Also of runs that FAILED: a loss is what is looked for here."""
    lost = [
        (one, [_lost_percent(summary) for summary in one.summaries if summary.verdict != "INVALID"]) for one in shown
    ]
    lost = [(result, percents) for result, percents in lost if percents]
    if not lost:
        return []
    series = {
        result.engine: BarSeries(
            result.engine, [Bar("lost", mean_interval(percents)[0], interval_words(percents, 2), result.usable)]
        )
        for result, percents in lost
    }
    marks = [("lost", mark) for mark in context.marks(LOST)]
    here = ", ".join(f"{result.engine} {interval_words(percents, 2)} %" for result, percents in lost)
    theirs = ", ".join(f"{mark.system} {number(mark.value, 1)} %" for _, mark in marks)
    plot = Plot(
        f"{context.id}-lost",
        "Messages lost",
        bars(context, series, marks, "lost messages (%)", "%"),
        f"Sent − analysed, in per cent of the messages sent: {here}. The paper: {theirs}.",
    )
    rows = [
        Row(
            [
                result.engine,
                _count(result, "expected"),
                _count(result, "matched"),
                interval_words(percents, 2),
                number(len(percents)),
                result.verdict,
            ],
            not result.usable,
        )
        for result, percents in lost
    ]
    head = ["engine", "sent", "analysed", "lost, %", "runs", "verdict"]
    note = (
        "Sent and analysed are those of the median run, each message once. Lost: mean and its 95 % interval over all "
        "runs that are not INVALID."
    )
    return [Panel(plots=[plot], tables=[Table("Messages lost", head, rows, frozenset({1, 2, 3, 4}), note)])]


def _lost_percent(summary: Summary) -> float:
    """Messages without any result, in per cent of those that should have one."""
    results = summary.results
    missing = (results.get("lost") or 0) + (results.get("unfinished") or 0)
    return 100 * missing / (results.get("expected") or 1)


def _count(result: ExperimentResult, name: str) -> str:
    return number(result.value(f"results.{name}"))


def _faults(result: ExperimentResult) -> Sequence[FaultFigures]:
    return () if result.summary is None else result.summary.faults
