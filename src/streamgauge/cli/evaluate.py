"""``streamgauge evaluate``: compute the summary of an old run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.request import EvaluatorMaster, OldMaster, OldScript, master_given, script_given
from streamgauge.cli.result import AsJson, finish, print_result


def evaluate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run directory to evaluate.")],
    master: EvaluatorMaster = None,
    script: Annotated[
        Path | None,
        typer.Option(
            "--script",
            "--reference",
            metavar="FILE",
            help="A corrected file, for a run with --script or --reference: from now on its reference checks the "
            "results.",
        ),
    ] = None,
    as_json: AsJson = False,
    job: OldScript = None,
    old_master: OldMaster = None,
) -> None:
    """Evaluate a run directory again, and regenerate its summary and report."""
    from streamgauge.cli.live import LiveView
    from streamgauge.measure.evaluation import evaluate_again
    from streamgauge.processes.supervisor import signals_as_interrupt
    from streamgauge.rundir import RunDir

    script, evaluator = script_given(script, job), master_given(master, old_master)
    directory = RunDir.open(run)
    with signals_as_interrupt(), LiveView() as view:
        summary = evaluate_again(directory, evaluator, view, script)
    print_result(directory, summary, to_stderr=as_json)
    finish(directory.path, summary, as_json)
