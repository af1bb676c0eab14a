"""``streamgauge run``: one measurement, watched, ending with a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamgauge.cli.request import takes_request
from streamgauge.cli.result import AsJson, finish

if TYPE_CHECKING:
    from streamgauge.lab.blueprint import Request


@takes_request
def run(request: Request, as_json: AsJson = False) -> None:
    """Run a scenario and say whether its numbers can be trusted, then what they are."""
    from streamgauge import report
    from streamgauge.cli.live import LiveView
    from streamgauge.lab.experiment import run_experiment
    from streamgauge.lab.supervisor import signals_as_interrupt

    with signals_as_interrupt(), LiveView() as view:
        directory, summary = run_experiment(request, view)
        view.phase("writing the report")
        report.write(directory)
    finish(directory, summary, as_json)
