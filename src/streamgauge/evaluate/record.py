"""Copies the streams of a run into its directory, while the transport still runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from streamgauge import registry
from streamgauge.codec import Place, with_numbers
from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.evaluate.facts import Facts
from streamgauge.jvm.spark import file_url
from streamgauge.model import Stream
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

StoredOffsets = Mapping[str, Mapping[str, int]]
"""By stream and partition, as a file has them."""

PARQUET = {
    # Half the size of lz4 for a tenth more time; Spark, DuckDB and pandas all read it.
    "compression": "zstd",
    # A tenth less time than level 3, and no larger.
    "parquet.compression.codec.zstd.level": "1",
    # Messages are all different: a dictionary of them is tried in vain, which takes another tenth.
    "parquet.enable.dictionary": "false",
}


def record(spark: SparkSession, run: RunDir, progress: Callable[[str], None] = lambda text: None) -> None:
    """Write every stream, up to the offsets in the outcome, as Parquet: one file per partition.

    A stream's directory appears whole or not at all; one that is there already is replaced. Raises EnvironmentProblem
    when the transport did not give out all that it holds.
    """
    facts = Facts.read(run)
    for stream in facts.streams:
        progress(f"recording {stream.name}")
        copy(spark, facts, stream, run.recorded(stream.name), offsets(facts.outcome.ends, stream))
    if disagreements := _disagreements(run, facts):
        raise EnvironmentProblem(
            f"the {facts.transport.stream_noun}s were not recorded completely",
            where=run.recorded_path,
            got="; ".join(disagreements),
        )


def record_slice(spark: SparkSession, slice_: RunDir, facts: Facts, begins: StoredOffsets, ends: StoredOffsets) -> None:
    """The same for a part of every stream, into the directory of a slice."""
    for stream in facts.streams:
        target = slice_.recorded(stream.name)
        target.parent.mkdir(exist_ok=True)
        copy(spark, facts, stream, target, offsets(ends, stream), offsets(begins, stream))
    if disagreements := _disagreements(slice_, facts, ends, begins):
        raise EnvironmentProblem(
            f"a slice of the {facts.transport.stream_noun}s was not recorded completely",
            where=slice_.recorded_path,
            got="; ".join(disagreements),
        )


def offsets(stored: StoredOffsets, stream: Stream) -> dict[int, int]:
    """Those of one stream, as files have them, by partition."""
    return {int(partition): offset for partition, offset in stored[stream.name].items()}


def copy(
    spark: SparkSession,
    facts: Facts,
    stream: Stream,
    target: Path,
    ends: Mapping[int, int],
    begins: Mapping[int, int] | None = None,
) -> None:
    """Write one stream below ``ends``, from ``begins`` on where given, to the directory ``target``."""
    from pyspark.sql import functions as f

    codec = facts.workload.codec
    as_text = "string" if codec.text else "binary"
    described = facts.manifest.transport
    transport = registry.transport(described.name).attach(described.as_json())
    of_input: dict[str, Place] = {}
    if stream.role == "input":
        of_input["n_seq"] = codec.n_seq
        if codec.event_ms is not None:
            of_input["event_ms"] = codec.event_ms
    headers = bool(of_input) and codec.needs_headers
    records = with_numbers(transport.read(spark, stream, ends, begins=begins, headers=headers), of_input)
    if stream.role == "output":
        records = facts.workload.unfold(records, facts.inputs)
    rows = records.select(
        f.col("key").cast(as_text).alias("key"),
        f.col("value").cast(as_text).alias("value"),
        *("partition", "offset", "appended_ms"),
        *(("ingested_ms",) if stream.role == "input" and facts.transport.stamps_handing else ()),
        *of_input,
    )
    part = target.with_name(f"{stream.name}.part")
    rows.write.mode("overwrite").options(**PARQUET).parquet(file_url(part))
    for check in [*part.glob(".*.crc"), *part.glob("_SUCCESS")]:
        check.unlink()
    if target.exists():
        shutil.rmtree(target)
    part.rename(target)


def check_recorded(run: RunDir, facts: Facts) -> None:
    """Raises UsageError when the recorded rows are not those that the outcome counts: the engine is not to blame."""
    if disagreements := _disagreements(run, facts):
        raise UsageError(
            "the recorded rows do not agree with outcome.json",
            where=run.recorded_path,
            got="; ".join(disagreements),
            expected="the rows of the run, unchanged",
            hint="restore the run directory from a copy, or run it again: `command` in its manifest.json",
        )


def _disagreements(
    run: RunDir, facts: Facts, stored_ends: StoredOffsets | None = None, stored_begins: StoredOffsets | None = None
) -> list[str]:
    """Partitions whose rows are not those below the end that the outcome has, or the one given; none without an end.

    A stream is new and what is to be recorded was not removed from it, so there is a row for each offset. In
    transactions some offsets are taken by markers and aborted records; a slice (``stored_begins``) must have none.
    """
    engine, disagreements = facts.manifest.engine, []
    stored_ends = facts.outcome.ends if stored_ends is None else stored_ends
    for stream in (one for one in facts.streams if one.name in stored_ends):
        if stream.role == "output" and facts.workload.folded:
            continue  # its offsets do not tell how many results there are
        # A program or script of the user's own may write in transactions without declaring it.
        of_user = engine.name == "command" or facts.scenario.script is not None
        with_gaps = stream.role == "output" and (engine.transactional or of_user) and stored_begins is None
        ends, begins = offsets(stored_ends, stream), {} if stored_begins is None else offsets(stored_begins, stream)
        rows = _rows_by_partition(run, stream)
        for partition in sorted(ends.keys() | rows.keys()):
            end, (count, last) = ends.get(partition, 0), rows.get(partition, (0, -1))
            due = end - begins.get(partition, 0)
            if count > due or last >= end or (count < due and not with_gaps):
                disagreements.append(
                    f"{stream.name}, partition {partition}: {count} rows, last offset {last}, end {end}"
                )
    return disagreements


def _rows_by_partition(run: RunDir, stream: Stream) -> dict[int, tuple[int, int]]:
    """How many rows each partition has, and its last offset."""
    import pyarrow.dataset as ds

    rows: dict[int, tuple[int, int]] = {}
    if not any(run.recorded(stream.name).glob("*.parquet")):
        return rows  # a slice without any
    for batch in ds.dataset(run.recorded(stream.name)).scanner(columns=["partition", "offset"]).to_batches():
        partitions, offsets = (column.to_numpy() for column in batch.columns)
        for partition in map(int, np.unique(partitions)):
            own = offsets[partitions == partition]
            count, last = rows.get(partition, (0, -1))
            rows[partition] = count + len(own), max(last, int(own.max()))
    return rows
