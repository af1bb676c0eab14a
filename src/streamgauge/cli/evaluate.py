"""``streamgauge evaluate``: compute the summary of an old run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.request import OldScript, script_given
from streamgauge.cli.result import AsJson, finish


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    master: Annotated[str, typer.Option(metavar="URL", help="The Spark that evaluates.")] = "local[*]",
    script: Annotated[
        Path | None,
        typer.Option(
            "--script",
            metavar="FILE",
            help="A fixed script: the answers of a run with --script are checked against its reference from now on.",
        ),
    ] = None,
    as_json: AsJson = False,
    job: OldScript = None,
) -> None:
    """Evaluate a run directory again, and regenerate its summary and report."""
    from streamgauge.cli.live import LiveView
    from streamgauge.jvm.spark import check_master
    from streamgauge.processes.supervisor import signals_as_interrupt
    from streamgauge.run.evaluation import evaluate_again
    from streamgauge.rundir import RunDir

    script = script_given(script, job)
    check_master(master)
    directory = RunDir.open(run)
    with signals_as_interrupt(), LiveView() as view:
        summary = evaluate_again(directory, master, view, script)
    finish(directory, summary, as_json)
