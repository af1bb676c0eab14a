"""The evaluation of a reader's own job: the answer that it is held against, and what can be told without one."""

from __future__ import annotations

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
from streamgauge.model import JobFile
from streamgauge.model.summary import JobUsed
from streamgauge.rundir import RunDir
from streamgauge.workloads.own.job_file import inspect, running
from streamgauge.workloads.own.workload import OwnWorkload, Unchecked

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def describe(run: RunDir, facts: Facts) -> JobUsed | None:
    """What the summary says of the job file: its name and sha256, and that of the file with the reference, or null.

    None for a run of one of our workloads.
    """
    job = facts.scenario.job
    if job is None:
        return None
    file = inspect(_reference_file(run))
    return JobUsed(name=job.name, sha256=job.sha256, reference=file.sha256 if file.key else None)


def is_validated(job: JobUsed | None) -> bool:
    """Whether the answers are checked: always, but for a job file without a reference."""
    return job is None or job.reference is not None


@contextmanager
def workload_of(run: RunDir, facts: Facts, spark: SparkSession) -> Iterator[Workload]:
    """The workload that the output is matched with, while that is done.

    Raises UsageError for a mistake in the reader's reference, with the command that evaluates the run again.
    """
    job, workload = facts.scenario.job, facts.workload
    if job is None:
        yield workload
        return
    file = _reference_file(run)
    if not inspect(file).key:
        yield Unchecked(workload)
        return
    original = _where_the_reader_has_it(run, job)
    try:
        with running(file, original, spark) as code:
            try:
                yield OwnWorkload(code, workload)
            except (StreamgaugeError, LedgerProblem):
                raise
            except Exception as problem:
                raise code.blamed("the reference of the job file could not be computed", problem) from problem
    except UsageError as problem:
        raise UsageError(
            problem.what,
            where=problem.where,
            got=problem.got,
            expected=problem.expected,
            hint=f"fix it; the run is kept: streamgauge evaluate {run.path} --job {original.name}",
        ) from problem


def _reference_file(run: RunDir) -> Path:
    found: Path = run.reference_path if run.reference_path.is_file() else run.job_path
    return found


def _where_the_reader_has_it(run: RunDir, job: JobFile) -> Path:
    """The path under which he knows the file with the reference: mistakes are told of that one."""
    return run.reference_from() or Path(job.path)


def answered(table: pa.Table) -> pa.Table:
    """Without the inputs that no output names: nobody knows whether one should."""
    import pyarrow.compute as pc

    return table.filter(pc.not_equal(table.column("fate"), MISSING))


def warnings(figures: Figures) -> list[str]:
    """What the reader of an unvalidated run has to know first."""
    said = ["unvalidated: the job file has no reference, so nothing says whether its answers are right"]
    if not figures.stamps.output_per_second.any():
        return [*said, "nothing came out"]
    if not figures.tally.rows.any():
        return [*said, "the latency is not known: the output carries no n_seq that names its input"]
    return [*said, "the latency is as the output says: each result was matched with the input whose n_seq it carries"]
