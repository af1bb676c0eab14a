"""Whether a run kept up with its load, and whether its latency had settled."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from streamgauge.evaluate import steadiness, sustained
from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import lag, latency
from streamgauge.evaluate.summary import Figures
from streamgauge.model import ResultKind
from streamgauge.model.summary import State
from streamgauge.notices import Notice, notice
from streamgauge.rundir import shared_cores


def judge(
    facts: Facts, figures: Figures | None, validated: bool
) -> tuple[State | None, Notice | None, sustained.Finding]:
    """The state of the run, the sentence behind it, and what the rule for a sustained rate found."""
    if facts.outcome.hopeless:
        hopeless = Notice(facts.outcome.hopeless)
        return "overloaded", hopeless, sustained.Finding(False, hopeless)
    if figures is None or facts.moments is None or (validated and not figures.results["expected"]):
        return None, None, sustained.Finding(None)
    if facts.plan.shape == "preloaded":
        return None, notice("no-rate-offered"), sustained.Finding(None)
    kind = facts.workload.kind
    no_latency = not validated or kind is ResultKind.NONE
    by_positions = no_latency or kind is ResultKind.FILTER
    step_records = _step_in_backlog(figures) if by_positions else _step_in_waits(facts.moments, figures)
    rule, evidence = facts.scenario.sustained, _evidence(facts, facts.moments, figures, step_records)
    only_backlog = no_latency and evidence.median_ms is None
    finding = sustained.by_backlog(rule, evidence) if only_backlog else sustained.apply(rule, evidence)
    is_constant = facts.plan.shape == "constant"
    if finding.held is False:
        settling = steadiness.judge(figures.medians_measured)
        if is_constant and not facts.faults and settling.state == "drifting" and _catches_up(figures):
            found = finding.why.removeprefix(notice("overloaded", findings=""))
            return "drifting", settling.sentence, replace(finding, why=notice("catching-up", findings=found))
        return "overloaded", finding.why, finding
    if rule is None:
        if not is_constant:
            return None, notice("overload-not-judged"), finding
        # Nobody asks whether this rate is sustained, but a run that certainly fell behind did not keep up.
        overload = sustained.slope(evidence)
        if overload.held is False:
            return "overloaded", overload.why, finding
    # The latency may follow a load that rises and falls, and a fault changes it for a while; neither is drift.
    if facts.faults or not is_constant:
        why = "in a run with faults" if facts.faults else "under a load that changes"
        return "steady", notice("drift-not-checked", why=why), finding
    judgement = steadiness.judge(figures.medians_measured)
    return judgement.state, judgement.sentence, finding


def _catches_up(figures: Figures) -> bool:
    """Whether latency and backlog fall, as after a slow start: it is not the offered rate that is too high."""
    falling = (series.slope() for series in (figures.medians_measured, figures.waiting_measured))
    return all(trend is not None and trend.per_s < 0 for trend in falling)


def drift_warnings(facts: Facts, figures: Figures | None, sentence: Notice | None) -> list[Notice]:
    """For a drifting run, with a warm-up that would have been long enough."""
    assert sentence is not None and figures is not None and facts.moments is not None
    if figures.over_time is not None:
        medians = list(figures.over_time.latencies[figures.kind]["p50"])
    else:
        medians = latency.per_second(figures.tally, figures.kind, facts.moments.seconds)["p50"]
    advised_s = latency.advised_warmup_s(medians, facts.plan.warmup_s)
    return [sentence, notice("settled-late", advised_s=advised_s)] if advised_s else [sentence]


def _evidence(facts: Facts, moments: Moments, figures: Figures, step_records: float) -> sustained.Evidence:
    shared, counts = shared_cores(facts.manifest, facts.outcome), figures.results
    return sustained.Evidence(
        # Of results that never came, what they had waited for when the run ended.
        median_ms=figures.latencies[figures.kind].at_least().median,
        medians=figures.medians_measured,
        backlog=figures.backlog_measured,
        waiting=figures.waiting_measured,
        queued=figures.queued_measured,
        missing_share=(counts["lost"] + counts["unfinished"]) / max(counts["expected"], 1),
        fifths_ms=latency.medians_of_parts_ms(figures.tally, figures.kind, 5),
        drained_s=lag.drained_s(figures.tally, moments),
        cpu_share=_cpu_share(facts, figures) if shared is False else None,
        shared_cores=bool(shared),
        step_records=step_records,
    )


def _step_in_waits(moments: Moments, figures: Figures) -> float:
    """Inputs that are answered at once, by how differently long those of a second waited; the median of the seconds.

    Inputs that wait for the same step have waited evenly from nothing to the time between two steps: their quartiles
    are half of that apart. Those of one result are always answered at once. Where the backlog grows, the last input of
    a second waits longer than the first, by what has come to wait in that second: that is no step.
    """
    tally = figures.tally
    if figures.over_time is not None:
        return _step_in_backlog(figures)  # a tally without seconds
    per_second = latency.at_each(tally, "latest", tally.timed, tally.censored, tally.second, moments.seconds)
    inputs = np.bincount(tally.second[tally.timed], tally.new_inputs[tally.timed], moments.seconds)
    grows_per_s, steps = _growth_per_s(figures), []
    for waits_ms, count in zip(per_second, inputs, strict=False):
        low_ms, high_ms = (waits_ms.percentile(permille, above=0) for permille in (250, 750))
        if low_ms is not None and high_ms is not None:
            steps.append(max(2 * (high_ms - low_ms) / 1000 * count - grows_per_s, count / waits_ms.count))
    return float(np.median(steps)) if steps else 0.0


def _step_in_backlog(figures: Figures) -> float:
    """The largest step that a position may move in which alone shows what is done: half of it waits on average, before
    the backlog grows."""
    backlog = figures.backlog_measured
    if not len(backlog):
        return 0.0
    grown = _growth_per_s(figures) * (backlog.seconds - backlog.seconds[0])
    return 2 * float(np.median(backlog.values - grown))


def _growth_per_s(figures: Figures) -> float:
    """Records by which the backlog grows each second; 0 where it does not."""
    trend = figures.backlog_measured.slope()
    return max(trend.per_s, 0.0) if trend is not None else 0.0


def _cpu_share(facts: Facts, figures: Figures) -> float | None:
    """CPU seconds of the engine over the interval × the cores given to it."""
    used = figures.resources.get("engine", {}).get("cpu_mean")
    allowed = len(facts.outcome.cores.get("engine", ()))
    cores = facts.manifest.engine.options.get("cores") or allowed or facts.manifest.machine.cores
    return None if used is None or not cores else used / cores
