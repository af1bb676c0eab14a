"""The evaluator's processes: started when first needed, kept for the next run, and restarted when they die or fail."""

from __future__ import annotations

import json
import secrets
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streamgauge import jars, registry, report, stored
from streamgauge.contracts import Transport
from streamgauge.errors import EnvironmentProblem, Interrupted, UsageError
from streamgauge.evaluate import evaluate_without_spark, needs_spark
from streamgauge.evaluate import process as evaluator
from streamgauge.jvm.java import find_java
from streamgauge.jvm.spark import is_local
from streamgauge.measure.reporter import Reporter
from streamgauge.model import NS_PER_MS, ProcessSpec
from streamgauge.model.outcome import Outcome
from streamgauge.model.slices import SliceBounds
from streamgauge.model.summary import Summary
from streamgauge.notices import notice
from streamgauge.processes import directory_lock
from streamgauge.processes.supervisor import Supervisor
from streamgauge.rundir import RunDir
from streamgauge.workloads.own.script import inspect

ROLE, GROUP = "evaluate", "evaluate"
PATIENCE_S = 4 * 3600.0
"""Recording and matching may take as long as they take; a dead evaluator is noticed at once."""

Say = Callable[[str], None]


def heap_need_mb(records: int) -> int:
    """Spark spills what does not fit. With what Python and the JVM need besides, it stays below 4 GB."""
    return min(2400, 2048 + records // 5000)


class Evaluator:
    """Records streams and evaluates run directories, one after another, in one Spark session.

    ``kept``: whether that session stays for the next run. On a cluster it would keep cores that the next run's system
    under test may need.

    When one of its processes has died, or a step failed, both are started again and the step is repeated once. Raises
    EnvironmentProblem when that fails too, and UsageError, at once, for a mistake of the user's.
    """

    def __init__(self, supervisor: Supervisor, specs: Sequence[ProcessSpec], *, kept: bool = True) -> None:
        self._supervisor = supervisor
        self._specs = specs
        self._kept = kept
        self._started = False
        self._abandoned = False
        self._say: Say = lambda text: None

    def record(self, run: RunDir, say: Say, warn: Say = lambda text: None) -> None:
        """Copy the run's streams into its directory."""
        self._ask("record", "recorded", run, say, warn)

    def evaluate_slice(self, run: RunDir, number: int, say: Say, warn: Say = lambda text: None) -> None:
        """Record and evaluate a slice of a run (``evaluate.slices``)."""
        self._ask("evaluate-slice", "evaluated-slice", run, say, warn, number=number)

    def abandon(self) -> None:
        """Repeat no step any more: everything is about to be stopped. May be called in another thread."""
        self._abandoned = True

    def evaluate(self, run: RunDir, say: Say, warn: Say = lambda text: None) -> Summary:
        """Compute measures and summary. A run without records needs no Spark."""
        say("evaluating")
        if needs_spark(run):
            try:
                self._ask("evaluate", "evaluated", run, say, warn)
            except EnvironmentProblem as problem:
                problem.hint = f"{evaluate_command(run)}: nothing that was measured is lost"
                raise
        else:
            evaluate_without_spark(run)
        if not self._kept:
            self._stop()
        return run.summary()

    def _stop(self) -> None:
        self._supervisor.stop_group(GROUP)
        self._started = False

    def _ask(self, request: str, answer: str, run: RunDir, say: Say, warn: Say, **more: int) -> None:
        self._say = say
        self._supervisor.check_guardian()
        try:
            self._ask_once(request, answer, run, more)
        except EnvironmentProblem as problem:
            if self._abandoned:
                raise
            warn(notice("evaluator-restarted", problem=f"{problem.what}, {problem.got}"))
            self._stop()
            self._ask_once(request, answer, run, more)

    def _ask_once(self, request: str, answer: str, run: RunDir, more: Mapping[str, int]) -> None:
        if not self._started:
            self._started = True
            for spec in self._specs:
                self._supervisor.start(spec, on_event=self._hear)
        for running in self._supervisor.processes():
            if running.group == GROUP and running.exit_code is not None:
                raise EnvironmentProblem(f"{running.role} ended", got=f"exit code {running.exit_code}")
        self._supervisor.send(ROLE, json.dumps({"do": request, "run": str(run.path.absolute()), **more}))
        self._supervisor.wait_event(ROLE, answer, timeout_s=PATIENCE_S)

    def _hear(self, role: str, event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            self._say(str(event.get("message", "")))


def evaluate_command(run: RunDir) -> str:
    """What completes a run that was measured but not evaluated."""
    return f"streamgauge evaluate {shlex.quote(str(run.path))}"


def is_unrecorded(run: RunDir) -> bool:
    """Whether the run was measured to its end, but its streams were not recorded."""
    if not run.outcome_path.is_file() or not run.recorded_path.is_dir():
        return False
    if run.manifest().scenario.slice_s:
        return False  # what was evaluated is gone, and the rest cannot be evaluated without it
    outcome = run.outcome()
    measured = bool(outcome.ends) and not outcome.hopeless and not outcome.interrupted
    return measured and not needs_spark(run)


def evaluate_again(run: RunDir, master: str, reporter: Reporter, script: Path | None = None) -> Summary:
    """Evaluate a run directory again, in new processes, and regenerate its report.

    With ``script``, the reference of that file is used from now on.

    Where recording failed on the user's own servers, the streams that were kept there are recorded first, then removed.
    Raises UsageError for a run that cannot be evaluated or that another command is using, and Interrupted.
    """
    with directory_lock.hold(run.path):
        if script is not None:
            keep_reference(run, script)
        summary = _evaluate_again(run, master, reporter)
        reporter.phase("writing the report")
        report.write(run)
        return summary


def _by_slices(run: RunDir) -> Outcome | None:
    """The outcome of a run whose command was killed while slices were evaluated: interrupted after the last of them.

    None where no slice was.
    """
    slices = run.slices()
    if not slices or slices[-1].until_ms is None:
        return None
    outcome = Outcome.blank()
    bounds = stored.read(run.slice_(len(slices)).slice_bounds_path, SliceBounds)
    outcome.begin_load(bounds.load_start_ns, run.manifest().scenario.load.plan())
    outcome.drain_end_ns = slices[-1].until_ms * NS_PER_MS
    outcome.interrupted = True
    return outcome


def _evaluate_again(run: RunDir, master: str, reporter: Reporter) -> Summary:
    if not run.outcome_path.is_file() and (outcome := _by_slices(run)) is not None:
        run.write_outcome(outcome)
    if not run.outcome_path.is_file():
        raise UsageError("the run was cut off before its outcome was written", where=run.path, hint="run it again")
    outcome = run.outcome()
    if outcome.ends and not outcome.hopeless and not run.recorded_path.is_dir():
        report_command = f"streamgauge report {shlex.quote(str(run.path))}"
        raise UsageError(
            "the records of this run were deleted, so it cannot be evaluated again",
            where=run.recorded_path,
            expected="the recorded streams; those of a capacity search's probes are deleted once they are evaluated",
            hint=f"{report_command}, which needs none, or run it again: `command` in its manifest.json",
        )
    is_kept = is_unrecorded(run) and not run.manifest().transport.own
    if not is_kept and not needs_spark(run):
        evaluate_without_spark(run)
        return run.summary()
    records = run.manifest().scenario.load.plan().records
    name = f"evaluate-{run.path.name}-{secrets.token_hex(2)}"
    try:
        with kept_evaluator(name, run.path / "logs", master, records) as evaluator:
            if is_kept:
                _record_kept(run, evaluator, reporter)
            return evaluator.evaluate(run, reporter.phase, reporter.warn)
    except KeyboardInterrupt:
        raise Interrupted("interrupted: everything was stopped", where=run.path, hint=evaluate_command(run)) from None


def _record_kept(run: RunDir, evaluator: Evaluator, reporter: Reporter) -> None:
    manifest = run.manifest()
    transport: Transport = registry.transport(manifest.transport.name).attach(manifest.transport.as_json())
    streams = manifest.all_streams
    if not all(stream.address.startswith(f"streamgauge.{manifest.run}.") for stream in streams):
        raise UsageError(
            f"the manifest names {transport.stream_noun}s that its run did not create",
            where=run.manifest_path,
            got=", ".join(stream.address for stream in streams),
            expected=f"streamgauge.{manifest.run}.…",
        )
    reporter.phase(f"recording the {transport.stream_noun}s")
    try:
        transport.ends(streams)
    except EnvironmentProblem as problem:
        problem.hint = (
            f"start the {transport.server_noun} again; if the {transport.stream_noun}s are gone, the run has to be "
            "repeated"
        )
        raise
    evaluator.record(run, reporter.phase, reporter.warn)
    transport.adopt(streams)
    try:
        transport.remove()
    except EnvironmentProblem as problem:
        reporter.warn(problem.message())


def keep_reference(run: RunDir, file: Path) -> None:
    """Check the answers of a run against the reference of this file from now on.

    ``script.py``, which was run, is not changed. Raises UsageError for a file without a reference, and for a run
    that was made with neither a script nor a reference.
    """
    has_script = run.manifest().scenario.script is not None
    if not has_script and not run.reference_path.is_file():
        raise UsageError(
            "the run was made with neither --script nor --reference",
            where=run.path,
            hint=evaluate_command(run),
        )
    if not inspect(file, only_reference=not has_script).key:
        raise UsageError("the script has no reference", where=file, expected="def reference(inputs) and key = […]")
    run.keep_reference(file)


@contextmanager
def kept_evaluator(name: str, logs: Path, master: str, records: int | None) -> Iterator[Evaluator]:
    """An evaluator for one run directory after another; its Spark starts when first needed and ends with the block.

    On a cluster (``master``) it ends after each run.
    ``records`` is about how many a run has, where that is known.
    """
    if jars.missing(("spark",)):
        jars.fetch(("spark",))
    with Supervisor(name, logs) as supervisor:
        home = supervisor.work_dir / "evaluate"
        heap_mb = heap_need_mb(records or 0)
        specs = evaluator.plan(find_java().path, home, jars.paths("spark"), master, heap_mb, records=records)
        yield Evaluator(supervisor, specs, kept=is_local(master))
