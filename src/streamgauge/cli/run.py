"""``streamgauge run``: a measurement, watched, ending with a verdict; repeated on request."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli import terminal
from streamgauge.cli.metrics import MetricsPort, metrics_on
from streamgauge.cli.request import takes_request
from streamgauge.cli.result import AsJson, finish, print_result
from streamgauge.cli.stages import Stages, build_stages, run_stages
from streamgauge.cli.usage import number_of_runs

if TYPE_CHECKING:
    from streamgauge.measure.plan import Request
    from streamgauge.model.summary import Summary

Runs = Annotated[
    int,
    typer.Option(
        "--runs",
        parser=number_of_runs,
        metavar="N",
        help="Number of runs, each in fresh processes; the median counts.",
    ),
]


Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline",
        metavar="DIR|latest",
        help="Compare with an earlier run, or with the newest one beside this; exit code 1 when this one is slower.",
    ),
]
Junit = Annotated[
    Path | None, typer.Option("--junit", metavar="FILE", help="Write verdict, answers and SLOs as JUnit XML.")
]
Markdown = Annotated[
    Path | None, typer.Option("--markdown", metavar="FILE", help="Append a summary in Markdown to a file.")
]


@partial(takes_request, make=build_stages)
def run(
    stages: Stages,
    as_json: AsJson = False,
    runs: Runs = 1,
    baseline: Baseline = None,
    junit: Junit = None,
    markdown: Markdown = None,
    metrics_port: MetricsPort = None,
) -> None:
    """Run a scenario: print whether its numbers can be trusted, then what they are."""
    from streamgauge.campaigns.baseline import check_baseline
    from streamgauge.cli.live import LiveView
    from streamgauge.measure.runner import run_scenario
    from streamgauge.processes.supervisor import signals_as_interrupt

    if baseline is not None:
        check_baseline(baseline)
    if stages.out is not None:
        _refuse_with_all(stages.choice, {"--baseline": baseline, "--junit": junit, "--markdown": markdown})
        run_stages(stages, runs, as_json, metrics_port)
    (request,) = stages.requests.values()
    if terminal.detail.verbose:
        typer.echo(f"run directory {request.out}\n{request.command}", err=True)
    if runs > 1:
        directory, summary = _run_repeated(request, runs, metrics_port, to_stderr=as_json)
    else:
        with signals_as_interrupt(), metrics_on(metrics_port) as publish, LiveView(publish) as view:
            made, summary = run_scenario(request, view)
        print_result(made, summary, to_stderr=as_json)
        directory = made.path
    finish(directory, summary, as_json, baseline=baseline, junit=junit, markdown=markdown)


def _refuse_with_all(choice: str, given: dict[str, object]) -> None:
    from streamgauge.errors import UsageError

    if options := [option for option, value in given.items() if value is not None]:
        raise UsageError(
            f"{', '.join(options)} cannot be used with --set {choice}=all",
            hint=f"run each {choice} by itself",
        )


def _run_repeated(request: Request, runs: int, metrics_port: int | None, *, to_stderr: bool) -> tuple[Path, Summary]:
    from streamgauge.campaigns.repetition import run_repeated
    from streamgauge.cli.live import LiveView
    from streamgauge.processes.supervisor import signals_as_interrupt
    from streamgauge.rundir import RunDir

    with signals_as_interrupt(), metrics_on(metrics_port) as publish, LiveView(publish) as view:
        out, summary = run_repeated(request, runs, view)
    median = next(row.directory for row in summary.repetitions if row.run == summary.run)
    print_result(RunDir(out / median), summary, to_stderr=to_stderr)
    _print_repetitions(summary, to_stderr=to_stderr)
    typer.echo(f"set      {out}, report {out / 'report.html'}", err=to_stderr)
    return out, summary


def _print_repetitions(summary: Summary, *, to_stderr: bool) -> None:
    from rich.console import Console
    from rich.table import Table

    from streamgauge.model.latency import LATENCY_NAMES
    from streamgauge.report.text import number

    console = Console(highlight=False, stderr=to_stderr)
    name = LATENCY_NAMES["total"]
    table = Table("run", "verdict", "state", "p50, ms", "p99, ms", "output/s", box=None, header_style="bold")
    table.title, table.title_justify, table.title_style = f"{name} of each run", "left", ""
    for column in table.columns[3:]:
        column.justify = "right"
    repeated: list[str] = []
    for row in summary.repetitions:
        for attempt in (*row.invalid_attempts, row):
            marked = " (median)" if attempt.run == summary.run else ""
            figures = (number(value, 1) for value in (attempt.total_p50, attempt.total_p99, attempt.rate_output))
            table.add_row(attempt.directory + marked, attempt.verdict, attempt.state or "–", *figures)
        repeated += [
            f"run {row.directory} was repeated: {attempt.directory} is INVALID: {'; '.join(attempt.reasons)}"
            for attempt in row.invalid_attempts
        ]
    console.print(table)
    for line in repeated:
        console.print(line, markup=False, soft_wrap=True)
    if summary.interval is not None and summary.interval.total_p50 is not None:
        low, high = (number(bound, 1) for bound in summary.interval.total_p50)
        console.print(f"median of the VALID runs: 95 % interval {low} to {high} ms", soft_wrap=True)
