"""Evaluates a run slice by slice while it goes on (docs/reference/measurement.md, *Slices*).

The records of a slice are copied, judged with what the slices before carried on, reduced to figures, and dropped.
Importing it does not import pyspark.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from streamgauge import stored
from streamgauge.contracts import INPUT_STAMPS, RunningWorkload
from streamgauge.errors import UsageError
from streamgauge.evaluate import match, running
from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics.generator import Ledger
from streamgauge.evaluate.metrics.latency import Distribution, added
from streamgauge.evaluate.record import record_slice
from streamgauge.evaluate.recorded import read_outputs
from streamgauge.evaluate.slices import digest
from streamgauge.evaluate.slices.carried import PARTS, Carried, judge
from streamgauge.evaluate.slices.digest import Windows
from streamgauge.evaluate.slices.sending import Sending, Stamped, by_second, until
from streamgauge.evaluate.slices.tables import read_table
from streamgauge.evaluate.tally import Tally
from streamgauge.jvm.spark import file_url, literal_path
from streamgauge.model import NS_PER_MS
from streamgauge.model.outcome import Outcome
from streamgauge.model.slices import SliceBounds, SliceFigures
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

Progress = Callable[[str], None]
_PASSED_ON = "passed-on"
"""Directory of a slice for the rows that go from Spark to Python and back."""
_BETWEEN = "\x1f"
"""Between the columns of a key; no text of a workload has this character."""


def evaluate_slice(spark: SparkSession, run: RunDir, number: int, progress: Progress = lambda text: None) -> None:
    """Record the slice that ``bounds.json`` describes, and evaluate it. One that was evaluated before is left alone.

    The slices before it have been evaluated. Raises EnvironmentProblem when it cannot be recorded completely.
    """
    slice_ = run.slice_(number)
    if slice_.slice_figures_path.is_file():
        _drop(run, stored.read(slice_.slice_figures_path, SliceFigures))
        return
    bounds = stored.read(slice_.slice_bounds_path, SliceBounds)
    progress(f"recording slice {number}")
    record_slice(spark, slice_, facts_of(run, bounds), bounds.begins, bounds.ends)
    progress(f"evaluating slice {number}")
    judge_slice(spark, run, number)


def facts_of(run: RunDir, bounds: SliceBounds) -> Facts:
    """What is known of the run when a slice of it is evaluated: until the last, it has no end."""
    if bounds.last:
        return Facts.read(run)
    outcome, plan = Outcome.blank(), run.manifest().scenario.load.plan()
    outcome.begin_load(bounds.load_start_ns, plan)
    outcome.drain_end_ns = outcome.load_end_ns
    return Facts.of(run, outcome)


def judge_slice(spark: SparkSession, run: RunDir, number: int) -> SliceFigures:
    """Evaluate a slice whose records are there. Its figures appear last; then its records are dropped."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    began = time.monotonic()
    slice_, before = run.slice_(number), run.slice_(number - 1) if number > 1 else None
    bounds = stored.read(slice_.slice_bounds_path, SliceBounds)
    known = None if before is None else stored.read(before.slice_figures_path, SliceFigures)
    facts = facts_of(run, bounds)
    assert facts.moments is not None
    moments = facts.moments if bounds.last else until(facts.moments, (bounds.until_ms or 0) * NS_PER_MS)
    files = run.ledgers()
    ledger = Ledger.of(run, files)
    sending = Sending.of(ledger, facts, moments)
    stamps = Stamped.read(slice_, facts, moments, ledger, known.last_output_ms if known else None)
    carried = slice_.carried_path
    shutil.rmtree(carried, ignore_errors=True)
    earlier = None if before is None else before.carried_path
    table, numbers = _judged(spark, run, facts, moments, number, stamps.inputs + stamps.outputs, last=bounds.last)
    merged = digest.merged(None if earlier is None else read_table(earlier / "tally.parquet", digest.COLUMNS), table)
    rows = table if earlier is None else pa.concat_tables([read_table(earlier / "rows.parquet", digest.COLUMNS), table])
    rows, windows = _windows(rows, merged, facts, moments, number, last=bounds.last)
    waiting = digest.waiting(_tally(table, merged, facts, last=bounds.last))
    late = sending.late if earlier is None else added([read_late(earlier), sending.late])
    pq.write_table(merged, carried / "tally.parquet")
    pq.write_table(rows, carried / "rows.parquet")
    pq.write_table(pa.table({"late_us": late.values, "count": late.counts}), carried / "late.parquet")
    counted = {"sent": sending.sent, "late_max_ns": sending.late_max_ns, "appended": stamps.appended}
    counted |= {"appended_rest_ms": stamps.appended_rest_ms, "output": stamps.output, **waiting}
    pq.write_table(by_second(counted), slice_.path / "counted.parquet")
    pq.write_table(windows.seconds, slice_.path / "seconds.parquet")
    pq.write_table(windows.heatmap, slice_.path / "heatmap.parquet")
    figures = SliceFigures(
        number=number,
        until_ms=bounds.until_ms,
        last=bounds.last,
        inputs=stamps.inputs,
        outputs=stamps.outputs,
        appended_measured=stamps.appended_measured,
        output_measured=stamps.output_measured,
        first_output_ms=stamps.first_output_ms,
        last_output_ms=stamps.last_output_ms,
        gaps_ms=stamps.gaps_ms,
        **numbers,
        clock_low_ms=None if stamps.bound is None else stamps.bound.low_ms,
        clock_high_ms=None if stamps.bound is None else stamps.bound.high_ms,
        sent_measured=sending.measured,
        sent_inside=sending.inside,
        sent_after_ms=sending.after_ms,
        errors=sending.errors,
        errors_measured=sending.errors_measured,
        windows=windows.figures,
        ledgers=[file.name for file in files],
        took_s=round(time.monotonic() - began, 3),
    )
    stored.write_json(slice_.slice_figures_path, figures.as_json())
    _drop(run, figures)
    # Arrow keeps what it has freed for its next tables: over days this shows up as growth.
    pa.default_memory_pool().release_unused()
    return figures


def _drop(run: RunDir, figures: SliceFigures) -> None:
    """What is in the figures is not needed again."""
    slice_ = run.slice_(figures.number)
    shutil.rmtree(slice_.recorded_path, ignore_errors=True)
    if figures.number > 1:
        shutil.rmtree(run.slice_(figures.number - 1).carried_path, ignore_errors=True)
    for name in figures.ledgers:
        (run.path / "ledger" / name).unlink(missing_ok=True)
    for name in (*PARTS, "rows") if figures.last else ():
        (slice_.carried_path / f"{name}.parquet").unlink(missing_ok=True)


def _judged(
    spark: SparkSession, run: RunDir, facts: Facts, moments: Moments, number: int, rows: int, *, last: bool
) -> tuple[pa.Table, dict[str, int]]:
    """The counted outcome of the records that are decided, and the numbers beside it; the rest is carried on."""
    slice_, workload = run.slice_(number), facts.workload
    if not isinstance(workload, RunningWorkload) or not workload.counts_only:
        raise UsageError(f"workload {workload.name} cannot be evaluated in slices", where=run.path)
    match.configure(spark, rows)
    inputs = match.inputs_of(spark, slice_, facts, workload)
    output = read_outputs(spark, slice_, facts, workload.codec)
    before = Carried.none() if number == 1 else Carried.read(run.slice_(number - 1).carried_path)
    given, found = _contributions_and_results(inputs, output, workload, facts)
    judged = judge(_collected(given, slice_), _collected(found, slice_), before, last=last)
    slice_.carried_path.mkdir(exist_ok=True)
    judged.carried.write(slice_.carried_path)
    with _passed_on(judged.records, slice_) as files:
        table = digest.as_counted(match.count(spark.read.parquet(literal_path(files)), moments).toArrow())
    numbers = {name: getattr(judged, name) for name in ("repeated", "lost_later", "wrong_later", "open_records")}
    return table, numbers


def _collected(frame: DataFrame, slice_: RunDir) -> pa.Table:
    """All rows, by way of files: Spark's own ``toArrow`` has them in the heap twice, and a slice may hold millions."""
    import pyarrow.parquet as pq

    files = slice_.path / _PASSED_ON
    try:
        frame.write.mode("overwrite").parquet(file_url(files))
        return pq.read_table(files)
    finally:
        shutil.rmtree(files, ignore_errors=True)


@contextmanager
def _passed_on(table: pa.Table, slice_: RunDir) -> Iterator[Path]:
    """The other way: the directory of files from which Spark reads them."""
    import pyarrow.parquet as pq

    files = slice_.path / _PASSED_ON
    shutil.rmtree(files, ignore_errors=True)  # of an evaluator that was killed
    files.mkdir()
    try:
        pq.write_table(table, files / "part.parquet")
        yield files
    finally:
        shutil.rmtree(files, ignore_errors=True)


def _contributions_and_results(
    inputs: Mapping[str, DataFrame], output: DataFrame, workload: RunningWorkload, facts: Facts
) -> tuple[DataFrame, DataFrame]:
    """As ``judge`` takes them: with the key as one text, null where a part of it is."""
    from pyspark.sql import functions as f

    new = workload.contributions(inputs, facts.parameters)
    results = running.results_of(output, workload, facts.parameters, dict(new.dtypes))

    def text(prefix: str) -> Column:
        parts = [part for name in workload.key for part in (f.col(prefix + name).cast("string"), f.lit(_BETWEEN))]
        return f.concat(*parts[:-1]).alias("key")

    return new.select(text(""), *INPUT_STAMPS), results.select(text("found_"), "n", "emitted_ms", "place")


def _tally(table: pa.Table, merged: pa.Table, facts: Facts, *, last: bool) -> Tally:
    """Of some rows; what is missing is lost or not by what is known of the whole run."""
    import pyarrow as pa
    import pyarrow.compute as pc

    marks = merged.filter(pc.equal(merged.column("rows"), 0))
    quiet = last and facts.outcome.drain == "quiet"
    return Tally.of(pa.concat_tables([table, marks]), quiet=quiet, outputs=0, running=True)


def _windows(
    rows: pa.Table, merged: pa.Table, facts: Facts, moments: Moments, number: int, *, last: bool
) -> tuple[pa.Table, Windows]:
    """Close the windows that ended a slice ago, in the last slice all of them; returns the rows of the others."""
    import pyarrow.compute as pc

    length = facts.scenario.slice_s
    closed = max(number - 2, 0) * length
    end = moments.seconds if last else max(number - 1, 0) * length
    tally = _tally(rows, merged, facts, last=last)
    if last:
        end = max(end, closed)
    left = rows.filter(pc.greater_equal(rows.column("second"), end))
    return left, Windows.of(tally, closed, end, length)


def read_late(carried: Path) -> Distribution:
    """By how many microseconds the records so far were late."""
    names = ["late_us", "count"]
    table = read_table(carried / "late.parquet", names, whole=names)
    values, counts = (np.asarray(table.column(name).to_numpy()) for name in ("late_us", "count"))
    return Distribution.of(values.astype(np.float64), counts.astype(np.int64))
