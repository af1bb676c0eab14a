"""Copies the streams of a run into its directory, while the transport still runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from streamgauge import registry
from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.evaluate.facts import Facts
from streamgauge.model import Stream
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
    from pyspark.sql import functions as f

    facts = Facts.read(run)
    codec = facts.workload.codec
    as_text = "string" if codec.text else "binary"
    described = facts.manifest.transport
    transport = registry.transport(described.name).attach(described.as_json())
    for stream in facts.streams:
        progress(f"recording {stream.name}")
        ends = {int(partition): end for partition, end in facts.outcome.ends[stream.name].items()}
        of_input = {}
        if stream.role == "input":
            of_input["n_seq"] = codec.n_seq.column()
            if codec.event_ms is not None:
                of_input["event_ms"] = codec.event_ms.column()
        headers = bool(of_input) and codec.needs_headers
        rows = transport.read(spark, stream, ends, headers=headers).select(
            f.col("key").cast(as_text).alias("key"),
            f.col("value").cast(as_text).alias("value"),
            *("partition", "offset", "appended_ms"),
            *(column.alias(name) for name, column in of_input.items()),
        )
        target = run.recorded(stream.name)
        part = target.with_name(f"{stream.name}.part")
        rows.write.mode("overwrite").options(**PARQUET).parquet(str(part))
        for check in [*part.glob(".*.crc"), *part.glob("_SUCCESS")]:
            check.unlink()
        if target.exists():
            shutil.rmtree(target)
        part.rename(target)
    if disagreements := _disagreements(run, facts):
        raise EnvironmentProblem(
            f"the {transport.stream_noun}s were not recorded completely",
            where=run.recorded_path,
            got="; ".join(disagreements),
        )


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


def _disagreements(run: RunDir, facts: Facts) -> list[str]:
    """Partitions whose rows are not those below the end that the outcome has; none where it has no ends.

    A stream is new and nothing is removed from it, so there is a row for each offset. In transactions some offsets are
    taken by markers and aborted records.
    """
    engine, disagreements = facts.manifest.engine, []
    for stream in (one for one in facts.streams if one.name in facts.outcome.ends):
        # A program or script of the user's own may write in transactions without declaring it.
        of_user = engine.name == "command" or facts.scenario.script is not None
        with_gaps = stream.role == "output" and (engine.transactional or of_user)
        ends = {int(partition): end for partition, end in facts.outcome.ends[stream.name].items()}
        rows = _rows_by_partition(run, stream)
        for partition in sorted(ends.keys() | rows.keys()):
            end, (count, last) = ends.get(partition, 0), rows.get(partition, (0, -1))
            if count > end or last >= end or (count < end and not with_gaps):
                disagreements.append(
                    f"{stream.name}, partition {partition}: {count} rows, last offset {last}, end {end}"
                )
    return disagreements


def _rows_by_partition(run: RunDir, stream: Stream) -> dict[int, tuple[int, int]]:
    """How many rows each partition has, and its last offset."""
    import pyarrow.dataset as ds

    rows: dict[int, tuple[int, int]] = {}
    for batch in ds.dataset(run.recorded(stream.name)).scanner(columns=["partition", "offset"]).to_batches():
        partitions, offsets = (column.to_numpy() for column in batch.columns)
        for partition in map(int, np.unique(partitions)):
            own = offsets[partitions == partition]
            count, last = rows.get(partition, (0, -1))
            rows[partition] = count + len(own), max(last, int(own.max()))
    return rows
