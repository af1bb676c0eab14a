"""``streamgauge report RUN``: regenerates the report of an evaluated run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from streamgauge.rundir import RunDir


def report(
    run: Annotated[Path, typer.Argument(help="The run directory.", metavar="RUN")],
    against: Annotated[
        Path | None, typer.Option(metavar="OTHER", help="An earlier run to draw behind this one, as a baseline.")
    ] = None,
) -> None:
    """Regenerate the report of a run from what was measured, and print where it is."""
    from streamgauge.report import write
    from streamgauge.rundir import RunDir

    opened = RunDir.open(run)
    typer.echo(write(opened, None if against is None else _baseline(opened, against)))


def _baseline(run: RunDir, path: Path) -> RunDir:
    """Raises UsageError, which names the option, when it is not an evaluated run, or the run itself."""
    from streamgauge.errors import UsageError
    from streamgauge.report.source import read
    from streamgauge.rundir import RunDir

    if path.resolve() == run.path.resolve():
        raise UsageError("--against names the run itself", got=path, expected="another run directory")
    try:
        baseline = RunDir.open(path)
        read(baseline)
    except UsageError as problem:
        raise problem.about("--against") from None
    return baseline
