"""``streamgauge clean``: ends and removes what killed runs left behind."""

from __future__ import annotations

import platform
from pathlib import Path

import typer

from streamgauge.lab import proctable
from streamgauge.lab.guardian import clean_up
from streamgauge.lab.journal import Record, journals, read_journal


def clean() -> None:
    """End processes and remove directories that a killed run left behind. A run that lives is left alone."""
    paths = journals()
    for path in paths:
        record = read_journal(path)
        if record is None:
            typer.echo(f"left alone: {path} is no journal of this version")
        elif reason := _reason_to_leave(record):
            typer.echo(f"left alone: {record.run} {reason}")
        else:
            typer.echo(_clean(path, record))
    if not paths:
        typer.echo("nothing to clean")


def _reason_to_leave(record: Record) -> str | None:
    if record.host != platform.node():
        return f"belongs to the machine {record.host}"
    if record.boot != proctable.boot():
        return None
    if proctable.is_alive(record.cli):
        return f"is running (process {record.cli.pid})"
    if proctable.is_alive(record.guardian):
        return f"is being cleaned up by its guardian (process {record.guardian.pid})"
    return None


def _clean(path: Path, record: Record) -> str:
    done = clean_up(path, record)
    if done.stuck:
        numbers = ", ".join(map(str, done.stuck))
        return f"not clean: {record.run}: processes {numbers} do not end; try again later"
    removed = "".join(f", removed {directory}" for directory in done.removed)
    return f"cleaned: {record.run}: ended {done.ended} processes{removed}"
