"""``streamgauge evaluate``: compute the summary of an old run anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.request import Master


def evaluate(
    run: Annotated[Path, typer.Argument(help="A run directory.")],
    master: Master = "local[*]",
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json alone on stdout.")] = False,
) -> None:
    """Evaluate a run directory again, and write its summary and report anew."""
    from streamgauge import report
    from streamgauge.cli.live import LiveView
    from streamgauge.cli.result import print_result
    from streamgauge.evaluate.verdict import exit_code
    from streamgauge.lab.evaluation import evaluate_again
    from streamgauge.lab.supervisor import signals_as_interrupt
    from streamgauge.rundir import RunDir

    directory = RunDir.open(run)
    with signals_as_interrupt(), LiveView() as view:
        summary = evaluate_again(directory, master, view.phase)
        view.phase("writing the report")
        report.write(directory)
    print_result(directory, summary, to_stderr=as_json)
    if as_json:
        typer.echo(json.dumps(summary, indent=1, ensure_ascii=False))
    raise typer.Exit(exit_code(summary))
