"""The evaluation of a user's script: the answer that it is checked against, and what is known without one."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.contracts import Workload
from streamgauge.errors import StreamgaugeError, UsageError
from streamgauge.evaluate.facts import Facts
from streamgauge.evaluate.metrics.generator import LedgerProblem
from streamgauge.evaluate.summary import Figures
from streamgauge.evaluate.tally import MISSING
from streamgauge.model import Script
from streamgauge.model.summary import ScriptUsed
from streamgauge.notices import Notice, notice
from streamgauge.rundir import RunDir
from streamgauge.workloads.own.script import inspect, running
from streamgauge.workloads.own.workload import OwnWorkload, Unchecked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def describe(run: RunDir, facts: Facts) -> ScriptUsed | None:
    """The script, as in the summary: its name and sha256, and that of the file with the reference, or null.

    None for a run of one of our workloads.
    """
    script = facts.scenario.script
    if script is None:
        return None
    file = inspect(_reference_file(run))
    return ScriptUsed(name=script.name, sha256=script.sha256, reference=file.sha256 if file.key else None)


def is_validated(run: RunDir, facts: Facts, script: ScriptUsed | None) -> bool:
    """Whether the answers are checked: always, but for a program of the user's without a reference."""
    if script is not None:
        return script.reference is not None
    return facts.workload.checks_answers or run.reference_path.is_file()


def is_counted(run: RunDir, facts: Facts, script: ScriptUsed | None) -> bool:
    """Whether it is known which results there must be, although their values may not be checked."""
    return is_validated(run, facts, script) or (script is None and facts.workload.complete)


@contextmanager
def workload_of(run: RunDir, facts: Facts, spark: SparkSession) -> Iterator[Workload]:
    """The workload that the output is matched with, while that is done.

    Raises UsageError for a mistake in the user's reference, with the command that evaluates the run again.
    """
    script, workload = facts.scenario.script, facts.workload
    if script is None and not run.reference_path.is_file():
        yield workload
        return
    file = _reference_file(run)
    if script is not None and not inspect(file).key:
        yield Unchecked(workload)
        return
    original = _original(run, script)
    try:
        with running(file, original, spark, only_reference=script is None) as code:
            try:
                yield OwnWorkload(code, workload)
            except (StreamgaugeError, LedgerProblem):
                raise
            except Exception as problem:
                raise code.blamed("the reference of the script could not be computed", problem) from problem
    except UsageError as problem:
        raise UsageError(
            problem.what,
            where=problem.where,
            got=problem.got,
            expected=problem.expected,
            hint=f"fix it; the run is kept: streamgauge evaluate {shlex.quote(str(run.path))} "
            f"{'--reference' if script is None else '--script'} {original.name}",
        ) from problem


def _reference_file(run: RunDir) -> Path:
    path: Path = run.reference_path if run.reference_path.is_file() else run.script_path
    return path


def _original(run: RunDir, script: Script | None) -> Path:
    """Where the user has the file with the reference: mistakes are reported there."""
    return run.reference_from() or (run.reference_path if script is None else Path(script.path))


def answered(table: pa.Table) -> pa.Table:
    """Without the inputs that no output names: it is unknown whether one should."""
    import pyarrow.compute as pc

    return table.filter(pc.not_equal(table.column("fate"), MISSING))


def warnings(facts: Facts, figures: Figures) -> list[Notice]:
    """What a reader of an unvalidated run has to know first."""
    if facts.workload.folded:
        return [notice("answers-unchecked"), notice("latency-by-commit")]
    if facts.scenario.script is None:
        found = figures.tally.rows.any()
        return [notice("answers-unchecked"), notice("latency-by-field") if found else notice("field-not-found")]
    messages = [notice("unvalidated")]
    if not figures.stamps.output_per_second.any():
        return [*messages, notice("no-output")]
    if not figures.tally.rows.any():
        return [*messages, notice("output-without-n-seq")]
    return [*messages, notice("latency-by-n-seq")]
