"""Copies the topics of a run into its directory, while the broker still runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING

from streamgauge import registry
from streamgauge.evaluate.facts import Facts
from streamgauge.pipelines.messages import n_seq_in
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
    """Write every stream, up to the offsets in the outcome, as Parquet: one file per partition of the topic.

    A stream's directory appears whole or not at all; one that is there already is replaced.
    """
    from pyspark.sql import functions as f

    facts = Facts.read(run)
    described = facts.manifest["transport"]
    transport = registry.transport(described["name"]).attach(described)
    for stream in facts.streams:
        progress(f"recording {stream.name}")
        ends = {int(partition): int(end) for partition, end in facts.outcome["ends"][stream.name].items()}
        rows = transport.read(spark, stream, ends).select(
            f.col("key").cast("string"), f.col("value").cast("string"), "partition", "offset", "appended_ms"
        )
        if stream.role == "input":
            rows = rows.withColumn("n_seq", n_seq_in(f.col("value")))
        target = run.recorded(stream.name)
        part = target.with_name(f"{stream.name}.part")
        rows.write.mode("overwrite").options(**PARQUET).parquet(str(part))
        for check in [*part.glob(".*.crc"), *part.glob("_SUCCESS")]:
            check.unlink()
        if target.exists():
            shutil.rmtree(target)
        part.rename(target)
