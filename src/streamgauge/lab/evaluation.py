"""The evaluator's processes, from the lab's side: started when first needed, kept for the next run."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from streamgauge import jars
from streamgauge.errors import UsageError
from streamgauge.evaluate import evaluate_without_spark, needs_spark
from streamgauge.evaluate import process as evaluator
from streamgauge.jvm.java import find_java
from streamgauge.lab.supervisor import Supervisor
from streamgauge.model import LoadPlan, ProcessSpec
from streamgauge.pipelines.job_file import inspect
from streamgauge.rundir import RunDir

ROLE = "evaluate"
PATIENCE_S = 4 * 3600.0
"""Recording and matching may take as long as they take; a dead evaluator is noticed at once."""

Say = Callable[[str], None]


def heap_need_mb(records: int) -> int:
    """Spark spills what does not fit; more heap for large runs only makes it faster."""
    return min(8192, 2048 + records // 5000)


class Evaluator:
    """Records topics and evaluates run directories, one after another, in one Spark session."""

    def __init__(self, supervisor: Supervisor, specs: Sequence[ProcessSpec]) -> None:
        self._supervisor = supervisor
        self._specs = specs
        self._started = False
        self._say: Say = lambda text: None

    def record(self, run: RunDir, say: Say) -> None:
        """Copy the run's topics into its directory."""
        self._ask("record", "recorded", run, say)

    def evaluate(self, run: RunDir, say: Say) -> dict[str, Any]:
        """Compute measures and summary. A run without records needs no Spark."""
        say("evaluating")
        if needs_spark(run):
            self._ask("evaluate", "evaluated", run, say)
        else:
            evaluate_without_spark(run)
        return run.summary()

    def _ask(self, request: str, answer: str, run: RunDir, say: Say) -> None:
        self._say = say
        if not self._started:
            self._started = True
            for spec in self._specs:
                self._supervisor.start(spec, on_event=self._hear)
        self._supervisor.send(ROLE, json.dumps({"do": request, "run": str(run.path.absolute())}))
        self._supervisor.wait_event(ROLE, answer, timeout_s=PATIENCE_S)

    def _hear(self, role: str, event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            self._say(str(event.get("message", "")))


def evaluate_again(run: RunDir, master: str, say: Say) -> dict[str, Any]:
    """Evaluate an existing run directory anew, in processes of its own."""
    if not run.outcome_path.is_file():
        raise UsageError("the run was cut off before its outcome was written", where=run.path, hint="run it again")
    outcome = run.outcome()
    if outcome.get("ends") and not outcome.get("hopeless") and not run.recorded_path.is_dir():
        raise UsageError(
            "the records of this run were deleted, so it cannot be evaluated again",
            where=run.recorded_path,
            expected="the recorded topics; those of a capacity search's probes are deleted once they are evaluated",
            hint=f"streamgauge report {run.path}, which needs none, or run it again: `command` in its manifest.json",
        )
    if not needs_spark(run):
        evaluate_without_spark(run)
        return run.summary()
    records = LoadPlan.from_json(run.manifest()["scenario"]["load"]).records
    name = f"evaluate-{run.path.name}-{secrets.token_hex(2)}"
    with kept_evaluator(name, run.path / "logs", master, records) as kept:
        return kept.evaluate(run, say)


def keep_reference(run: RunDir, file: Path) -> None:
    """Check the answers of a run of a reader's own job against the reference of this file from now on.

    What was run, ``job.py``, stays as it is. Raises UsageError for a file without a reference, or a run of ours.
    """
    found = inspect(file)
    if run.manifest()["scenario"].get("job") is None:
        raise UsageError("the run was not made with --job", where=run.path, hint=f"streamgauge evaluate {run.path}")
    if not found.key:
        raise UsageError("the job file has no reference", where=file, expected="def reference(inputs) and key = […]")
    run.keep_reference(file)


@contextmanager
def kept_evaluator(name: str, logs: Path, master: str, records: int | None) -> Iterator[Evaluator]:
    """An evaluator for one run directory after another; its Spark starts when first needed and ends with the block.

    ``records`` is about how many a run has, where that is known.
    """
    if jars.missing(("spark",)):
        jars.fetch(("spark",))
    with Supervisor(name, logs) as supervisor:
        home = supervisor.work_dir / "evaluate"
        heap_mb = heap_need_mb(records or 0)
        specs = evaluator.plan(find_java().path, home, jars.paths("spark"), master, heap_mb, records=records)
        yield Evaluator(supervisor, specs)
