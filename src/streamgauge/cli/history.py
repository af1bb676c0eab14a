"""``streamgauge history``: earlier runs, as a list and as a page with a plot over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge import defaults
from streamgauge.cli import choices
from streamgauge.cli.layout import echo_json

if TYPE_CHECKING:
    from rich.table import Table

    from streamgauge.report.history import Entry

FORMAT = 1
WIDE = 200
"""Columns of a table that goes into a file, which has no edge to wrap at."""


def history(
    scenario: Annotated[
        str | None,
        typer.Argument(
            metavar="SCENARIO", help="Only the runs of this scenario.", autocompletion=choices.complete_scenario
        ),
    ] = None,
    root: Annotated[Path, typer.Option("--in", metavar="DIR", help="The directory that holds the runs.")] = Path(
        "runs"
    ),
    out: Annotated[Path, typer.Option(metavar="FILE", help="The page to write.")] = Path("history.html"),
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print JSON alone on stdout: format and runs, each with at, directory, scenario, engine, stage, "
            "verdict, state, p50_ms, p99_ms, offered_per_s, output_per_s, settings. Writes no page.",
        ),
    ] = False,
) -> None:
    """List earlier runs, newest last, and write a page that plots the VALID ones over time."""
    from rich.console import Console

    from streamgauge.errors import UsageError
    from streamgauge.processes.directory_lock import is_held
    from streamgauge.report.history import find, write

    if not root.is_dir():
        raise UsageError(
            f"no such directory: {root}",
            expected="the directory that holds your runs",
            hint=f"--in DIR, or measure something first: streamgauge run {defaults.SCENARIO}",
        )
    entries, notes = find(root, scenario, is_held)
    for note in notes:
        typer.echo(note, err=True)
    if not entries:
        known = sorted({entry.scenario for entry in find(root)[0]})
        raise UsageError(
            "no earlier runs" + (f" of {scenario}" if scenario else ""),
            where=root,
            got=f"runs of {', '.join(known)}" if known else "none that can be read",
            hint=f"streamgauge history --in {root}" if known else f"streamgauge run {defaults.SCENARIO}",
        )
    if as_json:
        echo_json({"format": FORMAT, "runs": [_as_json(entry) for entry in entries]})
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    console.print(_table(entries))
    typer.echo(f"page     {write(entries, notes, out)}")


def _as_json(entry: Entry) -> dict[str, Any]:
    return {**vars(entry), "at": entry.at.isoformat(), "directory": str(entry.directory)}


def _table(entries: Sequence[Entry]) -> Table:
    from rich.markup import escape
    from rich.table import Table

    from streamgauge.report.text import number

    names = ("when", "directory", "scenario", "engine", "verdict", "p50 ms", "p99 ms", "output/s")
    table = Table(*names, box=None, header_style="bold")
    table.pad_edge = False
    for column in (table.columns[0], *table.columns[4:]):
        column.no_wrap = True
    for column in table.columns[5:]:
        column.justify = "right"
    for entry in entries:
        figures = (entry.p50_ms, entry.p99_ms, entry.output_per_s) if entry.usable else (None, None, None)
        table.add_row(
            entry.at.astimezone().strftime("%Y-%m-%d %H:%M"),
            escape(str(entry.directory)),
            escape(entry.scenario),
            escape(entry.engine),
            escape(entry.verdict),
            *(number(figure, 1) for figure in figures),
        )
    return table
