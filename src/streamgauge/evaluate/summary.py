"""Puts the figures of a run together: summary.json and the tables that the report draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import burst, heatmap, latency, throughput
from streamgauge.evaluate.metrics.arrival import Shortfall
from streamgauge.evaluate.metrics.clock import Bound
from streamgauge.evaluate.metrics.generator import Generator
from streamgauge.evaluate.metrics.latency import EMPTY, KINDS, PROCESSING_TIME, Distribution
from streamgauge.evaluate.metrics.throughput import Stamps
from streamgauge.evaluate.metrics.trend import NO_SERIES, Series
from streamgauge.evaluate.tally import MATCHED, Floats, Ints, Tally
from streamgauge.evaluate.verdict import Decision
from streamgauge.model import NS_PER_S
from streamgauge.model.summary import (
    FORMAT,
    Backlog,
    ClockFigures,
    EngineUsed,
    GeneratorFigures,
    Rates,
    ScriptUsed,
    State,
    Summary,
    Trend,
)
from streamgauge.rundir import RunDir

DECIMALS = 3


@dataclass(frozen=True)
class OverTime:
    """What the tables for the report show of each second."""

    latencies: Mapping[str, Mapping[str, Sequence[float | None]]]
    """By kind: ``p50``, ``p99``, ``max``."""
    p99_window: Mapping[str, Sequence[float | None]]
    """By kind: of the window that each second lies in."""
    window_s: int
    heatmap: Mapping[str, Mapping[str, Ints]]
    """By kind: see ``heatmap.per_second``."""


@dataclass(frozen=True)
class Figures:
    """All that was found out about a run whose load ran."""

    tally: Tally
    results: Mapping[str, int]
    latencies: Mapping[str, Distribution]
    total_known: bool
    latest_known: bool
    generator: Generator
    stamps: Stamps
    shortfall: Shortfall | None
    """Of what arrived against what was offered."""
    backlog: Floats
    backlog_end: int
    backlog_measured: Series
    """The mean backlog of each second of the measured interval; empty where nothing was recorded."""
    waiting_measured: Series
    """The same in seconds of load, for the seconds in which load was offered."""
    medians_measured: Series
    """The median latency of each second of the measured interval: ``total``, or ``latest`` where that is not known."""
    clock_step_ms: float | None
    transport_bound: Bound | None
    working_ns: tuple[int, int]
    """See ``resources.working_ns``."""
    resources: Mapping[str, Mapping[str, float | None]]
    burst: burst.Bursts | None
    over_time: OverTime | None = None
    """Where the tally has no seconds."""
    queued_measured: Series = NO_SERIES
    """Of each second of the measured interval: seconds of load in the queues of the transport, if it has any."""

    @property
    def kind(self) -> str:
        """The latency by which the run is judged."""
        return "total" if self.total_known else "latest"

    @property
    def unknown_kinds(self) -> frozenset[str]:
        """Latencies between moments of two clocks that do not agree."""
        unknown = () if self.total_known else ("total", "generator_share")
        of_transport = ("latest", "average", "arrival", "generator_share")
        return frozenset(unknown if self.latest_known else (*unknown, *of_transport))


def summarize(
    facts: Facts,
    figures: Figures | None,
    results: Mapping[str, int],
    decision: Decision,
    state: State | None,
    state_reason: str | None,
    sustained: bool | None,
    warnings: list[str],
    script: ScriptUsed | None = None,
    *,
    validated: bool = True,
    counted: bool = True,
) -> Summary:
    """The same for the same run directory. ``counted``: it is known how many results there must be."""
    scenario, engine = facts.scenario, facts.manifest.engine
    return Summary(
        format=FORMAT,
        run=facts.manifest.run,
        study=scenario.study,
        scenario=scenario.name,
        profile=scenario.profile,
        engine=EngineUsed(name=engine.name, version=engine.version, options=engine.options),
        script=script,
        verdict=decision.verdict.value,
        validated=validated,
        state=state,
        state_reason=state_reason,
        sustained=sustained,
        closed_loop=not facts.plan.scheduled,
        interrupted=facts.outcome.interrupted,
        reasons=list(decision.reasons),
        warnings=warnings,
        results=_results(results, figures, counted),
        latency_ms=_latencies(figures),
        rate_per_s=_rates(figures, facts.moments),
        generator=_generator(figures),
        backlog=_backlog(figures),
        trend=_trend(figures),
        burst=figures.burst.figures() if figures is not None and figures.burst is not None else None,
        clock=_clock(figures),
        resources={} if figures is None else {k: rounded(v) for k, v in figures.resources.items()},
        repetitions=[],
        slo=[],
        report="report.html",
    )


def _results(counts: Mapping[str, int], figures: Figures | None, counted: bool) -> dict[str, Any]:
    results = {**counts, "inputs_per_result": _inputs_per_result(figures)}
    return results if counted else dict.fromkeys(results)


def _inputs_per_result(figures: Figures | None) -> float | None:
    if figures is None:
        return None
    tally = figures.tally
    matched = tally.expected & (tally.fate == MATCHED)
    results = int(tally.rows[matched].sum())
    return _round(tally.inputs[matched].sum() / results) if results else None


def _latencies(figures: Figures | None) -> dict[str, Any]:
    latencies = dict.fromkeys((*KINDS, "generator_share"), EMPTY)
    if figures is not None:
        latencies |= figures.latencies
    shown = {kind: rounded(distribution.figures()) for kind, distribution in latencies.items()}
    shown["arrival"] = {"mean": None if figures is None else _rounded(arrival_mean_ms(figures.tally))}
    for kind in figures.unknown_kinds if figures is not None else ():
        shown[kind] = dict.fromkeys(shown[kind], None)
    if figures is not None and figures.transport_bound is not None and not figures.transport_bound.agrees:
        # A lower bound is between the end of the drain, by this machine's clock, and a stamp of the transport's.
        for kind in ("latest", "average"):
            shown[kind] = {name: value for name, value in shown[kind].items() if not name.endswith("_at_least")}
    return shown


def arrival_mean_ms(tally: Tally) -> float | None:
    """The mean over input records of emitted − appended; None where results are missing."""
    if tally.censored.any():
        return None
    inputs = int(tally.inputs[tally.timed].sum())
    return float((tally.average_ms * tally.inputs)[tally.timed].sum()) / inputs if inputs else None


def _rates(figures: Figures | None, moments: Moments | None) -> Rates:
    if figures is None or moments is None or not moments.observed_s:
        return Rates(offered=0.0, achieved=0.0, worst_second=0.0, appended=0.0, output=0.0)
    seconds = moments.observed_s
    return Rates(
        offered=_round(figures.generator.offered / seconds),
        achieved=_round(figures.generator.sent / seconds),
        worst_second=_rounded(figures.generator.worst_second),
        appended=_round(figures.stamps.appended_measured / seconds),
        output=_round(figures.stamps.output_measured / seconds),
    )


def _generator(figures: Figures | None) -> GeneratorFigures:
    if figures is None:
        late = ("late_p50_ms", "late_p99_ms", "late_max_ms", "late_p99_limit_ms", "late_max_limit_ms")
        return GeneratorFigures.model_validate({**dict.fromkeys(late), "errors": 0})
    distribution = figures.generator.late_ms
    return GeneratorFigures(
        late_p50_ms=_rounded(distribution.percentile(500)),
        late_p99_ms=_rounded(distribution.percentile(990)),
        late_max_ms=_rounded(distribution.max),
        late_p99_limit_ms=_rounded(figures.generator.often_limit_ms),
        late_max_limit_ms=_rounded(figures.generator.late_limit_ms),
        errors=_rounded(figures.generator.errors),
    )


def _backlog(figures: Figures | None) -> Backlog:
    slope = figures.backlog_measured.slope() if figures else None
    share = figures.waiting_measured.slope() if figures else None
    return Backlog(
        end=figures.backlog_end if figures else 0,
        slope_per_s=_round(slope.per_s) if slope else None,
        slope_ci=(_round(slope.low), _round(slope.high)) if slope else None,
        slope_percent=_round(100 * share.per_s) if share else None,
        slope_percent_ci=(_round(100 * share.low), _round(100 * share.high)) if share else None,
    )


def _trend(figures: Figures | None) -> Trend:
    slope = figures.medians_measured.slope() if figures is not None and figures.total_known else None
    return Trend(
        total_ms_per_s=_round(slope.per_s) if slope else None,
        total_ci=(_round(slope.low), _round(slope.high)) if slope else None,
    )


def _clock(figures: Figures | None) -> ClockFigures:
    bound = figures and figures.transport_bound
    return ClockFigures(
        step_max_ms=_rounded(figures.clock_step_ms) if figures else None,
        broker_offset_ms=(_round(bound.low_ms), _round(bound.high_ms)) if bound else None,
    )


def write_measures(run: RunDir, facts: Facts, figures: Figures, moments: Moments) -> None:
    """measures/seconds.parquet, measures/latency.parquet and measures/heatmap.parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    shown = figures.over_time or _over_time(figures, moments)
    unknown = [None] * moments.seconds
    by_second = {
        f"{kind}_{name}": unknown if kind in figures.unknown_kinds else column
        for kind, columns in shown.latencies.items()
        for name, column in columns.items()
    }
    by_second |= {
        f"{kind}_p99_window": unknown if kind in figures.unknown_kinds else column
        for kind, column in shown.p99_window.items()
    }
    seconds = pa.table(
        {
            "second": pa.array(range(moments.seconds), pa.int32()),
            "phase": [_phase(second, moments) for second in range(moments.seconds)],
            "offered": throughput.offered_per_second(facts, moments),
            "sent": figures.generator.sent_per_second,
            "appended": figures.stamps.appended_per_second,
            "output": figures.stamps.output_per_second,
            "late_max_ms": pa.array(figures.generator.late_max_per_second, pa.float64()),
            **{name: pa.array(column, pa.float64()) for name, column in by_second.items()},
            "backlog": figures.backlog,
            **_at_the_queues(figures.stamps),
            "window_s": pa.array([shown.window_s] * moments.seconds, pa.int32()),
        }
    )
    kinds = [kind for kind in _kinds(figures) if kind not in figures.unknown_kinds]
    distinct = [figures.latencies[kind] for kind in kinds]
    samples = pa.table(
        {
            "kind": [kind for kind, d in zip(kinds, distinct, strict=True) for _ in d.values],
            "value_ms": pa.array([value for d in distinct for value in d.values.tolist()], pa.float64()),
            "count": pa.array([count for d in distinct for count in d.counts.tolist()], pa.int64()),
        },
        schema=pa.schema({"kind": pa.string(), "value_ms": pa.float64(), "count": pa.int64()}),
    )
    spread = shown.heatmap[figures.kind]
    buckets = pa.table({"kind": pa.array([figures.kind] * len(spread["second"]), pa.string()), **spread})
    for name, table in (("seconds", seconds), ("latency", samples), ("heatmap", buckets)):
        path = run.measures(name)
        path.parent.mkdir(exist_ok=True)
        pq.write_table(table, path)


def _over_time(figures: Figures, moments: Moments) -> OverTime:
    tally, kinds = figures.tally, ("total", "latest")
    over_seconds = [kind for kind in _kinds(figures) if kind != "average"]
    from_s, to_s = (
        (moment_ns - moments.load_start_ns) // NS_PER_S
        for moment_ns in (moments.measured_start_ns, moments.measured_end_ns)
    )
    window_s = latency.window_s(tally, from_s, to_s)
    known = figures.kind not in figures.unknown_kinds
    return OverTime(
        latencies={kind: latency.per_second(tally, kind, moments.seconds) for kind in over_seconds},
        p99_window={
            kind: latency.p99_by_window(tally, kind, moments.seconds, from_s, to_s, window_s) for kind in kinds
        },
        window_s=window_s,
        heatmap={figures.kind: heatmap.per_second(tally, figures.kind, moments.seconds if known else 0)},
    )


def _kinds(figures: Figures) -> list[str]:
    """Latencies between two moments, as far as they were measured."""
    return [*KINDS, *([PROCESSING_TIME] if PROCESSING_TIME in figures.latencies else [])]


def _at_the_queues(stamps: Stamps) -> dict[str, Any]:
    """What was handed over in each second, and the mean number of records that were waiting for that."""
    if (queued := stamps.queued_level) is None:
        return {}
    return {"ingested": stamps.ingested_per_second, "queued": np.round(queued, DECIMALS)}


def _phase(second: int, moments: Moments) -> str:
    moment_ns = moments.load_start_ns + second * NS_PER_S
    for name, end_ns in (
        ("warmup", moments.measured_start_ns),
        ("measured", moments.measured_end_ns),
        ("tail", moments.load_end_ns),
    ):
        if moment_ns < end_ns:
            return name
    return "drain"


def rounded(values: Mapping[str, float | int | None]) -> dict[str, Any]:
    return {name: _rounded(value) for name, value in values.items()}


def _rounded(value: float | None) -> float | None:
    """A whole number stays one."""
    return value if value is None or isinstance(value, int) else _round(value)


def _round(value: float) -> float:
    return round(float(value), DECIMALS)
