"""One run, from its plan to its report: laid out, checked, measured, evaluated, reported, and cleaned up after."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from streamgauge import registry, report
from streamgauge.errors import EnvironmentProblem, Interrupted, PortTaken, UsageError
from streamgauge.evaluate import evaluate_without_spark, needs_spark
from streamgauge.measure import plan as plans
from streamgauge.measure import preflight
from streamgauge.measure.evaluation import Evaluator, evaluate_command, is_unrecorded
from streamgauge.measure.measurement import Measurement
from streamgauge.measure.plan import Request, RunPlan
from streamgauge.measure.reporter import Referee, Reporter
from streamgauge.measure.requirements import fetch_jars
from streamgauge.model.summary import Summary
from streamgauge.notices import notice
from streamgauge.processes import directory_lock, leftovers
from streamgauge.processes.ports import check_bound
from streamgauge.processes.supervisor import Supervisor
from streamgauge.rundir import RunDir


def remove_streams(plan: RunPlan, reporter: Reporter) -> None:
    """On the user's own servers only ours go. One that no longer answers keeps them, which must not hide the result."""
    try:
        plan.transport.remove()
    except EnvironmentProblem as problem:
        reporter.warn(problem.message())


def run_scenario(
    request: Request, reporter: Reporter, evaluator: Evaluator | None = None, referee: Referee | None = None
) -> tuple[RunDir, Summary]:
    """Lay the run out, check that there is room, run it, write its report. Only the run directory stays.

    Returns that directory and the summary; a temporary run has no report. Raises UsageError when another command uses
    the directory. What killed runs left behind is cleaned up first. A run that lost a port to another program before it
    began is started once more.
    """
    if referee is not None and request.scenario.slice_s:
        # A referee may end a run early, and its runs are short.
        request = replace(request, scenario=replace(request.scenario, slice_s=0))
    with directory_lock.hold(request.out):
        scenario = request.scenario
        engine = registry.engine(scenario.engine)
        leftovers.clear(reporter.say, reporter.warn)
        # Laid out once before anything is made, so that a mistake or a lack of room leaves nothing behind.
        checked = preflight.check(request)
        for warning in checked.warnings:
            reporter.warn(warning)
        fetch_jars(plans.needed_jar_groups(scenario, own_transport=checked.transport.own), reporter.phase)
        engine.prepare(reporter.phase)
        existed = request.out.exists()
        try:
            directory, summary = _run(request, checked.run, reporter, evaluator, referee)
        except PortTaken as problem:
            reporter.warn(notice("port-taken", problem=f"{problem.what}, {problem.where}"))
            RunDir(request.out, created=not existed).discard()
            # Another name: a server of the user's may still be removing the streams of the first.
            directory, summary = _run(request, plans.run_name(scenario), reporter, evaluator, referee)
        if not request.temporary:
            reporter.phase("writing the report")
            report.write(directory)
        return directory, summary


def _run(
    request: Request, name: str, reporter: Reporter, evaluator: Evaluator | None, referee: Referee | None
) -> tuple[RunDir, Summary]:
    directory, plan = None, None
    try:
        with Supervisor(name, request.out / "logs", warn=reporter.warn, say=reporter.say) as supervisor:
            if request.temporary:
                supervisor.own(request.out)
            directory = RunDir.create(request.out)
            if request.scenario.script is not None:
                directory.keep_script(request.scenario.script)
            if (reference := _reference_file(request)) is not None:
                directory.keep_reference(reference)
            plan = plans.draw(request, name, supervisor.work_dir)
            return directory, Measurement(plan, supervisor, reporter, evaluator, referee).measure()
    except KeyboardInterrupt:
        raise _interrupted(request) from None
    except UsageError as problem:
        # A mistake in the user's script that only running it could show. What was measured stays.
        if directory is not None and _has_load(directory):
            problem.where = problem.where or directory.path
        elif directory is not None:
            directory.discard()
        raise
    except EnvironmentProblem as problem:
        if plan is not None and directory is not None and not _has_load(directory):
            check_bound(directory, plan.servers, plan.server_ports, problem)
        raise
    finally:
        # When nobody uses them any more: a server may create a stream again for a client that still asks for it.
        if plan is not None:
            _give_back_streams(plan, reporter)


def _reference_file(request: Request) -> Path | None:
    scenario = request.scenario
    return registry.workload(scenario.workload).reference_file(scenario.parameters)


def _has_load(directory: RunDir) -> bool:
    return directory.outcome_path.exists() and directory.outcome().load_start_ns is not None


def _give_back_streams(plan: RunPlan, reporter: Reporter) -> None:
    """Remove the run's streams from the user's own servers, unless they hold what could not be recorded."""
    directory = RunDir(plan.request.out)
    if plan.transport.own or not is_unrecorded(directory):
        remove_streams(plan, reporter)
        return
    transport, addresses = plan.transport, ", ".join(stream.address for stream in plan.streams)
    reporter.warn(
        notice(
            "streams-kept",
            streams=f"{transport.stream_noun}s",
            address=transport.address,
            names=addresses,
            command=evaluate_command(directory),
        )
    )


def _interrupted(request: Request) -> Interrupted:
    """What to tell the user; a run that cannot be evaluated any more gets its summary now."""
    directory, hint = RunDir(request.out), None
    if directory.outcome_path.exists():
        outcome = directory.outcome()
        is_kept = request.transport_address is not None and is_unrecorded(directory)
        if not outcome.interrupted and (is_kept or needs_spark(directory)):
            hint = f"{evaluate_command(directory)}: nothing that was measured is lost"
        else:
            outcome.interrupted = True
            directory.write_outcome(outcome)
            evaluate_without_spark(directory)
    return Interrupted("interrupted: everything was stopped", where=directory.path, hint=hint)
