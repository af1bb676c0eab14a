"""``streamgauge clean``: ends and removes what killed runs left behind."""

from __future__ import annotations

import typer

from streamgauge.processes import directory_lock
from streamgauge.processes.leftovers import survey


def clean() -> None:
    """End processes and remove directories that a killed run left behind. Active runs are not touched."""
    directory_lock.remove_stale()
    found = survey()
    for left in found:
        typer.echo(left.clean() if left.state == "dead" else f"left alone: {left.text}")
    if not found:
        typer.echo("nothing to clean")
