"""Earlier runs of a scenario over time: a list, and one HTML page that opens without a network."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from streamgauge import identity
from streamgauge.errors import UsageError
from streamgauge.identity import Ignored
from streamgauge.model import NS_PER_S, Script
from streamgauge.model.capacity import NAME as CAPACITY_NAME
from streamgauge.model.latency import LATENCY_NAMES
from streamgauge.model.manifest import Manifest
from streamgauge.model.outcome import Outcome
from streamgauge.report import draw, text
from streamgauge.report.layout import Head, build, write_whole
from streamgauge.rundir import RunDir, shared_cores

INTERRUPTED = "interrupted"
"""In the place of a verdict: the user ended the run, so there was nothing to judge."""

MEASURED = (
    *("scenario.study", "scenario.name", "scenario.workload", "scenario.choice", "scenario.chosen", "scenario.script"),
    *("scenario.load.rate_per_s", "engine.name"),
)
"""What ``Entry`` has by itself."""
IGNORED: Ignored = {
    "engine.version": "a history is to show what a new version changes",
    "transport.topic_settings": "belong to the version of streamgauge",
    "scenario.seed": "another draw of the same load",
    "scenario.load.tail_s": "follows from the workload and the engine's trigger",
    "scenario.profile": "only presets values, which tell runs apart themselves",
    "scenario.sustained": "judges what was measured",
    "scenario.slo": "judges what was measured",
}


@dataclass(frozen=True)
class Entry:
    """One earlier run, as the list shows it."""

    directory: Path
    at: datetime
    scenario: str
    engine: str
    stage: str
    offered_per_s: float | None
    """None for input that was there before the engine."""
    verdict: str
    state: str | None
    p50_ms: float | None
    p99_ms: float | None
    output_per_s: float | None
    settings: Mapping[str, str]
    """Everything else that tells measurements apart."""

    @property
    def usable(self) -> bool:
        return self.verdict == "VALID"

    @property
    def measured(self) -> str:
        """What differs in stage or rate is not the same measurement."""
        rate = f"{text.number(self.offered_per_s)}/s" if self.offered_per_s else "preloaded"
        return f"{self.engine} · {self.stage} · {rate}"


def find(
    root: Path, scenario: str | None = None, is_active: Callable[[Path], bool] = lambda directory: False
) -> tuple[list[Entry], list[str]]:
    """The runs below ``root``, oldest first, and a note for each directory that could not be read.

    Probes of a capacity search are left out: they are meant to be short and to fail. ``is_active``: whether a command
    is writing to this directory.
    """
    entries, notes = [], []
    for directory in _run_directories(root):
        try:
            entry = _read(directory)
        except (UsageError, OSError) as problem:
            why = "the run has not ended yet" if is_active(directory) else _why(problem)
            notes.append(f"{directory}: skipped, {why}")
            continue
        if scenario is None or entry.scenario == scenario:
            entries.append(entry)
    return sorted(entries, key=lambda entry: (entry.at, str(entry.directory))), notes


def write(entries: Sequence[Entry], notes: Sequence[str], target: Path) -> Path:
    """Write the page, whole or not at all, and return its path. Raises UsageError where a directory is in its place."""
    if target.is_dir():
        raise UsageError(
            "the page cannot be written", where=target, got="a directory", expected="a file, e.g. history.html"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    return write_whole(target, render(entries, notes))


def render(entries: Sequence[Entry], notes: Sequence[str]) -> str:
    """The whole page. The same runs give the same bytes."""
    sections = [_section(position, name, entries) for position, name in enumerate(_scenarios(entries))]
    drawn = {key: figure for section in sections for key, figure in section["figures"].items()}
    head = Head(kind="history", title="Earlier runs", heading="Earlier runs")
    return build("history.html.j2", head, drawn, sections=sections, notes=notes)


def _scenarios(entries: Sequence[Entry]) -> list[str]:
    return sorted({entry.scenario for entry in entries})


def _section(position: int, scenario: str, entries: Sequence[Entry]) -> dict[str, Any]:
    mine = [entry for entry in entries if entry.scenario == scenario]
    figures = {}
    titles = {}
    latency = LATENCY_NAMES["total"].capitalize()
    for name, title, axis, unit, field in (
        ("p50", f"{latency}, median", "p50 (ms)", "ms", "p50_ms"),
        ("p99", f"{latency}, 99th percentile", "p99 (ms)", "ms", "p99_ms"),
        ("rate", "Throughput", "per second", "/s", "output_per_s"),
    ):
        if figure := _figure(mine, axis, unit, field):
            figures[f"{position}-{name}"] = figure
            titles[f"{position}-{name}"] = title
    return {"scenario": scenario, "entries": mine, "figures": figures, "titles": titles}


def _figure(entries: Sequence[Entry], title: str, unit: str, field: str) -> draw.Figure | None:
    """One line per series over time, of VALID runs only; None when there is no point to draw."""
    points = [entry for entry in entries if entry.usable and getattr(entry, field) is not None]
    traces = []
    for position, (series, mine) in enumerate(_lines(points).items()):
        look = draw.series_look(position)
        moments = [entry.at.isoformat(timespec="seconds") for entry in mine]
        trace = draw.line(series, moments, [getattr(entry, field) for entry in mine], look.pop("color"), unit, **look)
        traces.append({**trace, "mode": "lines+markers"})
    if not traces:
        return None
    at = [entry.at for entry in points]
    # Runs within an hour would have ticks of milliseconds.
    around = max((max(at) - min(at)) / 20, timedelta(minutes=30))
    ends = [moment.isoformat(timespec="seconds") for moment in (min(at) - around, max(at) + around)]
    x_axis = {"type": "date", "title": {"text": "run started (UTC)"}, "range": ends, "nticks": 4}
    return draw.figure(traces, x_axis, draw.linear(title))


def _lines(entries: Sequence[Entry]) -> dict[str, list[Entry]]:
    """Runs of one line, by its name, which names the settings in which runs of the same stage and rate differ."""
    lines: dict[str, list[Entry]] = {}
    for entry in entries:
        alike = [other.settings for other in entries if other.measured == entry.measured]
        keys = dict.fromkeys(key for settings in alike for key in settings)
        differing = [key for key in keys if len({settings.get(key) for settings in alike}) > 1]
        name = " · ".join([entry.measured, *(f"{key} {entry.settings.get(key, text.NONE)}" for key in differing)])
        lines.setdefault(name, []).append(entry)
    return lines


def _run_directories(root: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(root):
        folders.sort()
        if "manifest.json" in files or CAPACITY_NAME in files:
            folders.clear()
        if "manifest.json" in files:
            yield Path(place)


def _read(directory: Path) -> Entry:
    run = RunDir.open(directory)
    manifest, summary = run.manifest(), run.summary()
    scenario = manifest.scenario
    return Entry(
        directory=directory,
        at=_moment(run, manifest),
        scenario=f"{scenario.study}/{scenario.name}",
        engine=manifest.engine.name,
        stage=_script_name(scenario.script) or scenario.stage,
        offered_per_s=scenario.load.rate_per_s or None,
        verdict=INTERRUPTED if summary.interrupted else summary.verdict,
        state=summary.state,
        p50_ms=summary.percentile_ms("total", "p50"),
        p99_ms=summary.percentile_ms("total", "p99"),
        output_per_s=summary.processing.get("records_per_s") if summary.processing else summary.rate_per_s.output,
        settings=_settings(manifest, shared_cores(manifest, _outcome(run))),
    )


def _outcome(run: RunDir) -> Outcome:
    return run.outcome() if run.outcome_path.is_file() else Outcome.blank()


def _why(problem: UsageError | OSError) -> str:
    if isinstance(problem, OSError):
        return problem.strerror or str(problem)
    if problem.got is None and isinstance(problem.where, Path):
        return f"{problem.what}: {problem.where.name}"
    return f"{problem.what}: {problem.got}" if problem.got else problem.what


def _settings(manifest: Manifest, shared: bool | None) -> dict[str, str]:
    identified = identity.ignoring(identity.of_manifest(manifest, shared), [*MEASURED, *IGNORED])
    return {text.setting_name(name): text.plain(value) for name, value in identified.items()}


def _script_name(script: Script | None) -> str:
    """A script that was changed is another measurement; its name alone does not tell."""
    return f"{script.name} {script.sha256[:7]}" if script else ""


def _moment(run: RunDir, manifest: Manifest) -> datetime:
    """When its load started; where it never did, when the run got its name."""
    start_ns = run.outcome().load_start_ns if run.outcome_path.is_file() else None
    if start_ns is not None:
        return datetime.fromtimestamp(start_ns / NS_PER_S, UTC)
    named = re.search(r"(\d{8}-\d{6})-[0-9a-f]+$", manifest.run)
    if named is None:
        raise UsageError("unknown when it ran", got=f"the name {manifest.run!r} without a date")
    return datetime.strptime(named[1], "%Y%m%d-%H%M%S").replace(tzinfo=UTC)
