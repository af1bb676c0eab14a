"""The Python side of the engine: builds the query, reports when it is ready, stops it on SIGTERM."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.engines.spark import programs, script
from streamgauge.engines.spark.sinks import write
from streamgauge.errors import StreamgaugeError, UsageError
from streamgauge.jvm.spark import connect
from streamgauge.protocol import Offsets, emit, emit_progress, stop_on_sigterm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK_S = 0.2
"""Short, because a late progress report would look like a backlog in a workload without an output."""


def build(spark: SparkSession, job: Mapping[str, Any]) -> DataFrame:
    """Key and value of every result, from the workload's program or the script that replaces it."""
    return script.build(spark, job) if job.get("script") else programs.find(job["workload"])(spark, job)


def start_query(spark: SparkSession, job: Mapping[str, Any]) -> StreamingQuery:
    query = write(build(spark, job), job)
    return script.start(query, job) if job.get("script") else query.start()


def has_begun(job: Mapping[str, Any]) -> bool:
    """Whether an earlier driver of this run has started the query."""
    return (Path(job["checkpoint_dir"]) / "offsets").is_dir()


def await_running(query: StreamingQuery, asked_to_stop: threading.Event) -> None:
    """Return when the query waits for data or (real-time mode) runs its first batch."""
    while not asked_to_stop.wait(0.05):
        status = query.status
        if query.exception() is not None:
            return
        if status["isTriggerActive"] or "Waiting" in status["message"] or query.lastProgress:
            return


class Progress:
    """Passes on what the query has reported since the last time."""

    def __init__(self, query: StreamingQuery, topics: Collection[str]) -> None:
        # PySpark's own properties ask the JVM for every field of a report; this query is being measured.
        self._reports = query._jsq.recentProgress
        self._topics = topics
        self._last = ""

    def emit(self) -> None:
        recent = self._reports()
        fresh: list[dict[str, Any]] = []
        for place in reversed(range(len(recent))):
            report = json.loads(recent[place].json())
            if report["timestamp"] <= self._last:
                break
            fresh.append(report)
        for report in reversed(fresh):
            # A query without new data reports too, without a batch.
            if "addBatch" in report["durationMs"]:
                emit(
                    "batch",
                    batch=report["batchId"],
                    began_ms=round(1000 * datetime.fromisoformat(report["timestamp"]).timestamp()),
                    duration_ms=report["durationMs"]["triggerExecution"],
                    rows=report["numInputRows"],
                )
        if fresh:
            self._last = fresh[0]["timestamp"]
            if offsets := consumed(fresh[0], self._topics):
                emit_progress(offsets)


def consumed(report: Mapping[str, Any], topics: Collection[str]) -> Offsets:
    """How far these topics were consumed, by a report of a query's progress.

    A script may read a topic several times: a record counts as consumed when every reader has read it.
    """
    offsets: Offsets = defaultdict(dict)
    for source in report["sources"]:
        for topic, partitions in _ends(source["endOffset"]).items():
            for partition, offset in partitions.items() if topic in topics else ():
                offsets[topic][partition] = min(offset, offsets[topic].get(partition, offset))
    return offsets


def _ends(end: Any) -> Mapping[str, Mapping[str, int]]:
    """The end offsets of one source (JSON text or parsed) by topic and partition; empty if it is not Kafka."""
    ends = json.loads(end) if isinstance(end, str) else end
    if not isinstance(ends, Mapping):
        return {}
    return {topic: partitions for topic, partitions in ends.items() if isinstance(partitions, Mapping)}


def fail(problem: Exception) -> int:
    """Report Spark's error message; the stack trace goes to the log only."""
    text = str(problem)
    sys.stderr.write(text + "\n")
    emit("failed", message=summarised(text), usage=isinstance(problem, UsageError))
    return 1


def summarised(text: str) -> str:
    """The message without its stack traces, and with the innermost cause, which names the setting or file."""
    message = re.split(r"\n\s*(?:JVM stacktrace:|at )", text)[0].strip().rstrip(":")
    causes = re.findall(r"^Caused by: (.+)$", text, flags=re.MULTILINE)
    if causes and causes[-1] not in message:
        message = f"{message}: {causes[-1]}"
    return message[:1000]


def run(
    connection: Path,
    job: Mapping[str, Any],
    prepare: Callable[[SparkSession, threading.Event], None] = lambda spark, asked_to_stop: None,
) -> int:
    """Run the query until asked to stop. ``prepare`` is called before it starts."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    asked_to_stop = stop_on_sigterm()
    try:
        spark = connect(connection)
        prepare(spark, asked_to_stop)
        continued = has_begun(job)
        query = start_query(spark, job)
        await_running(query, asked_to_stop)
        if (refusal := query.exception()) and job.get("script"):
            return fail(script.refused(refusal, job))
        if query.exception() is None:
            # Queues know what was read from them, and a query that continues has consumed something.
            if job["transport"] == "kafka" and not continued:
                emit("progress", consumed=0)
            emit("ready")
        progress = Progress(query, job["inputs"].values())
        while query.isActive and not asked_to_stop.wait(_LOOK_S):
            progress.emit()
        if failure := query.exception():
            return fail(failure)
        query.stop()
    except (PySparkException, Py4JError, StreamgaugeError) as problem:
        return fail(problem)
    emit("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))))
