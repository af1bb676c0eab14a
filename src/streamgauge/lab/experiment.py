"""One run: laid out, checked, measured, and cleaned up after."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from streamgauge import registry
from streamgauge.errors import EnvironmentProblem, Interrupted, UsageError
from streamgauge.evaluate import evaluate_without_spark
from streamgauge.lab import blueprint as blueprints
from streamgauge.lab.blueprint import Blueprint, Request
from streamgauge.lab.course import Course
from streamgauge.lab.evaluation import Evaluator
from streamgauge.lab.requirements import check_packages, fetch_jars
from streamgauge.lab.supervisor import Supervisor
from streamgauge.lab.watch import Referee, Watch
from streamgauge.rundir import RunDir


def remove_topics(plan: Blueprint, watch: Watch) -> None:
    """On the user's own broker only ours go. One that no longer answers keeps them, which must not hide the result."""
    try:
        plan.transport.remove()
    except EnvironmentProblem as problem:
        watch.warn(problem.message())


def _run_and_clean_up(
    request: Request,
    run: str,
    directory: RunDir,
    watch: Watch,
    evaluator: Evaluator | None,
    referee: Referee | None,
) -> dict[str, Any]:
    plan = None
    try:
        with Supervisor(run, directory.path / "logs") as supervisor:
            plan = blueprints.draw(request, run, supervisor.work_dir)
            return Course(plan, supervisor, watch, evaluator, referee).measure()
    finally:
        # When nobody uses them any more: a broker may make a topic anew for a client that still asks for it.
        if plan is not None:
            remove_topics(plan, watch)


def run_experiment(
    request: Request, watch: Watch, evaluator: Evaluator | None = None, referee: Referee | None = None
) -> tuple[RunDir, dict[str, Any]]:
    """Lay the run out, check that there is room, run it. Nothing of it is left behind but the run directory."""
    scenario = request.scenario
    run = blueprints.run_name(scenario)
    engine = registry.engine(scenario.engine)
    check_packages(engine)
    groups = blueprints.needed_jar_groups(scenario, own_broker=request.bootstrap is None)
    fetch_jars(groups, watch.phase)
    engine.prepare(watch.phase)
    # Laid out once before anything is made, so that a mistake or a lack of room leaves nothing behind.
    blueprints.check_room(blueprints.draw(request, run, Path(tempfile.gettempdir()) / run))
    directory = RunDir.create(request.out)
    try:
        if scenario.job is not None:
            directory.keep_job(scenario.job)
        summary = _run_and_clean_up(request, run, directory, watch, evaluator, referee)
    except KeyboardInterrupt:
        if directory.outcome_path.exists():
            evaluate_without_spark(directory)
        raise Interrupted("interrupted: everything was stopped", where=directory.path) from None
    except UsageError:
        # A mistake in the user's job file that only running it could show; one in its reference comes after the drain.
        if not directory.outcome_path.exists() or directory.outcome()["drain_end_ns"] is None:
            shutil.rmtree(directory.path)
        raise
    return directory, summary
