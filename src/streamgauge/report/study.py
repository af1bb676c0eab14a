"""Puts a reproduced study on one HTML page: what was run, then each table and figure in the paper's order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from streamgauge import registry
from streamgauge.report import text
from streamgauge.report.page import as_script_data, csp_hash, packaged
from streamgauge.report.study_bursts import periodic_burst, single_burst
from streamgauge.report.study_configuration import configuration
from streamgauge.report.study_cost import stage_cost
from streamgauge.report.study_latency import latency_by_stage
from streamgauge.report.study_parts import Context, Panel, Section, gaps, verdict_words
from streamgauge.report.study_rates import rate_sweep
from streamgauge.report.study_scores import scores
from streamgauge.report.study_source import Attempt, ExperimentResult, Reproduction, read_reproduction
from streamgauge.studies.description import Exhibit, ExhibitKind, Study
from streamgauge.studies.search_axis import SearchAxis

EXHIBITS: Mapping[ExhibitKind, Callable[[Context], list[Panel]]] = {
    "configuration": configuration,
    "scores": scores,
    "latency-by-stage": latency_by_stage,
    "rate-sweep": rate_sweep,
    "single-burst": single_burst,
    "periodic-burst": periodic_burst,
    "stage-cost": stage_cost,
}


def write_study_page(out: Path) -> Path:
    """See ``report.write_study``."""
    reproduction = read_reproduction(out)
    page = render(reproduction, registry.study(reproduction.study).STUDY)
    target = out / "report.html"
    part = target.with_name(target.name + ".part")
    part.write_text(page, encoding="utf-8")
    part.replace(target)
    return target


def render(reproduction: Reproduction, study: Study) -> str:
    """The whole page. The same reproduction gives the same bytes."""
    import jinja2
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    sections = [_section(n, study, exhibit, reproduction) for n, exhibit in enumerate(study.exhibits)]
    figures = {plot.name: plot.figure for section in sections for panel in section.panels for plot in panel.plots}
    scripts = {"plotly_js": get_plotlyjs() if figures else "", "draw_js": packaged("page.js")}
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters.update(number=text.number, plain=text.plain, link=_link)
    environment.tests["lines"] = lambda cell: isinstance(cell, list | tuple)
    return environment.from_string(packaged("study.html.j2")).render(
        css=Markup(packaged("page.css") + packaged("study.css")),  # noqa: S704  the package's own files
        **{name: Markup(script) for name, script in scripts.items()},  # noqa: S704  the packages' own files
        script_hashes=[csp_hash(script) for script in scripts.values()],
        figures_json=Markup(as_script_data(figures)),  # noqa: S704  escaped there
        study=study,
        sections=sections,
        **_head(reproduction, study),
    )


def _section(place: int, study: Study, exhibit: Exhibit, reproduction: Reproduction) -> Section:
    context = Context(f"exhibit-{place + 1}", study, exhibit, reproduction)
    said = gaps(context)
    if exhibit.kind == "scores":
        # It rests on all experiments; those of the other exhibits leave their gaps there.
        elsewhere = {one.name for other in study.exhibits if other is not exhibit for one in other.experiments}
        own = [one for one in exhibit.experiments if one.name not in elsewhere]
        said = gaps(Context(context.id, study, Exhibit(exhibit.name, "", "scores", tuple(own)), reproduction))
    return Section(context.id, exhibit, EXHIBITS[exhibit.kind](context), said)


def _head(reproduction: Reproduction, study: Study) -> dict[str, Any]:
    counts = Counter(taken.verdict for taken in reproduction.experiments)
    unusable = sum(counts[verdict] for verdict in ("INVALID", "FAILED"))
    return {
        "reproduction": reproduction,
        "finished": reproduction.state == "finished",
        "counts": ", ".join(f"{count} {verdict}" for verdict, count in counts.items()),
        "style": "invalid" if unusable or reproduction.state != "finished" else "valid",
        "unusable": unusable,
        "engines": _engines(reproduction),
        "scaled": _scaled(reproduction, study),
        "latency_means": text.LATENCIES[study.latency],
        "machine": _machine(reproduction.machine),
        "started": _moment(reproduction.started),
        "experiments": [_experiment(taken, study.latency) for taken in reproduction.experiments],
    }


def _engines(reproduction: Reproduction) -> list[str]:
    """Each engine with the versions that ran: more than one when the study was gone on with after an update."""
    found = []
    for name in reproduction.engines:
        ran = [taken.manifest.get("engine") or {} for taken in reproduction.experiments if taken.engine == name]
        versions = dict.fromkeys(str(engine["version"]) for engine in ran if engine.get("version"))
        found.append(f"{name} {', '.join(versions)}".strip())
    return found


def _scaled(reproduction: Reproduction, study: Study) -> list[tuple[str, str]]:
    """What differs from the paper, by workload."""
    found: dict[str, dict[str, Any]] = {}
    paper_runs = study.runs.get("paper", 1)
    for taken in reproduction.experiments:
        changes = dict((taken.manifest.get("scenario") or {}).get("scaled") or {})
        if taken.purpose == "capacity":
            for name in (SearchAxis.of_file(taken.capacity).name, "measured_s"):  # of one probe among many
                changes.pop(name, None)
        elif taken.state == "done" and len(taken.counted) != paper_runs:
            changes["runs"] = [len(taken.counted), paper_runs]
        found.setdefault(taken.workload, {}).update(changes)
    return [(workload, text.scaled(changes)) for workload, changes in found.items() if changes]


def _moment(iso: str) -> str:
    try:
        return datetime.fromisoformat(iso).astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
    except ValueError:
        return iso or text.NONE


def _machine(machine: Mapping[str, Any]) -> str:
    said = [
        str(machine.get("cpu") or ""),
        f"{text.number(machine.get('cores'))} cores",
        f"{text.number(machine.get('memory_mb'))} MB",
        " ".join(str(machine[key]) for key in ("system", "kernel") if machine.get(key)),
    ]
    return ", ".join(part for part in said if part)


def _experiment(taken: ExperimentResult, kind: str) -> dict[str, Any]:
    values = (taken.summary.get("latency_ms") or {}).get(kind) or {}
    found = taken.capacity
    interval = (None, None) if found is None else found.interval
    said = _figures(values.get("p50"), values.get("p99"), interval)
    runs = taken.runs_ms(kind)
    unconfirmed = " (not confirmed)" if found and found.interval[0] is not None and not found.confirmed else ""
    return {
        "taken": taken,
        "attempts": [(attempt, _of_repeated(attempt, taken, kind)) for attempt in taken.attempts],
        "verdict": verdict_words(taken),
        "result": (said or text.NONE) + unconfirmed,
        "runs": f"p50 of every run: {' / '.join(text.number(value, 1) for value in runs)} ms" if runs else "",
        "style": taken.verdict.lower() if taken.verdict in text.VERDICTS else "none",
    }


def _of_repeated(attempt: Attempt, taken: ExperimentResult, kind: str) -> str:
    """The figures of an attempt that was repeated; those of one that counts stand elsewhere."""
    if attempt in taken.counted:
        return ""
    found = _figures(attempt.p50_ms.get(kind), attempt.p99_ms.get(kind), attempt.interval)
    output = "" if attempt.rate_output is None else f"output {text.number(attempt.rate_output, 1)}/s"
    return ", ".join(part for part in (found, output) if part)


def _figures(p50_ms: float | None, p99_ms: float | None, interval: Sequence[float | None]) -> str:
    shown = {"p50": p50_ms, "p99": p99_ms}
    said = [f"{name} {text.number(value, 1)} ms" for name, value in shown.items() if value is not None]
    ends = zip(interval, ("sustained", "not"), strict=False)
    said += [f"{text.number(rate)} {word}" for rate, word in ends if rate is not None]
    return ", ".join(said)


def _link(directory: str) -> str:
    """The report in a run's directory. Always relative: the text of a file cannot choose another scheme."""
    return f"./{quote(directory)}/report.html"
