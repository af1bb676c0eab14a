"""Two configurations of one system side by side, where the paper has two versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamgauge.report.bars import BarSeries, bars
from streamgauge.report.exhibit import Context, Panel, Plot, Row, Table, unusable, verdict_words
from streamgauge.report.published import marks_table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.text import NONE, number, plain, rounded
from streamgauge.studies.streambench.exhibits import PER_S, bar
from streamgauge.studies.streambench.experiments import (
    PROGRAMS,
    defaults_name,
    latency_name,
    performance_name,
)
from streamgauge.studies.streambench.numbers import LATENCY, THROUGHPUT

ENGINE = "spark"
DEFAULTS, TUNED = "defaults", "tuned"
_OPACITIES = {DEFAULTS: 0.4, TUNED: 0.95}


@dataclass(frozen=True)
class Pair:
    """One program with both configurations; a run that has no result is left out."""

    program: str
    runs: dict[str, ExperimentResult]

    def change_percent(self, metric: str) -> float | None:
        """Of the tuned configuration against the defaults; None without two VALID runs."""
        values = [
            run.value(metric) if (run := self.runs.get(name)) and run.usable else None for name in (DEFAULTS, TUNED)
        ]
        before, after = values
        return None if not before or after is None else 100 * (after / before - 1)


def configurations(context: Context) -> list[Panel]:
    """Throughput and latency of Spark with its defaults and tuned."""
    found = {result.name: result for result in context.results if result.engine == ENGINE and result.has_result}
    of_throughput = _pairs(found, {p: {DEFAULTS: defaults_name(p), TUNED: performance_name(p, "4×")} for p in PROGRAMS})
    of_latency = _pairs(
        found, {p: {DEFAULTS: defaults_name(p, latency=True), TUNED: latency_name(p)} for p in PROGRAMS}
    )
    plots = [
        *_plot(context, of_throughput, THROUGHPUT, "MB/s", "Throughput"),
        *_plot(context, of_latency, LATENCY, "ms", "Mean latency"),
    ]
    tables = [
        *_table(of_throughput, PER_S, "Throughput", "records/s"),
        *_table(of_latency, LATENCY, "Mean latency at half of the throughput", "ms"),
    ]
    own = [run for pair in (*of_throughput, *of_latency) if (run := pair.runs.get(DEFAULTS))]
    return [
        *unusable(own),
        Panel(plots=plots, tables=[*tables, *_settings(of_throughput), *marks_table(context.exhibit.marks)]),
    ]


def _pairs(found: dict[str, ExperimentResult], names: dict[str, dict[str, str]]) -> list[Pair]:
    """Of the programs that have a run with the defaults."""
    pairs = [
        Pair(program, {which: found[name] for which, name in of_program.items() if name in found})
        for program, of_program in names.items()
    ]
    return [pair for pair in pairs if DEFAULTS in pair.runs]


def _plot(context: Context, pairs: Sequence[Pair], metric: str, unit: str, title: str) -> list[Plot]:
    series = {}
    for which, opacity in _OPACITIES.items():
        runs = [pair.runs[which] for pair in pairs if which in pair.runs]
        shown = [bar(run, metric, unit) for run in runs if run.value(metric) is not None]
        if shown:
            series[f"{ENGINE}, {which}"] = BarSeries(ENGINE, shown, opacity)
    if not series:
        return []
    words = [f"{name}: {', '.join(f'{one.category} {one.text}' for one in of.bars)}" for name, of in series.items()]
    name = f"{context.id}-{title.split()[-1].lower()}"
    return [Plot(name, title, bars(context, series, (), unit, unit), f"{'; '.join(words)}.")]


def _table(pairs: Sequence[Pair], metric: str, title: str, unit: str) -> list[Table]:
    if not pairs:
        return []
    rows = []
    for pair in pairs:
        runs = [pair.runs.get(which) for which in (DEFAULTS, TUNED)]
        change = pair.change_percent(metric)
        rows.append(
            Row(
                [
                    pair.program,
                    *(_cell(run, metric) for run in runs),
                    _signed(change),
                    *("not run" if run is None else verdict_words(run) for run in runs),
                ],
                muted=change is None,
            )
        )
    changes = [change for pair in pairs if (change := pair.change_percent(metric)) is not None]
    if changes:
        counted = f"over {len(changes)} {'program' if len(changes) == 1 else 'programs'}"
        rows.append(Row([f"mean {counted}", NONE, NONE, _signed(sum(changes) / len(changes)), NONE, NONE]))
    head = ["program", f"{DEFAULTS}, {unit}", f"{TUNED}, {unit}", "change", f"verdict, {DEFAULTS}", f"verdict, {TUNED}"]
    note = "Change: tuned against defaults, from VALID runs only."
    return [Table(title, head, rows, frozenset({1, 2, 3}), note)]


def _cell(run: ExperimentResult | None, metric: str) -> str | list[str]:
    """The value, with the rate where one was offered."""
    if run is None:
        return NONE
    rate = run.value("rate_per_s.offered") if metric == LATENCY else None
    return rounded(run.value(metric)) if rate is None else [rounded(run.value(metric)), f"at {number(rate)}/s"]


def _signed(percent: float | None) -> str:
    return NONE if percent is None else f"{'+' if percent > 0 else ''}{number(percent, 1)} %"


def _settings(pairs: Sequence[Pair]) -> list[Table]:
    """In what the two configurations differ, as the manifests of one program's runs have it."""
    for pair in pairs:
        manifests = [run.manifest for which in (DEFAULTS, TUNED) if (run := pair.runs.get(which))]
        if len(manifests) == 2 and manifests[0] is not None and manifests[1] is not None:
            before, after = (manifest.engine.options for manifest in manifests if manifest is not None)
            rows = [
                Row([option, plain(before[option]), plain(after.get(option))])
                for option in before
                if before[option] != after.get(option)
            ]
            return [Table("What differs", ["option", DEFAULTS, TUNED], rows)] if rows else []
    return []
