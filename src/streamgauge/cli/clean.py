"""``streamgauge clean``: ends and removes what killed runs left behind."""

from __future__ import annotations

import typer


def clean() -> None:
    """Stop processes and remove directories that killed runs left behind. Active runs are not touched."""
    from streamgauge.processes import directory_lock
    from streamgauge.processes.leftovers import survey

    directory_lock.remove_stale()
    leftovers = survey()
    for leftover in leftovers:
        typer.echo(leftover.clean() if leftover.state == "dead" else f"left alone: {leftover.text}")
    if not leftovers:
        typer.echo("nothing to clean")
