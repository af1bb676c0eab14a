"""The sink, output mode and trigger of a query."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from streamgauge import registry
from streamgauge.jvm.kafka_clients import java_settings_for
from streamgauge.model import ResultKind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.readwriter import DataStreamWriter


def output_mode(job: Mapping[str, Any]) -> str:
    """Spark's output mode: the chosen one, or the default for the kind of results."""
    options = job["options"]
    if options["realtime"]:
        # Spark accepts no other mode here.
        return "update"
    if options["output_mode"] != "auto":
        return str(options["output_mode"])
    running = not job.get("script") and registry.workload(job["workload"]).kind is ResultKind.RUNNING
    return "update" if running else "append"


def write(results: DataFrame, job: Mapping[str, Any]) -> DataStreamWriter:
    """The query, ready to start. It writes to the job's output, or discards the rows if there is none."""
    options = job["options"]
    writer = results.writeStream.option("checkpointLocation", job["checkpoint_dir"]).outputMode(output_mode(job))
    if options["realtime"]:
        writer = writer.trigger(realTime=f"{options['realtime_batch_ms']} milliseconds")
    else:
        writer = writer.trigger(processingTime=f"{options['trigger_ms']} milliseconds")
    if not job["outputs"]:
        # It computes every row, then discards it.
        return writer.format("noop")
    if job["transport"] == "queue":
        from streamgauge.engines.spark import queues

        return queues.write(writer, job)
    return (
        writer.format("kafka")
        .options(**{f"kafka.{key}": value for key, value in java_settings_for(job["endpoints"]).items()})
        .option("topic", job["output"])
    )
