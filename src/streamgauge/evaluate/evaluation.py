"""From a run directory to its summary: reads, matches, measures, judges, writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from streamgauge.evaluate import calibration, durability, own, queries, slo, verdict
from streamgauge.evaluate import state as run_state
from streamgauge.evaluate import visible as visibility
from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import (
    arrival,
    burst,
    clock,
    consumed,
    generator,
    lag,
    latency,
    nodes,
    processing,
    recovery,
    resolution,
    resources,
    throughput,
)
from streamgauge.evaluate.metrics.generator import Ledger, LedgerProblem
from streamgauge.evaluate.metrics.trend import NO_SERIES, Series
from streamgauge.evaluate.record import check_recorded
from streamgauge.evaluate.recorded import is_recorded
from streamgauge.evaluate.slices.whole import Whole, slice_reasons
from streamgauge.evaluate.summary import Figures, rounded, summarize, write_measures
from streamgauge.evaluate.tally import PARTITIONS_MAX, Tally, results, wrong_after_fault
from streamgauge.evaluate.visible import Visible
from streamgauge.model import TRANSPORT_GROUP, ResultKind
from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.model.samples import ClockSample, MachineSample, PositionsSample, ResourceSample
from streamgauge.model.summary import Summary
from streamgauge.notices import Notice, notice
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = Callable[[str], None]


def needs_spark(run: RunDir) -> bool:
    """Whether there are results to match: the load started, and every stream was recorded."""
    facts = Facts.read(run)
    return _has_records(run, facts) and facts.workload.kind is not ResultKind.NONE


def _has_records(run: RunDir, facts: Facts) -> bool:
    return facts.moments is not None and is_recorded(run, facts.streams)


def evaluate_without_spark(run: RunDir) -> Summary:
    """Summary of a run without results to match: the verdict, and whatever else its files contain."""
    facts = Facts.read(run)
    if facts.scenario.slice_s and facts.moments is not None:
        whole = Whole.read(run, facts, facts.moments)
        return _evaluate(run, whole.facts, whole.tally, recorded=bool(whole.slices), whole=whole)
    recorded = _has_records(run, facts)
    if recorded:
        check_recorded(run, facts)
    return _evaluate(run, facts, Tally.empty(), recorded=recorded)


def evaluate(
    spark: SparkSession | Callable[[], SparkSession],
    run: RunDir,
    progress: Progress = lambda text: None,
) -> Summary:
    """Write measures and summary of a run; returns the summary. Spark is asked for only when it is needed."""
    if not needs_spark(run):
        return evaluate_without_spark(run)
    from streamgauge.evaluate.match import match

    facts = Facts.read(run)
    check_recorded(run, facts)
    visible = Visible.read(run, facts)
    progress("waiting for Spark")
    session = spark() if callable(spark) else spark
    rows = throughput.rows_recorded(run, facts)
    progress(f"matching {sum(rows.values()):,} records")
    with own.workload_of(run, facts, session) as workload:
        table = match(session, run, facts, workload, sum(rows.values()), visible)
    outputs = sum(rows[stream.name] for stream in facts.outputs)
    if visible is not None:
        outputs = throughput.rows_visible(run, facts, visible)
    if not own.is_counted(run, facts, own.describe(run, facts)):
        table, outputs = own.answered(table), 0
    progress("computing figures")
    quiet = facts.outcome.drain == "quiet"
    tally = Tally.of(table, quiet=quiet, outputs=outputs, running=facts.workload.kind is ResultKind.RUNNING)
    return _evaluate(run, facts, tally, recorded=True)


def _evaluate(run: RunDir, facts: Facts, tally: Tally, *, recorded: bool, whole: Whole | None = None) -> Summary:
    """``whole``: the slices of a run that was evaluated while it went on."""
    invalid = [*_doubts(facts), *recovery.reasons(facts)]
    warnings = [*recovery.warnings(facts), *nodes.idle_warnings(facts, run.samples(ResourceSample))]
    warnings += _environment_warnings(facts)
    figures: Figures | None = None
    exactness: dict[str, resolution.Resolution] | None = None
    visible = Visible.read(run, facts)
    script = own.describe(run, facts)
    validated, counted = own.is_validated(run, facts, script), own.is_counted(run, facts, script)
    if facts.moments is not None:
        if whole is None:
            ledger, ledger_problem = _ledger(run)
            figures = _measure(run, facts, facts.moments, tally, ledger, visible, recorded=recorded)
        else:
            ledger_problem = None if whole.slices else notice("no-ledger")
            figures = whole.figures(facts.moments)
            invalid += slice_reasons(facts.moments, whole)
        if recorded and whole is None:
            unseen, hidden = visibility.findings(run, facts, visible)
            invalid, warnings = invalid + unseen, warnings + hidden
        if visible is not None:
            warnings += visible.warnings(facts.moments)
        if figures.stamps.never_visible:
            invalid.append(notice("never-visible", count=figures.stamps.never_visible))
        figures = consumed.with_unanswered_inputs(run, facts, facts.moments, figures, validated=counted)
        if not validated:
            warnings += own.warnings(facts, figures)
        if recorded and facts.workload.kind is ResultKind.NONE and not consumed.is_reported(run):
            invalid.append(notice("consumption-unknown"))
        if ledger_problem is None:
            invalid += generator.reasons(figures.generator, facts.moments)
            warnings += generator.warnings(figures.generator)
            if figures.shortfall is not None:
                invalid += figures.shortfall.reasons()
                warnings += figures.shortfall.warnings()
        elif facts.moments.cut_short:
            warnings.append(ledger_problem)
        else:
            invalid.append(ledger_problem)
        if figures.burst is not None:
            invalid += figures.burst.reasons()
            warnings += figures.burst.warnings()
        invalid += _clock_reasons(facts, figures)
        warnings += _warnings(run, facts, facts.moments, figures)
        visible_ms = None if visible is None else visible.resolution_ms(facts.moments)
        exactness = resolution.measure(figures.transport_bound, visible_ms)
        warnings += resolution.warnings(
            exactness, figures.latencies, figures.unknown_kinds, facts.transport.server_noun
        )
    # A run that was given up, or whose engine died, may lack its recorded streams.
    unrecorded = figures is not None and not recorded and whole is None
    if unrecorded and not facts.ended("engine") and not facts.outcome.hopeless:
        invalid.append(notice("not-recorded", streams=f"{facts.transport.stream_noun}s"))
    counts = figures.results if figures is not None else results(tally)
    if tally.repeated_keys:
        invalid.append(notice("reference-not-unique", count=tally.repeated_keys))
    engine = facts.manifest.engine
    recounted = wrong_after_fault(tally) if engine.recounts_after_failure else 0
    unexpected_recounted = tally.unexpected_after_fault if recounted else 0
    failed = verdict.failures(counts, engine.delivery, facts.ended("engine"), recounted, unexpected_recounted)
    warnings += verdict.recounting_warnings(counts, recounted)
    last_output_ms = None
    if figures is not None and recorded:
        last_output_ms = _by_own_clock(figures.stamps.last_output_ms, figures, visible)
    faults = recovery.measure(facts, facts.moments, _recovery(facts, figures, visible) if recorded else None)
    # A system that fell silent is one finding, whether or not a fault made it so.
    unconsumed_s = None if facts.outputs else consumed.silent_s(run.samples(PositionsSample))
    silent = recovery.failures(faults, counts["unfinished"]) or verdict.silence(
        facts, counts, last_output_ms, unconsumed_s
    )
    failed += silent
    if counts["unfinished"] and not silent:
        warnings.append(verdict.unfinished_warning(counts))
        if sum(stream.partitions for stream in facts.inputs) > PARTITIONS_MAX:
            warnings.append(notice("many-partitions", most=PARTITIONS_MAX))
    warnings += [*recovery.baseline_warnings(faults), *recovery.silent_warnings(faults)]
    state, state_reason, finding = run_state.judge(facts, figures, counted)
    if finding.why:
        warnings.append(finding.why)
    warnings += finding.notes
    if state == "drifting":
        warnings += run_state.drift_warnings(facts, figures, state_reason)
    processed = None if figures is None else _processing(run, facts, figures, visible, recorded=recorded)
    if processed is not None:
        invalid += recovery.reasons_by_end(facts, processed.end_ms, missing=counts["lost"] + counts["unfinished"])
        warnings += processed.warnings(facts.transport.server_noun)
    decision = verdict.decide(invalid, failed)
    noted = [*facts.manifest.warnings, *facts.outcome.warnings]
    summary = summarize(
        facts,
        figures,
        counts,
        decision,
        state,
        state_reason,
        finding.held,
        [*noted, *warnings],
        script,
        validated=validated,
        counted=counted,
    )
    more: dict[str, Any] = {}
    if exactness is not None:
        more["resolution_ms"] = resolution.figures(exactness)
    if visible is not None and facts.moments is not None:
        more["visible_resolution_ms"] = rounded(visible.resolution_ms(facts.moments))
    if faults:
        more["faults"] = faults
        more["guarantee"] = recovery.guarantee(facts, counts) if recorded and validated else None
    if facts.moments is not None and (measured := nodes.measure(facts, facts.moments, run.samples(ResourceSample))):
        more["nodes"] = measured
    if processed is not None:
        more["processing"] = rounded(processed.figures())
    if whole is not None and facts.moments is not None:
        more["durability"] = durability.measure(run, facts, facts.moments, whole, counts).as_json()
    if recorded and whole is None and facts.moments is not None:
        more |= {"queries": found} if (found := queries.measure(run, facts, facts.moments)) else {}
    known = summary.with_changes(**more).as_json()
    summary = summary.with_changes(**more, slo=[slo.judge(slo.parse(text), known) for text in facts.scenario.slo])
    if figures is not None and facts.moments is not None:
        write_measures(run, facts, figures, facts.moments)
    run.write_summary(summary)
    return summary


def _doubts(facts: Facts) -> list[Notice]:
    """Why the outcome alone makes the run INVALID. An engine that died explains most of it."""
    outcome = facts.outcome
    invalid: list[Notice] = []
    if outcome.interrupted:
        invalid.append(notice("interrupted"))
    if outcome.load_error:
        invalid.append(notice("load-failed", error=outcome.load_error))
    invalid += [
        notice("bystander-died", role=process.role, message=f" ({process.message})" if process.message else "")
        for process in facts.ended(TRANSPORT_GROUP, "load")
        if not (process.group == "load" and outcome.load_error)
    ]
    if facts.moments is None and not invalid and not facts.ended("engine"):
        invalid.append(notice("load-never-started"))
    return invalid


def _ledger(run: RunDir) -> tuple[Ledger, Notice | None]:
    try:
        return Ledger.read(run), None
    except LedgerProblem as problem:
        return Ledger.empty(), problem.notice


def _measure(
    run: RunDir,
    facts: Facts,
    moments: Moments,
    tally: Tally,
    ledger: Ledger,
    visible: Visible | None,
    *,
    recorded: bool,
) -> Figures:
    kind_of_results = facts.workload.kind
    stamps = (
        throughput.read_stamps(run, facts, moments, ledger.acked_n, visible)
        if recorded
        else throughput.no_stamps(moments, ledger.acked_n)
    )
    bound = clock.transport_bound(ledger, stamps.probe_appended_ms)
    one_clock = bound is None or bound.agrees
    # What the transport stamped goes with the input's arrival, what this machine stamped with the intended moment.
    total_known, latest_known = one_clock or visible is not None, one_clock or visible is None
    latencies = latency.distributions(tally)
    kind = "total" if total_known else "latest"
    median_ms = latencies[kind].median
    if median_ms is None:
        # A run that was given up is not evaluated; its lag has to do.
        median_ms = facts.outcome.hopeless_latency_ms
    backlog = lag.backlog_per_second(tally, moments.seconds)
    backlog_measured = Series.of(backlog, moments.measured_seconds()) if recorded else NO_SERIES
    medians = latency.medians_ms(tally, kind, tally.second, moments.seconds)
    medians_measured = Series.of(medians, moments.measured_seconds())
    sending = generator.measure(ledger, facts, moments, median_ms)
    working_ns = resources.working_ns(facts, moments, stamps.last_output_ms)
    return Figures(
        tally=tally,
        results=consumed.results(run, facts) if recorded and kind_of_results is ResultKind.NONE else results(tally),
        latencies=latencies,
        total_known=total_known,
        latest_known=latest_known,
        generator=sending,
        stamps=stamps,
        shortfall=arrival.measure(facts, moments, sending, stamps, bound.ahead_ms if bound else 0.0)
        if recorded
        else None,
        backlog=backlog,
        backlog_end=lag.backlog_at_end(tally),
        backlog_measured=backlog_measured,
        waiting_measured=throughput.in_seconds_of_load(backlog_measured, facts, moments),
        medians_measured=medians_measured,
        queued_measured=NO_SERIES
        if stamps.queued_level is None
        else throughput.in_seconds_of_load(Series.of(stamps.queued_level, moments.measured_seconds()), facts, moments),
        clock_step_ms=clock.largest_step_ms(run.samples(ClockSample), moments),
        transport_bound=bound,
        working_ns=working_ns,
        resources=resources.by_group(resources.within(run.samples(ResourceSample), working_ns)),
        burst=burst.measure(facts, moments, tally, ledger, stamps, kind) if recorded else None,
    )


def _processing(
    run: RunDir, facts: Facts, figures: Figures, visible: Visible | None, *, recorded: bool
) -> processing.Processing | None:
    if not recorded:
        return None
    first_ms, last_ms = (_by_own_clock(moment, figures, visible) for moment in figures.stamps.first_and_last_ms)
    return processing.measure(run, facts, processing.Seen.of(run, facts, figures, first_ms, last_ms))


def _clock_reasons(facts: Facts, figures: Figures) -> list[Notice]:
    limit_ms, step_ms, bound = clock.INVALID_STEP_MS, figures.clock_step_ms, figures.transport_bound
    if step_ms is not None and step_ms > limit_ms:
        return [notice("clock-stepped", step_ms=step_ms, limit_ms=limit_ms)]
    # Load workers on this machine have one clock.
    if facts.manifest.load.master and bound is not None and bound.apart_ms > limit_ms:
        return [notice("load-clocks-differ", apart_ms=bound.apart_ms, limit_ms=limit_ms)]
    return []


def _warnings(run: RunDir, facts: Facts, moments: Moments, figures: Figures) -> list[Notice]:
    machine = resources.within(run.samples(MachineSample), figures.working_ns)
    messages = resources.machine_warnings(machine, figures.resources, facts.manifest.machine.cores)
    if facts.plan.shape == "preloaded":
        messages.append(notice("includes-wait"))
    elif not facts.plan.scheduled:
        messages.append(notice("closed-loop"))
    step_ms, bound = figures.clock_step_ms, figures.transport_bound
    if step_ms is None:
        messages.append(notice("clock-not-watched"))
    elif clock.WARNING_STEP_MS < step_ms <= clock.INVALID_STEP_MS:
        messages.append(notice("clock-stepped-slightly", step_ms=step_ms))
    if bound is not None and not bound.agrees:
        what = "the end-to-end latency is not known, use the processing latency"
        if figures.total_known:
            what = "the processing latency is not known, use the end-to-end latency"
        messages.append(
            notice(
                "clocks-disagree",
                server=facts.transport.server_noun,
                low_ms=bound.low_ms,
                high_ms=bound.high_ms,
                what=what,
            )
        )
    total = figures.latencies["total"]
    for kind in (kind for kind in ("total", "latest") if kind not in figures.unknown_kinds):
        if below := figures.latencies[kind].below_zero():
            messages.append(notice("below-zero", count=below, kind=LATENCY_NAMES[kind]))
    if figures.total_known and figures.latest_known:
        marked = latency.mostly_generator(total, figures.latencies["generator_share"])
        if marked:
            messages.append(notice("mostly-generator", percentiles=", ".join(marked)))
    messages += calibration.warnings(
        facts.manifest.calibration,
        total_p50_ms=total.median if figures.total_known else None,
        latest_p50_ms=figures.latencies["latest"].median if figures.latest_known else None,
        rate_per_s=figures.generator.sent / moments.observed_s if moments.observed_s else None,
    )
    return messages


def _by_own_clock(moment_ms: float | None, figures: Figures, visible: Visible | None) -> float | None:
    """By the clock of this machine: the transport's own stamps are put right by what is known of its clock."""
    return None if moment_ms is None else moment_ms - _ahead_ms(figures, visible)


def _ahead_ms(figures: Figures, visible: Visible | None) -> float:
    """By how much the clock that stamped the results is ahead of this machine's, as far as that is known."""
    return 0.0 if visible is not None or figures.transport_bound is None else figures.transport_bound.ahead_ms


def _recovery(facts: Facts, figures: Figures | None, visible: Visible | None) -> recovery.Seen | None:
    if facts.moments is None or figures is None:
        return None
    # Faults have their moments by this machine's clock.
    ahead_ms = round(_ahead_ms(figures, visible))
    partitions_ms = [moments_ms - ahead_ms for moments_ms in figures.stamps.output_moments_ms]
    return recovery.Seen.of(facts, facts.moments, figures.tally, figures.kind, partitions_ms, figures.backlog)


def _environment_warnings(facts: Facts) -> list[Notice]:
    names = facts.manifest.environment.removed
    if not names:
        return []
    exception = "; your own program keeps them" if facts.manifest.program else ""
    return [notice("variables-removed", names=", ".join(names), exception=exception)]
