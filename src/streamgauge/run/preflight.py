"""What would stop a run before it starts: `plan` refuses whatever `run` would, for the same reasons."""

from __future__ import annotations

import tempfile
from pathlib import Path

from streamgauge import registry
from streamgauge.run import plan as plans
from streamgauge.run.plan import Request, RunPlan
from streamgauge.run.requirements import check_packages
from streamgauge.rundir import RunDir


def check(request: Request) -> RunPlan:
    """The run, laid out. Starts and writes nothing.

    Raises UsageError or EnvironmentProblem when the engine is not installed, the run directory cannot be written, there
    is no Java, too little memory or disk, or the user's own servers do not answer.
    """
    check_packages(registry.engine(request.scenario.engine))
    RunDir.check_free(request.out)
    name = plans.name_of(request)
    plan = plans.draw(request, name, Path(tempfile.gettempdir()) / name)
    plans.check_room(plan)
    plan.transport.check_reachable()
    return plan
