"""``streamgauge report RUN``: writes the report of an evaluated run anew."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(run: Annotated[Path, typer.Argument(help="The run directory.", metavar="RUN")]) -> None:
    """Write the report of a run anew, from what was measured, and print where it is."""
    from streamgauge.report import write
    from streamgauge.rundir import RunDir

    typer.echo(write(RunDir.open(run)))
