"""Checks before a run, shared by `plan` and `run`, so that both refuse the same requests with the same message."""

from __future__ import annotations

from streamgauge import dirs, registry
from streamgauge.measure import plan as plans
from streamgauge.measure import slices
from streamgauge.measure.plan import Request, RunPlan
from streamgauge.measure.requirements import check_packages
from streamgauge.rundir import check_free


def check(request: Request) -> RunPlan:
    """The plan of the run. Starts and writes nothing.

    Raises UsageError or EnvironmentProblem if the engine is not installed, the run directory cannot be written, Java is
    missing, memory or disk is too small, or the user's own servers cannot be reached.
    """
    check_packages(registry.engine(request.scenario.engine))
    check_free(request.out)
    name = plans.name_of(request)
    plan = plans.draw(request, name, dirs.temp_dir() / name)
    if request.scenario.slice_s:
        slices.check(request.scenario)
    plans.check_room(plan)
    plan.transport.check_reachable()
    return plan
