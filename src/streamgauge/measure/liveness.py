"""Whether the processes of a run are still alive, and what it means where one is not."""

from __future__ import annotations

from streamgauge.errors import EngineFailed, EnvironmentProblem
from streamgauge.measure.injection import FaultInjector
from streamgauge.measure.outcome import never_started
from streamgauge.measure.plan import RunPlan
from streamgauge.model.outcome import Outcome
from streamgauge.notices import notice
from streamgauge.processes.supervisor import Supervisor


def check(plan: RunPlan, supervisor: Supervisor, faults: FaultInjector, outcome: Outcome) -> None:
    """Note a dead load worker, which makes the run INVALID. Raises EngineFailed for a dead engine or transport."""
    try:
        # The evaluator is started again by those who need it.
        supervisor.check(but="evaluate")
    except EnvironmentProblem as problem:
        dead = {process.group for process in supervisor.ended()} - {"evaluate"}
        if dead != {"load"}:
            raise EngineFailed(problem.what, log_tail=problem.log_tail) from None
        outcome.load_error = outcome.load_error or f"{problem.what}: {problem.got}"
    if failed := faults.failed_restart:
        outcome.ended = supervisor.ended() or [
            never_started(failed.role, failed.problem, plan.group_of(failed.role), failed.fault)
        ]
        raise EngineFailed(failed.problem.what, log_tail=failed.problem.log_tail)
    if killed := faults.killed() & {spec.role for spec in plan.load}:
        outcome.load_error = notice("load-killed", roles=", ".join(sorted(killed)))
