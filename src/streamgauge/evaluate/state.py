"""Whether a run kept up with its load, and whether its latency had settled."""

from __future__ import annotations

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
    rule, evidence = facts.scenario.sustained, _evidence(facts, facts.moments, figures)
    no_latency = not validated or facts.workload.kind is ResultKind.NONE
    only_backlog = no_latency and evidence.median_ms is None
    finding = sustained.by_backlog(rule, evidence) if only_backlog else sustained.apply(rule, evidence)
    if finding.held is False:
        return "overloaded", finding.why, finding
    # The latency may follow a load that rises and falls, and a fault changes it for a while; neither is drift.
    if facts.faults or facts.plan.shape != "constant":
        why = "in a run with faults" if facts.faults else "under a load that changes"
        return "steady", notice("drift-not-checked", why=why), finding
    judgement = steadiness.judge(figures.medians_measured)
    return judgement.state, judgement.sentence, finding


def drift_warnings(facts: Facts, figures: Figures | None, sentence: Notice | None) -> list[Notice]:
    """For a drifting run, with a warm-up that would have been long enough."""
    assert sentence is not None and figures is not None and facts.moments is not None
    if figures.over_time is not None:
        medians = list(figures.over_time.latencies[figures.kind]["p50"])
    else:
        medians = latency.per_second(figures.tally, figures.kind, facts.moments.seconds)["p50"]
    advised_s = latency.advised_warmup_s(medians, facts.plan.warmup_s)
    return [sentence, notice("settled-late", advised_s=advised_s)] if advised_s else [sentence]


def _evidence(facts: Facts, moments: Moments, figures: Figures) -> sustained.Evidence:
    engine, shared = facts.manifest.engine, shared_cores(facts.manifest, facts.outcome)
    counts = figures.results
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
        micro_batches=engine.micro_batches or engine.transactional,
    )


def _cpu_share(facts: Facts, figures: Figures) -> float | None:
    """CPU seconds of the engine over the interval × the cores given to it."""
    used = figures.resources.get("engine", {}).get("cpu_mean")
    allowed = len(facts.outcome.cores.get("engine", ()))
    cores = facts.manifest.engine.options.get("cores") or allowed or facts.manifest.machine.cores
    return None if used is None or not cores else used / cores
