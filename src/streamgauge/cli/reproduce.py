"""``streamgauge reproduce``: a published study, run as its authors ran it."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli import choices
from streamgauge.cli.layout import echo_json
from streamgauge.cli.metrics import MetricsPort, metrics_on
from streamgauge.cli.request import ENGINE_HELP, Profile, TransportAddress, check_transport_address, refuse_redacted
from streamgauge.cli.usage import number_of_runs

WIDE = 200
"""Columns of a table that goes into a file, which has no edge to wrap at."""

if TYPE_CHECKING:
    from rich.table import Table

    from streamgauge.campaigns.reproduction_plan import PlannedExperiment
    from streamgauge.model.campaign import ExperimentRow, Reproduction


def reproduce(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="The study; `streamgauge list studies` shows all.",
            autocompletion=choices.complete_study,
        ),
    ],
    engines: Annotated[
        list[str] | None,
        typer.Option(
            "--engine",
            "-e",
            metavar="NAME",
            help=f"{ENGINE_HELP} Repeatable: engines are drawn side by side.",
            show_default="spark; some studies have another",
            autocompletion=choices.complete_engine,
        ),
    ] = None,
    profile: Profile = choices.PROFILES[0],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Directory to write. Pass the same --out to resume.",
            show_default="runs/reproduce-STUDY-…",
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only these experiments, by name or pattern such as 'latency-*'; --dry-run shows all. Repeatable.",
        ),
    ] = None,
    measured: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="How long to measure each experiment, such as 30s.")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            parser=number_of_runs,
            help="Number of runs of each experiment.",
            show_default="the study's: mostly 1, see docs/howto/reproduce.md",
        ),
    ] = None,
    retry: Annotated[
        bool, typer.Option("--retry", help="With the --out of before: try again what stayed INVALID.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set a value of every scenario, or an option of every engine. Repeatable.",
        ),
    ] = None,
    transport_address: TransportAddress = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the experiments and about how long they take; run none.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print reproduction.json alone on stdout.")] = False,
    metrics_port: MetricsPort = None,
) -> None:
    """Run what a published study ran, and write one report with its tables and figures.

    Pass the same --out to resume an interrupted reproduction.
    """
    from streamgauge import registry
    from streamgauge.campaigns import reproduction
    from streamgauge.campaigns.reproduction_plan import ReproductionRequest, plan
    from streamgauge.cli.live import LiveView
    from streamgauge.errors import Interrupted, UsageError
    from streamgauge.model.campaign import REPRODUCTION_NAME
    from streamgauge.processes.supervisor import signals_as_interrupt
    from streamgauge.studies import parsing

    if dry_run and as_json:
        raise UsageError(
            "--dry-run and --json conflict: reproduction.json is written when experiments are run",
            hint="use only one of them",
        )
    refuse_redacted(settings or [])
    given = [parsing.parse_setting(setting) for setting in settings or ()]
    if measured is not None:
        seconds = parsing.parse_duration_s(measured, "--for")
        given.append(parsing.Setting("measured_s", str(seconds), f"--for {measured}"))
    gathered = parsing.gather(given)
    if transport_address is not None:
        check_transport_address(transport_address)
    campaign = ReproductionRequest(
        study=study,
        out=out or _fresh_directory(study),
        engines=tuple(engines or (registry.study_description(study).default_engine,)),
        profile=profile,
        changes={key: setting.text for key, setting in gathered.items()},
        only=tuple(only or ()),
        bootstrap=transport_address,
        runs=runs,
        retry=retry,
        typed={key: setting.typed for key, setting in gathered.items()},
    )
    if dry_run:
        _print_plan(plan(campaign), reproduction.done_before(campaign))
        return

    class View(LiveView):
        """The live view of each run, and lines that stay: which experiment it is, and how it ended."""

        def begin(self, title: str, left_s: float) -> None:
            title += f"; about {duration(left_s)} left" if left_s else ""
            self.phase(title)
            if self._live is not None:
                self.say(title)

        def end(self, row: ExperimentRow) -> None:
            self.say(f"  {outcome_line(row)}")

    try:
        with signals_as_interrupt(), metrics_on(metrics_port) as publish, View(publish) as view:
            content = reproduction.reproduce(campaign, view)
    except (KeyboardInterrupt, Interrupted):
        raise Interrupted(
            "interrupted: everything was stopped",
            where=campaign.out,
            hint=f"pass --out {campaign.out} to resume",
        ) from None
    _print_outcome(content, campaign.only, to_stderr=as_json)
    typer.echo(f"report       {campaign.out / 'report.html'}", err=as_json)
    typer.echo(f"reproduction {campaign.out / REPRODUCTION_NAME}", err=as_json)
    if as_json:
        echo_json(content.as_json())
    raise typer.Exit(reproduction.exit_code(content))


def outcome_line(row: ExperimentRow) -> str:
    """How an experiment ended, in one line."""
    notes, figures = notes_of(row), figures_of(row)
    verdict = verdict_of(row) + (f" ({notes})" if notes else "")
    reasons = "; ".join(_reasons(row)) if row.attempts else row.reason
    return ": ".join(part for part in (verdict, figures, reasons) if part)


def _reasons(row: ExperimentRow) -> list[str]:
    if row.runs > 1 and row.summary is not None:
        return list(row.summary.reasons)
    return list(row.attempts[-1].reasons)


def verdict_of(row: ExperimentRow) -> str:
    """The verdict that counts, or why there is none."""
    return str(row.verdict or row.state)


def notes_of(row: ExperimentRow) -> str:
    """How many runs a verdict rests on, and what was repeated."""
    repeated = len(row.attempts) - len({attempt.run for attempt in row.attempts})
    if row.runs > 1:
        return f"{row.runs} runs" + (f", {repeated} repeated" if repeated else "")
    return f"first attempt {row.attempts[0].verdict}" if repeated else ""


def figures_of(row: ExperimentRow) -> str:
    """The figures of a run or a search that a reader looks for first."""
    from streamgauge.model.latency import LATENCY_NAMES
    from streamgauge.report.capacity import headline
    from streamgauge.report.text import number, throughput_words

    if row.capacity is not None:
        return headline(row.capacity)[1]
    if row.summary is None:
        return ""
    if throughput := throughput_words(row.summary):
        return throughput
    kind = "total" if row.summary.percentile_ms("total", "p50") is not None else "latest"
    p50_ms, p99_ms = (row.summary.percentile_ms(kind, name) for name in ("p50", "p99"))
    return f"{LATENCY_NAMES[kind]} p50 {number(p50_ms, 1)} ms, p99 {number(p99_ms, 1)} ms"


def duration(seconds: float) -> str:
    """About how long, for a person."""
    minutes = seconds / 60
    if minutes < 2:
        return f"{seconds:.0f} s"
    if minutes < 10:
        return f"{minutes:.1f} min"
    return f"{minutes:.0f} min" if minutes < 120 else f"{minutes // 60:.0f} h {minutes % 60:02.0f} min"


def _print_plan(plans: Sequence[PlannedExperiment], done: Mapping[str, str]) -> None:
    from streamgauge import registry
    from streamgauge.measure.requirements import lacks

    chosen = [planned for planned in plans if planned.chosen]
    table = _table("experiment", "engine", "about", "")
    for planned in chosen:
        if planned.name in done:
            about, note = "–", f"done: {done[planned.name]}"
        elif planned.request is None:
            about, note = "–", planned.reason
        else:
            about = duration(planned.estimate_s)
            several = f"for all {planned.runs} runs" if planned.runs > 1 else ""
            note = "a search of several runs" if planned.experiment.purpose == "capacity" else several
            if planned.is_confirming:
                about, note = "–", f"the run that confirms what {planned.experiment.rate_of} found"
        table.add_row(planned.experiment.name, planned.engine, about, note)
    _print(table)
    todo = [planned for planned in chosen if planned.request is not None and planned.name not in done]
    about = f": about {duration(sum(planned.estimate_s for planned in todo))}" if todo else ""
    typer.echo(f"{len(todo)} of {len(chosen)} {'experiment' if len(chosen) == 1 else 'experiments'} to run{about}")
    for name in dict.fromkeys(planned.engine for planned in todo):
        if problems := lacks(registry.engine(name)):
            typer.echo(f"{name} is not ready: it lacks {'; '.join(problems)}")


def _print_outcome(content: Reproduction, only: Sequence[str], *, to_stderr: bool) -> None:
    from streamgauge.campaigns.reproduction_plan import is_chosen

    table = _table("experiment", "engine", "verdict", "")
    pending = [row for row in content.experiments if row.state == "pending"]
    for row in content.experiments:
        if row.state == "done" or (row.state == "not run" and is_chosen(row.name, only)):
            details = [figures_of(row) or row.reason, notes_of(row)]
            table.add_row(row.name, row.engine, verdict_of(row), "; ".join(part for part in details if part))
    _print(table, to_stderr=to_stderr)
    state = f"{content.state}, {len(pending)} experiments pending" if pending else content.state
    if pending and only:
        state = f"all that --only names is done, {len(pending)} other experiments are pending"
    typer.echo(f"{content.title}: {state}, {duration(content.seconds)} of runs", err=to_stderr)


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(*columns, box=None, header_style="bold")
    for column in table.columns[:-1]:
        column.no_wrap = True
    return table


def _print(table: Table, *, to_stderr: bool = False) -> None:
    from rich.console import Console

    console = Console(highlight=False, markup=False, stderr=to_stderr)
    if console.is_terminal:
        console.print(table)
        return
    console.width = WIDE
    with console.capture() as captured:
        console.print(table)
    for line in captured.get().splitlines():
        typer.echo(line.rstrip(), err=to_stderr)


def _fresh_directory(study: str) -> Path:
    from datetime import datetime

    moment = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"reproduce-{study}-{moment}-{secrets.token_hex(2)}"
