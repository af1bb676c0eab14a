"""The evaluation of a reader's own job: the answer that it is held against, and what can be told without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge import registry
from streamgauge.contracts import Pipeline
from streamgauge.errors import StreamgaugeError, UsageError
from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import throughput
from streamgauge.evaluate.metrics.generator import LedgerProblem
from streamgauge.evaluate.metrics.trend import NO_SERIES, Series
from streamgauge.evaluate.summary import Figures
from streamgauge.evaluate.tally import MISSING
from streamgauge.model import NS_PER_S
from streamgauge.workloads.own.job_file import inspect, running
from streamgauge.workloads.own.workload import OwnPipeline, Unchecked
from streamgauge.rundir import RunDir
from streamgauge.schemas import REFERENCE_FROM
from streamgauge.stored import read_json

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession


def describe(run: RunDir, facts: Facts) -> dict[str, Any] | None:
    """What the summary says of the job file: its name and sha256, and that of the file with the reference, or null.

    None for a run of a pipeline of ours.
    """
    job = facts.scenario.get("job")
    if job is None:
        return None
    file = inspect(_reference_file(run))
    return {
        "name": Path(job["path"]).name,
        "sha256": job["sha256"],
        "reference": file.sha256 if file.key else None,
    }


def is_validated(job: Mapping[str, Any] | None) -> bool:
    """Whether the answers are checked: always, but for a job file without a reference."""
    return job is None or job["reference"] is not None


@contextmanager
def pipeline_of(run: RunDir, facts: Facts, spark: SparkSession) -> Iterator[Pipeline]:
    """The pipeline that the output is matched with, while that is done.

    Raises UsageError for a mistake in the reader's reference, with the command that evaluates the run again.
    """
    job, streams = facts.scenario.get("job"), [stream.name for stream in facts.inputs]
    if job is None:
        yield registry.workload(facts.scenario["pipeline"])
        return
    file = _reference_file(run)
    if not inspect(file).key:
        yield Unchecked(streams)
        return
    original = _where_the_reader_has_it(run, job)
    try:
        with running(file, original, spark) as code:
            try:
                yield OwnPipeline(code, streams)
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


def _where_the_reader_has_it(run: RunDir, job: Mapping[str, Any]) -> Path:
    """The path under which he knows the file with the reference: mistakes are told of that one."""
    if run.reference_from_path.is_file():
        return Path(read_json(run.reference_from_path, REFERENCE_FROM)["path"])
    return Path(job["path"])


def answered(table: pa.Table) -> pa.Table:
    """Without the inputs that no output names: nobody knows whether one should."""
    import pyarrow.compute as pc

    return table.filter(pc.not_equal(table.column("fate"), MISSING))


def with_consumed_backlog(run: RunDir, facts: Facts, moments: Moments, figures: Figures) -> Figures:
    """The figures with the backlog that the engine's own positions show: nothing else tells which inputs are done."""
    backlog = consumed_backlog(run.samples("positions"), [stream.name for stream in facts.inputs], moments)
    if not any(value is not None for value in backlog):
        return replace(figures, backlog_measured=NO_SERIES, waiting_measured=NO_SERIES)
    measured = Series.of(backlog, moments.measured_seconds())
    filled = np.array([0.0 if value is None else value for value in backlog])
    end = min(max((moments.load_end_ns - moments.load_start_ns) // NS_PER_S - 1, 0), len(filled) - 1)
    return replace(
        figures,
        backlog=filled,
        backlog_end=round(filled[end]),
        backlog_measured=measured,
        waiting_measured=throughput.in_seconds_of_load(measured, facts, moments),
    )


def consumed_backlog(
    samples: Sequence[Mapping[str, Any]], inputs: Sequence[str], moments: Moments
) -> list[float | None]:
    """Records appended and not consumed in each second, by the last sample of it; None where that is not known.

    The mean since the sample before, where the run has one: a single look would show a beat with the engine's batches.
    """
    found: list[float | None] = [None] * moments.seconds
    for sample in samples:
        second = (sample["t_ns"] - moments.load_start_ns) // NS_PER_S
        if sample["consumed"] is not None and 0 <= second < moments.seconds:
            look = max(sum(sample["appended"][name] for name in inputs) - sample["consumed"], 0)
            mean = sample.get("lag")
            found[second] = float(look if mean is None else mean)
    return found


def warnings(figures: Figures) -> list[str]:
    """What the reader of an unvalidated run has to know first."""
    said = ["unvalidated: the job file has no reference, so nothing says whether its answers are right"]
    if not figures.stamps.output_per_second.any():
        return [*said, "nothing came out"]
    if not figures.tally.rows.any():
        return [*said, "the latency is not known: the output carries no n_seq that names its input"]
    return [*said, "the latency is as the output says: each result was matched with the input whose n_seq it carries"]
