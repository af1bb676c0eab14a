"""The recorded streams of a run, as Arrow batches and as DataFrames.

Where a run has several outputs, their partitions are numbered through: those of the second follow the first's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from streamgauge.codec import Codec
from streamgauge.evaluate.facts import Facts
from streamgauge.jvm.spark import literal_path
from streamgauge.model import Stream
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def is_recorded(run: RunDir, streams: Sequence[Stream]) -> bool:
    return all(any(run.recorded(stream.name).glob("*.parquet")) for stream in streams)


def batches(run: RunDir, stream: Stream, columns: Sequence[str]) -> Iterator[Any]:
    """The rows of one stream as Arrow record batches."""
    import pyarrow.dataset as ds

    if not any(run.recorded(stream.name).glob("*.parquet")):
        return  # a slice of a run may have none
    yield from ds.dataset(run.recorded(stream.name)).scanner(columns=list(columns)).to_batches()


def output_batches(run: RunDir, facts: Facts, columns: Sequence[str]) -> Iterator[Any]:
    """The rows of all outputs; ``partition``, where it is among the columns, is numbered through."""
    import pyarrow.compute as pc

    first = 0
    for stream in facts.outputs:
        for batch in batches(run, stream, columns):
            if first and "partition" in columns:
                place = list(columns).index("partition")
                batch = batch.set_column(place, "partition", pc.add(batch.column(place), first))
            yield batch
        first += stream.partitions


def read_input(spark: SparkSession, run: RunDir, name: str, codec: Codec, *, ingested: bool = False) -> DataFrame:
    """One input: key, value, partition, offset, appended_ms, n_seq; event_ms where the codec has it; ingested_ms."""
    event = ", event_ms bigint" if codec.event_ms is not None else ""
    schema = f"{_columns(codec)}, n_seq bigint{event}{', ingested_ms bigint' if ingested else ''}"
    return spark.read.schema(schema).parquet(literal_path(run.recorded(name)))


def read_outputs(spark: SparkSession, run: RunDir, facts: Facts, codec: Codec) -> DataFrame:
    """All outputs: key, value, partition, offset, appended_ms."""
    from pyspark.sql import functions as f

    frames, first = [], 0
    for stream in facts.outputs:
        frame = spark.read.schema(_columns(codec)).parquet(literal_path(run.recorded(stream.name)))
        frames.append(frame.withColumn("partition", f.col("partition") + first) if first else frame)
        first += stream.partitions
    return reduce(lambda one, other: one.unionByName(other), frames)


def _columns(codec: Codec) -> str:
    kind = "string" if codec.text else "binary"
    return f"key {kind}, value {kind}, partition int, offset bigint, appended_ms bigint"
