"""Puts a reproduced study on one HTML page: what was run, then each table and figure in the paper's order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from streamgauge.model.campaign import Attempt
from streamgauge.model.manifest import MachineDescription
from streamgauge.report import text
from streamgauge.report.exhibit import Context, Section, gaps, verdict_words
from streamgauge.report.latencies import latency_name
from streamgauge.report.layout import Head, build, write_whole
from streamgauge.report.reproduction import ExperimentResult, Reproduction, read_reproduction
from streamgauge.search_axis import SearchAxis
from streamgauge.study import Exhibit, Study


def write_study_page(out: Path, study: Study) -> Path:
    """See ``report.write_study``."""
    return write_whole(out / "report.html", render(read_reproduction(out), study))


def render(reproduction: Reproduction, study: Study) -> str:
    """The whole page. The same reproduction gives the same bytes."""
    sections = [_section(n, study, exhibit, reproduction) for n, exhibit in enumerate(study.exhibits)]
    figures = {plot.name: plot.figure for section in sections for panel in section.panels for plot in panel.plots}
    context = _context(reproduction, study)
    counts = context.pop("counts")
    head = Head(
        kind=f"reproduction of {reproduction.study}",
        title=f"{reproduction.study} {'reproduced' if reproduction.state == 'finished' else 'unfinished'}",
        heading=study.title,
        word=reproduction.state,
        meaning=f"{len(reproduction.experiments)} experiments: {counts or 'none'}.",
        style="invalid" if context["unusable"] or reproduction.state != "finished" else "valid",
        footer=f"streamgauge {reproduction.version or text.NONE} · reproduction.json format 1",
        strip="" if reproduction.state == "finished" else "unfinished: parts of the study have not been run yet",
    )
    return build("study.html.j2", head, figures, study=study, sections=sections, link=_link, **context)


def _section(place: int, study: Study, exhibit: Exhibit, reproduction: Reproduction) -> Section:
    context = Context(f"exhibit-{place + 1}", study, exhibit, reproduction)
    return Section(context.id, exhibit, exhibit.draw(context), gaps(context))


def _context(reproduction: Reproduction, study: Study) -> dict[str, Any]:
    counts = Counter(result.verdict for result in reproduction.experiments)
    unusable = sum(counts[verdict] for verdict in ("INVALID", "FAILED"))
    return {
        "reproduction": reproduction,
        "counts": ", ".join(f"{count} {verdict}" for verdict, count in counts.items()),
        "unusable": unusable,
        "warned": sum(1 for result in reproduction.experiments if _warnings(result)),
        "engines": _engines(reproduction),
        "scaled": _scaled(reproduction, study),
        "latency_name": latency_name(study.latency),
        "machine": _machine(reproduction.machine),
        "started": text.moment(reproduction.started),
        "units": _units(reproduction),
        "has_marks": any(exhibit.marks for exhibit in study.exhibits),
        "experiments": [_experiments(group, study.latency) for group in _grouped(reproduction.experiments)],
    }


def _engines(reproduction: Reproduction) -> list[str]:
    """Each engine with the versions that ran: more than one when the study was resumed after an update."""
    engines = []
    for name in reproduction.engines:
        ran = [result.manifest for result in reproduction.experiments if result.engine == name]
        versions = dict.fromkeys(manifest.engine.version for manifest in ran if manifest is not None)
        engines.append(f"{name} {', '.join(versions)}".strip())
    return engines


def _units(reproduction: Reproduction) -> list[str]:
    """Of what was searched."""
    searches = (result.capacity for result in reproduction.experiments)
    return list(dict.fromkeys(capacity.unit for capacity in searches if capacity is not None))


def _scaled(reproduction: Reproduction, study: Study) -> list[tuple[str, str]]:
    """What differs from the paper, by scenario."""
    changes: dict[str, dict[str, Any]] = {}
    paper_runs = study.runs.get("paper", 1)
    for result in reproduction.experiments:
        of_result = {} if result.manifest is None else dict(result.manifest.scenario.scaled or {})
        if result.purpose == "capacity":
            for name in (SearchAxis.of_file(result.capacity).name, "measured_s"):  # of one probe among many
                of_result.pop(name, None)
        elif result.state == "done" and len(result.counted) != paper_runs:
            of_result["runs"] = [len(result.counted), paper_runs]
        changes.setdefault(result.scenario_name, {}).update(of_result)
    return [(scenario, text.scaled(of_scenario)) for scenario, of_scenario in changes.items() if of_scenario]


def _machine(machine: MachineDescription) -> str:
    parts = [
        machine.cpu,
        f"{text.number(machine.cores)} cores",
        f"{text.number(machine.memory_mb)} MB",
        " ".join(part for part in (machine.system, machine.kernel) if part),
    ]
    return ", ".join(part for part in parts if part)


def _grouped(results: Sequence[ExperimentResult]) -> list[list[ExperimentResult]]:
    """One by one, but together those of an engine that follow each other and have no result for the same reason."""
    groups: list[list[ExperimentResult]] = []
    for result in results:
        last = groups[-1][0] if groups else None
        alike = last is not None and (last.state, last.engine, last.why) == (result.state, result.engine, result.why)
        if alike and result.state in ("not run", "pending") and not result.attempts:
            groups[-1].append(result)
        else:
            groups.append([result])
    return groups


def _experiments(results: Sequence[ExperimentResult], kind: str) -> dict[str, Any]:
    return {**_experiment(results[0], kind), "names": [result.name for result in results]}


def _experiment(result: ExperimentResult, kind: str) -> dict[str, Any]:
    values = {} if result.summary is None else result.summary.latency(kind)
    capacity = result.capacity
    interval = (None, None) if capacity is None else capacity.interval
    figures = _figures(values.get("p50"), values.get("p99"), interval)
    if result.summary is not None and (throughput := text.throughput_words(result.summary)):
        figures = throughput
    runs = result.runs_ms(kind)
    unconfirmed = " (not confirmed)" if capacity and interval[0] is not None and not capacity.confirmed else ""
    return {
        "result": result,
        "attempts": [(attempt, _of_repeated(attempt, result, kind)) for attempt in result.attempts],
        "verdict": verdict_words(result),
        "figures": (figures or text.NONE) + unconfirmed,
        "runs": f"p50 of every run: {' / '.join(text.number(value, 1) for value in runs)} ms" if runs else "",
        "style": _style(result),
        "warnings": _warnings(result),
    }


def _warnings(result: ExperimentResult) -> list[str]:
    return [text.plain(warning) for warning in result.summary.warnings] if result.summary and result.usable else []


def _style(result: ExperimentResult) -> str:
    if result.verdict not in text.VERDICTS:
        return "none"
    return "unsettled" if verdict_words(result) != result.verdict else result.verdict.lower()


def _of_repeated(attempt: Attempt, result: ExperimentResult, kind: str) -> str:
    """The figures of an attempt that was repeated; those of one that counts stand elsewhere."""
    if attempt in result.counted:
        return ""
    figures = _figures(attempt.p50_ms.get(kind), attempt.p99_ms.get(kind), attempt.interval or ())
    output = "" if attempt.rate_output is None else f"output {text.number(attempt.rate_output, 1)}/s"
    return ", ".join(part for part in (figures, output) if part)


def _figures(p50_ms: float | None, p99_ms: float | None, interval: Sequence[float | None]) -> str:
    shown = {"p50": p50_ms, "p99": p99_ms}
    parts = [f"{name} {text.number(value, 1)} ms" for name, value in shown.items() if value is not None]
    ends = zip(interval, ("sustained", "not"), strict=False)
    parts += [f"{text.number(value)} {word}" for value, word in ends if value is not None]
    return ", ".join(parts)


def _link(directory: str) -> str:
    """The report in a run's directory. Always relative: the text of a file cannot choose another scheme."""
    return f"./{quote(directory)}/report.html"
