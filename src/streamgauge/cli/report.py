"""``streamgauge report RUN``: regenerates the report of an evaluated run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(run: Annotated[Path, typer.Argument(help="The run directory.", metavar="RUN")]) -> None:
    """Regenerate the report of a run from what was measured, and print where it is."""
    from streamgauge.report import write
    from streamgauge.rundir import RunDir

    typer.echo(write(RunDir.open(run)))
