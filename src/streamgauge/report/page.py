"""Puts the tables and figures of one run on one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.report import text
from streamgauge.report.against import against
from streamgauge.report.batches import batch_rows
from streamgauge.report.bursts import burst_moments, burst_rows
from streamgauge.report.durability import durability_rows
from streamgauge.report.figures import all_figures
from streamgauge.report.latencies import joined_names, kinds_over_seconds, latency_name
from streamgauge.report.layout import Head, build, write_whole
from streamgauge.report.queries import own_rows, query_rows, redirected_rows
from streamgauge.report.recovery import fault_results, fault_rows
from streamgauge.report.source import Source, read
from streamgauge.report.tables import (
    attempt_rows,
    clock_rows,
    generator_rows,
    headlines,
    latency_rows,
    machine_rows,
    measured_on,
    negative_latencies,
    node_rows,
    provenance_rows,
    rate_rows,
    resource_rows,
    result_rows,
    when_visible,
)
from streamgauge.rundir import RunDir


def write_page(run: RunDir, baseline: RunDir | None = None) -> Path:
    """See ``report.write``."""
    target: Path = run.report_path
    return write_whole(target, render(read(run), None if baseline is None else read(baseline)))


def render(source: Source, baseline: Source | None = None) -> str:
    """The whole page, with ``baseline`` behind its figures. The same runs give the same bytes."""
    return build(
        "run.html.j2",
        _head(source),
        all_figures(source, baseline),
        against=None if baseline is None else against(source, baseline),
        **context(source),
    )


def _head(source: Source) -> Head:
    summary, manifest = source.summary, source.manifest
    verdict = summary.verdict
    unvalidated = summary.validated is False
    meaning = text.UNVALIDATED if unvalidated and verdict == "VALID" else text.VERDICTS[verdict]
    drifting = verdict == "VALID" and summary.state == "drifting"
    if drifting:
        meaning = f"{text.UNVALIDATED if unvalidated else text.TRUSTED}; {text.NOT_SETTLED}"
    word = f"{verdict} · unvalidated: no reference" if unvalidated else verdict
    if summary.guarantee is not None:
        meaning = f"{text.plain(summary.guarantee)}; {meaning}"
    if verdict == "VALID" and summary.warnings:
        count = len(summary.warnings)
        meaning += "; there is a warning" if count == 1 else f"; there are {count} warnings"
    engine, scenario = manifest.engine, manifest.scenario
    return Head(
        kind=f"report {summary.run or manifest.run}",
        title=f"{word} · {engine.name} · {scenario.study}/{scenario.name}",
        heading=f"{engine.title or engine.name} {text.plain(engine.version)}",
        word=word,
        meaning=f"{meaning}, because" if summary.reasons else f"{meaning}.",
        style="invalid" if drifting else verdict.lower(),
        footer=f"streamgauge {text.plain(manifest.tool)} · run directory format {manifest.format}",
        strip="" if verdict == "VALID" else f"{verdict}: do not use these numbers",
    )


def context(source: Source) -> dict[str, Any]:
    """What the template says in words and tables."""
    summary, manifest = source.summary, source.manifest.as_json()
    state = summary.state
    return {
        "manifest": manifest,
        "outcome": source.outcome,
        "summary": summary,
        "scenario": manifest["scenario"],
        "engine": manifest["engine"],
        "transport": manifest["transport"],
        "state": {"word": state or "unknown", "meaning": _meaning_of_state(source)},
        "usable": summary.verdict == "VALID",
        "measured_on": measured_on(source.manifest, source.outcome),
        "reasons": [text.plain(reason) for reason in summary.reasons],
        "warnings": [text.plain(warning) for warning in summary.warnings],
        "missing": source.missing,
        "phases": source.phases,
        "headlines": headlines(source),
        "results": result_rows(source),
        "latencies": latency_rows(source),
        "names": LATENCY_NAMES,
        "heatmap_name": latency_name(str(source.heatmap[0]["kind"])) if source.heatmap else "",
        "latency_figures": {f"latency-{kinds[0]}": joined_names(kinds) for kinds in kinds_over_seconds(source)},
        "negative_latencies": negative_latencies(source),
        "when_visible": when_visible(source),
        "generator": generator_rows(source),
        "resources": resource_rows(source),
        "machine": machine_rows(source),
        "clock": clock_rows(source),
        "backlog": summary.backlog or {},
        "rates": rate_rows(source),
        "provenance": provenance_rows(source),
        "batches": batch_rows(source),
        "queries": query_rows(source),
        "own_figures": own_rows(source),
        "redirected": redirected_rows(source),
        "durability": durability_rows(source),
        "burst": summary.burst,
        "burst_moments": burst_moments(source),
        "bursts": burst_rows(source),
        "faults": fault_rows(source),
        "fault_results": fault_results(source),
        "preloaded": source.preloaded,
        "nodes": node_rows(source),
        "slo": [entry.as_json() for entry in summary.slo],
        "repetitions": summary.repetitions,
        "attempts": attempt_rows(source),
    }


def _meaning_of_state(source: Source) -> str:
    return text.plain(source.summary.state_reason or text.STATES.get(source.summary.state or "", ""))
