"""Watches a user's script from outside: ``python -m streamgauge.engines.pyspark.watcher JOB.json SHIM_DIR``.

It reads the checkpoints of the script's queries, appends to the run's output which input was committed when, creates
topics that the script's sinks need, and reports progress. The script never waits for it, but for a topic.
"""

from __future__ import annotations

import json
import math
import re
import sys
import time
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from streamgauge import registry
from streamgauge.engines.pyspark import COMMITS
from streamgauge.engines.pyspark.checkpoints import Checkpoint, Ends
from streamgauge.engines.pyspark.coverage import Coverage, Query
from streamgauge.errors import EngineFailed, StreamgaugeError, UsageError
from streamgauge.jvm.kafka_clients import settings_for
from streamgauge.model import Stream
from streamgauge.protocol import emit, emit_progress, stop_on_sigterm

LOOK_S = 0.2
SETTLED_S = 2.0
"""So long after its last query, and after a query has begun to read another topic, nothing more is expected."""
MISSING_S = 20.0
"""So long a topic that no query reads, or a query that reads nothing, is waited for: Spark begins with one source after
the other."""
TAIL_LINES = 12
PRODUCER_SETTINGS = {"acks": "all", "enable.idempotence": True, "linger.ms": 0, "log_level": 0}


class Watcher:
    def __init__(self, job: Mapping[str, Any], shim: Path) -> None:
        from confluent_kafka import Producer

        self._job, self._shim = job, shim
        config = json.loads((shim / "shim.json").read_text(encoding="utf-8"))
        self._script, self._has_arguments = config["script"], config["arguments"]
        self._read = self._read_progress = 0
        self._coverage = Coverage(list(job["inputs"].values()))
        self._output = job["outputs"].get(COMMITS)
        """Where commits are noted; None if the run is measured at a sink."""
        self._sinks = set(job["outputs"].values())
        endpoints = job["endpoints"]
        self._producer = Producer({**PRODUCER_SETTINGS, **settings_for(endpoints)})
        self._transport = registry.transport(job["transport"]).attach(endpoints)
        self._seen_query_s = math.inf
        self._begins: dict[str, Ends] = {}
        """Where each query begins, by its checkpoint, as far as that is known."""
        self._changed_s = math.inf
        """When more became known of that."""
        self._ready = False
        self._names: dict[str, str] = {}
        """The names of the queries by the number that Spark gave them."""
        self._raised = ""
        """What the script has not caught, as the shim reports it."""

    def run(self) -> int:
        asked_to_stop = stop_on_sigterm()
        while not asked_to_stop.wait(LOOK_S):
            self._look()
            if not self._ready and self._has_begun():
                self._ready = True
                emit("progress", consumed=0)
                emit("ready")
        self._producer.flush(5)
        emit("stopped")
        return 0

    def _has_begun(self) -> bool:
        """Whether all queries read: what is sent now is seen by each of them."""
        queries = self._coverage.queries
        if not self._begins:
            return False
        unchanged_s = time.monotonic() - max(self._seen_query_s, self._changed_s)
        read = {topic for query in queries.values() if not query.ended for topic in query.begins or ()}
        lacking = [name for name, topic in self._job["inputs"].items() if topic not in read]
        if lacking and unchanged_s > MISSING_S:
            raise UsageError(
                f"no query of the script reads {', '.join(lacking)}",
                where=self._script,
                expected="a topic of that name, or --map STREAM=TOPIC with the name that the script uses",
            )
        # A query that has not begun may read a directory that is empty.
        waiting = any(query.begins is None and not query.ended for query in queries.values())
        return not lacking and unchanged_s > (MISSING_S if waiting else SETTLED_S)

    def _follow_begins(self) -> None:
        """Until its first commit, more sources of a query may begin to read."""
        for checkpoint, query in self._coverage.queries.items():
            if query.has_committed:
                continue
            begins = query.checkpoint.begin()
            if begins is not None and begins != self._begins.get(checkpoint):
                self._begins[checkpoint] = begins
                self._changed_s = time.monotonic()
                self._coverage.begin(query, begins)

    def _look(self) -> None:
        for event in self._fresh_events():
            if event["event"] == "query":
                self._seen_query_s = time.monotonic()
                self._check_clock(event)
                self._add_query(event)
            elif event["event"] == "started":
                # Queries that come back with the same checkpoint go on.
                self._publish(*self._coverage.end(*self._coverage.queries.values()))
            elif event["event"] == "stopped":
                # The script may start another one in its place.
                self._seen_query_s = time.monotonic()
                self._take_commits()
                self._publish(*self._coverage.end(self._coverage.queries[event["checkpoint"]]))
            elif event["event"] == "redirected":
                emit("redirected", what=event["what"], old=event["old"], new=event["new"])
            elif event["event"] == "refused":
                raise UsageError(event["what"], where=self._script, hint=event["hint"])
            elif event["event"] == "failed":
                self._raised = f"{event['message']} ({event['where']})"
            elif event["event"] == "ended":
                raise self._ended(int(event["code"]), event["tail"])
        self._create_topics()
        self._follow_begins()
        self._take_commits()
        self._pass_on_batches()

    def _take_commits(self) -> None:
        fresh = [
            (commit, query)
            for query in self._coverage.queries.values()
            if query.begins is not None
            for commit in query.checkpoint.fresh()
        ]
        for commit, query in sorted(fresh, key=lambda one: one[0].committed_ms):
            emit(
                "commit",
                query=query.name,
                batch=commit.batch,
                committed_ms=commit.committed_ms,
                watermark_ms=commit.watermark_ms,
                ends=commit.ends,
            )
            self._publish(*self._coverage.take(query, commit))
        self._producer.poll(0)

    def _publish(self, committed_ms: int, covers: list[dict[str, Any]]) -> None:
        """Note what was committed by all of its queries, and how far that is now."""
        if not covers:
            return
        if self._output:
            value = json.dumps({"committed_ms": committed_ms, "covers": covers})
            self._producer.produce(self._output, value.encode(), partition=0)
        done = self._coverage.done
        emit_progress({topic: {str(part): end for part, end in parts.items()} for topic, parts in done.items()})

    def _add_query(self, event: Mapping[str, Any]) -> None:
        if known := self._coverage.queries.get(event["checkpoint"]):
            # A script that was started again continues with the same checkpoint.
            known.ended = False
            return
        name = event["name"] or f"query {len(self._coverage.queries) + 1}"
        self._coverage.queries[event["checkpoint"]] = Query(name, Checkpoint(Path(event["checkpoint"])))
        self._names[event["id"]] = name
        emit("query", **{"name": name, **{key: event[key] for key in ("sink", "output_mode", "windows")}})

    def _fresh_events(self) -> list[dict[str, Any]]:
        self._read, lines = _fresh_lines(self._shim / "events.jsonl", self._read)
        return lines

    def _ended(self, code: int, tail: list[str]) -> StreamgaugeError:
        got = python_error(tail) or self._raised or f"exit code {code}"
        shown = "\n".join(tail[-TAIL_LINES:]) if code else None
        if not self._coverage.queries:
            return UsageError(
                "the script ended before it started a streaming query",
                where=self._script,
                got=got,
                expected="a query that runs until it is stopped",
                hint=None if self._has_arguments else "-- ARGUMENTS at the end, if the script needs some",
                log_tail=shown,
            )
        what = "the script ended while its queries were to run"
        if not code:
            return UsageError(
                what,
                where=self._script,
                got=got,
                expected="a script that waits for its queries",
                hint="query.awaitTermination() or spark.streams.awaitAnyTermination() at its end",
            )
        return EngineFailed(what, where=self._script, got=got, log_tail=shown)

    def _check_clock(self, event: Mapping[str, Any]) -> None:
        """Raises UsageError for queries whose commits do not tell when a record was done."""
        if self._output is None:
            return
        trigger, name = event["trigger"], event["name"] or "a query"
        mode = next((mode for mode in ("realTime", "continuous") if mode in trigger), None)
        if mode is None and not event["asynchronous"]:
            return
        what = f"the trigger {mode}" if mode else "asynchronous progress tracking"
        raise UsageError(
            f"{name} of the script has {what}, which does not commit each batch when it is done",
            where=self._script,
            expected="micro-batches, or a sink topic whose records can be told apart",
            hint="--output TOPIC --correlate FIELD measures at the sink's topic",
        )

    def _create_topics(self) -> None:
        for wanted in self._shim.glob("*.wanted"):
            made = wanted.with_suffix(".made")
            if made.exists():
                continue
            stream = Stream("sink", wanted.read_text(encoding="utf-8"), int(self._job["partitions"]), "output")
            if stream.address not in self._sinks:
                self._transport.create([stream])
            made.touch()

    def _pass_on_batches(self) -> None:
        """What Spark says itself about its batches."""
        self._read_progress, lines = _fresh_lines(self._shim / "progress.jsonl", self._read_progress)
        for report in lines:
            if "addBatch" in report.get("durationMs", {}):
                emit("batch", **{"query": self._names.get(report["id"], ""), **batch_figures(report)})


def python_error(lines: list[str]) -> str:
    """The last line of the innermost traceback that a Python worker has sent: what Spark says of it is longer."""
    begins = [place for place, line in enumerate(lines) if line.endswith("Traceback (most recent call last):")]
    for begin in reversed(begins):
        for line in lines[begin + 1 :]:
            if line and not line[0].isspace():
                if not re.match(r"(py4j|pyspark)\.", line):
                    return line.strip()
                break
    return ""


def batch_figures(report: Mapping[str, Any]) -> dict[str, Any]:
    """What Spark's report on a batch says, as a sample of the run has it."""
    state = report.get("stateOperators") or []
    watermark = (report.get("eventTime") or {}).get("watermark")
    parts = report["durationMs"]
    return {
        "batch": report["batchId"],
        "began_ms": _ms(report["timestamp"]),
        "duration_ms": parts["triggerExecution"],
        "rows": sum(map(_rows, report["sources"])),
        "parts_ms": {name: float(value) for name, value in parts.items() if name != "triggerExecution"},
        "input_per_s": report.get("inputRowsPerSecond"),
        "processed_per_s": report.get("processedRowsPerSecond"),
        "state_rows": sum(one["numRowsTotal"] for one in state) if state else None,
        "state_mb": sum(one["memoryUsedBytes"] for one in state) / 1e6 if state else None,
        "watermark_ms": _ms(watermark) if watermark else None,
    }


def _rows(source: Mapping[str, Any]) -> int:
    """By the offsets: ``numInputRows`` counts a record again for each time that a batch is read."""
    begin, end = (_offsets(source.get(key)) for key in ("startOffset", "endOffset"))
    if not end:
        return int(source.get("numInputRows", 0))
    return sum(max(offset - begin.get(place, 0), 0) for place, offset in end.items())


def _offsets(given: Any) -> dict[tuple[str, str], int]:
    offsets = json.loads(given) if isinstance(given, str) and given.startswith("{") else given
    if not isinstance(offsets, Mapping) or not all(isinstance(parts, Mapping) for parts in offsets.values()):
        return {}
    return {(topic, part): int(end) for topic, parts in offsets.items() for part, end in parts.items()}


def _ms(moment: str) -> int:
    return round(1000 * datetime.fromisoformat(moment).timestamp())


def _fresh_lines(file: Path, read: int) -> tuple[int, list[dict[str, Any]]]:
    """The complete lines after the first ``read`` bytes, and how many bytes are read then."""
    try:
        with file.open("rb") as opened:
            opened.seek(read)
            content = opened.read()
    except OSError:
        return read, []
    complete = content[: content.rfind(b"\n") + 1]
    return read + len(complete), [json.loads(line) for line in complete.splitlines()]


def main(job_file: str, shim: str) -> int:
    try:
        return Watcher(json.loads(Path(job_file).read_text(encoding="utf-8")), Path(shim)).run()
    except StreamgaugeError as problem:
        emit("failed", message=problem.message(), usage=isinstance(problem, UsageError))
        return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
