"""``--set stage=all``: every stage of a scenario that the engine runs, one after another."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from streamgauge.cli.layout import echo_json
from streamgauge.cli.metrics import metrics_on
from streamgauge.cli.request import build

if TYPE_CHECKING:
    from streamgauge.cli.live import LiveView
    from streamgauge.measure.plan import Request
    from streamgauge.model.summary import Summary

ALL = "all"
_KINDS, _PERCENTILES = ("total", "latest"), ("p50", "p99")
_FIGURES = tuple((kind, name) for kind in _KINDS for name in _PERCENTILES)


@dataclass(frozen=True)
class Stages:
    """What is to be run: one request, or one for each stage, in directories below ``out``."""

    requests: Mapping[str, Request]
    choice: str
    """What the scenario calls a stage: *stage*, *program*."""
    out: Path | None = None
    """None: a single request, in its own directory."""
    lacking: Mapping[str, str] = field(default_factory=dict)
    """Stages that the engine does not run, each with the reason."""


def build_stages(**given: Any) -> Stages:
    """As ``build``, for all stages where that is asked for. Raises UsageError when the engine runs none of them."""
    from streamgauge.errors import Unsupported, UsageError
    from streamgauge.studies import parsing
    from streamgauge.studies import scenario as scenarios
    from streamgauge.studies.own_file import base_of

    changes = parsing.parse_changes(given["settings"] or [])
    described = scenarios.describe(base_of(given["scenario"]))
    choice = described.choice
    if changes.pop(choice, None) != ALL:
        request = build(**given)
        return Stages({request.scenario.chosen: request}, choice)
    if given.get("script") is not None:
        raise UsageError(
            f"--script and --set {choice}={ALL} conflict: a script replaces a single {choice}",
            hint=f"--set {choice}={next(iter(described.workloads))}, or another one",
        )
    settings = [f"{key}={value}" for key, value in changes.items()]
    requests, lacking = {}, {}
    for chosen in described.workloads:
        try:
            requests[chosen] = build(**{**given, "settings": [*settings, f"{choice}={chosen}"]})
        except Unsupported as problem:
            lacking[chosen] = str(problem.got)
    if not requests:
        raise UsageError(
            f"the engine runs no {choice} of this scenario",
            got="; ".join(dict.fromkeys(lacking.values())),
            hint=f"another --engine; streamgauge list {given['scenario']} shows which",
        )
    out = given["out"] or next(iter(requests.values())).out
    requests = {chosen: replace(request, out=out / chosen) for chosen, request in requests.items()}
    return Stages(requests, choice, out, lacking)


def run_stages(stages: Stages, runs: int, as_json: bool, metrics_port: int | None = None) -> NoReturn:
    """Run them, with a line for each and a table at the end; ends with the first exit code that applies."""
    from streamgauge.campaigns.repetition import check_free
    from streamgauge.cli.live import LiveView
    from streamgauge.evaluate.verdict import exit_code
    from streamgauge.processes import directory_lock
    from streamgauge.processes.supervisor import signals_as_interrupt

    assert stages.out is not None
    summaries: dict[str, Summary] = {}
    with signals_as_interrupt(), metrics_on(metrics_port) as publish, LiveView(publish) as view, ExitStack() as stack:
        stack.enter_context(directory_lock.hold(stages.out))
        check_free(stages.out)
        measure = _repeated(runs, view) if runs > 1 else _once(stages, view, stack)
        for number, (stage, request) in enumerate(stages.requests.items(), start=1):
            view.phase(f"{number} of {len(stages.requests)}: {stages.choice} {stage}")
            summaries[stage] = measure(request)
            view.say(f"{stages.choice} {stage}: {line(summaries[stage])}")
    _print_table(stages.choice, summaries, to_stderr=as_json)
    for stage, reason in stages.lacking.items():
        typer.echo(f"not run: {stage}: {reason}", err=as_json)
    typer.echo(f"runs     {stages.out}", err=as_json)
    if as_json:
        echo_json({"format": 1, "stages": {stage: summary.as_json() for stage, summary in summaries.items()}})
    raise typer.Exit(first_that_applies(exit_code(summary) for summary in summaries.values()))


def first_that_applies(codes: Iterable[int]) -> int:
    """The exit code of several runs (docs/reference/exit-codes.md)."""
    from streamgauge.errors import EXIT_MISSED, EXIT_OK, EngineFailed, InvalidMeasurement

    order = (InvalidMeasurement.exit_code, EngineFailed.exit_code, EXIT_MISSED, EXIT_OK)
    return min(codes, key=order.index)


def line(summary: Summary) -> str:
    """Verdict and figures of one stage."""
    from streamgauge.model.latency import LATENCY_NAMES

    latencies = (
        f"{LATENCY_NAMES[kind]} " + ", ".join(f"{name} {_figure(summary, kind, name)}" for name in _PERCENTILES)
        for kind in _KINDS
    )
    return f"{summary.verdict}, {'; '.join(latencies)} ms"


def _once(stages: Stages, view: LiveView, stack: ExitStack) -> Callable[[Request], Summary]:
    from streamgauge.measure.evaluation import kept_evaluator
    from streamgauge.measure.runner import run_scenario

    assert stages.out is not None
    most = max(request.scenario.load.records for request in stages.requests.values())
    master = next(iter(stages.requests.values())).master
    kept = kept_evaluator(f"stages-{secrets.token_hex(4)}", stages.out / "logs", master, most)
    evaluator = stack.enter_context(kept)

    return lambda request: run_scenario(request, view, evaluator)[1]


def _repeated(runs: int, view: LiveView) -> Callable[[Request], Summary]:
    from streamgauge.campaigns.repetition import run_repeated

    return lambda request: run_repeated(request, runs, view)[1]


def _figure(summary: Summary, kind: str, name: str) -> str:
    from streamgauge.report.text import number

    return number(summary.percentile_ms(kind, name), 1)


def _print_table(choice: str, summaries: Mapping[str, Summary], *, to_stderr: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from streamgauge.model.latency import LATENCY_NAMES

    heads = (f"{LATENCY_NAMES[kind].removesuffix(' latency')} {name}, ms" for kind, name in _FIGURES)
    table = Table(choice, "verdict", "state", *heads, box=None, header_style="bold")
    for column in table.columns[3:]:
        column.justify = "right"
    for stage, summary in summaries.items():
        figures = (_figure(summary, kind, name) for kind, name in _FIGURES)
        table.add_row(stage, summary.verdict, summary.state or "–", *figures)
    Console(highlight=False, stderr=to_stderr).print(table)
