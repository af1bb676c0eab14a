"""A run against an earlier one, its baseline: how far their figures are apart, and what was not the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from streamgauge import identity
from streamgauge.identity import Ignored
from streamgauge.report.exhibit import Row, Table
from streamgauge.report.latencies import KINDS, latency_name
from streamgauge.report.source import Source
from streamgauge.report.tables import PERCENTILES, measured_on
from streamgauge.report.text import NONE, number, plain, setting_name
from streamgauge.rundir import shared_cores

IGNORED: Ignored = {
    "scenario.load.tail_s": "follows from the workload and the engine's trigger",
    "scenario.profile": "only presets values, which are compared themselves",
    "scenario.sustained": "judges what was measured",
    "scenario.slo": "judges what was measured",
}

COUNTS = ("lost", "wrong", "unfinished", "duplicates")
"""Of results."""


@dataclass(frozen=True)
class Against:
    """What the page says about the baseline."""

    run: str
    about: str
    """Its engine, when and where it was measured."""
    verdict: str
    usable: bool
    figures: Table
    settings: Table | None
    """What differs; None where nothing does."""


def against(source: Source, baseline: Source) -> Against:
    """Everything but the figures that draw both."""
    manifest = baseline.manifest
    engine = f"{manifest.engine.title or manifest.engine.name} {plain(manifest.engine.version)}"
    parts = (engine, measured_on(manifest, baseline.outcome))
    return Against(
        run=baseline.summary.run or manifest.run,
        about=" · ".join(part for part in parts if part),
        verdict=baseline.summary.verdict,
        usable=baseline.summary.verdict == "VALID",
        figures=_figures(source, baseline),
        settings=_settings(source, baseline),
    )


def _figures(source: Source, baseline: Source) -> Table:
    here, there = dict(_values(source)), dict(_values(baseline))
    rows = [Row([name, *_shown(name, here.get(name), there.get(name))]) for name in dict.fromkeys([*here, *there])]
    head = ["figure", "this run", "baseline", "difference", "in %"]
    return Table("", head, rows, frozenset({1, 2, 3, 4}))


def _values(source: Source) -> Iterator[tuple[str, float]]:
    """Those that are known, by their names."""
    summary = source.summary
    known: dict[str, Any] = {}
    for kind in KINDS:
        latency = summary.latency(kind)
        known |= {f"{latency_name(kind)}, {shown} (ms)": latency.get(key) for key, shown in PERCENTILES.items()}
    processing = summary.processing or {}
    known["throughput (records/s)"] = processing.get("records_per_s")
    if not processing:
        rate, backlog = summary.rate_per_s, summary.backlog
        known["achieved rate (records/s)"] = rate.achieved
        known["output (results/s)"] = rate.output
        known["backlog at the end (records)"] = None if backlog is None else backlog.end
    engine = summary.resources.get("engine", {})
    known["engine: CPU, mean (cores)"] = engine.get("cpu_mean")
    known["engine: memory, max (MB)"] = engine.get("rss_max_mb")
    known |= {name: summary.results.get(name) for name in COUNTS}
    for name, value in known.items():
        if isinstance(value, int | float):
            yield name, float(value)


def _shown(name: str, here: float | None, there: float | None) -> list[str]:
    """Both values, their difference, and the same in percent."""
    digits = 0 if name in COUNTS else 1
    both = [number(here, digits), number(there, digits)]
    if here is None or there is None:
        return [*both, NONE, NONE]
    return [*both, _signed(here - there, digits), _signed(100 * (here - there) / there, 1) if there else NONE]


def _signed(value: float, digits: int) -> str:
    shown = number(value, digits)
    return f"+{shown}" if value > 0 else shown


def _settings(source: Source, baseline: Source) -> Table | None:
    here, there = (
        identity.of_manifest(one.manifest, shared_cores(one.manifest, one.outcome)) for one in (source, baseline)
    )
    rows = [
        Row([setting_name(name), plain(mine), plain(other)])
        for name, (mine, other) in identity.differences(here, there, IGNORED).items()
    ]
    return Table("", ["setting", "this run", "baseline"], rows) if rows else None
