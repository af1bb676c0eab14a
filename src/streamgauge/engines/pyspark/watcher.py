"""Watches a user's script from outside: ``python -m streamgauge.engines.pyspark.watcher JOB.json SHIM_DIR``.

It reads the checkpoints of the script's queries, appends to the run's output which input was committed when, creates
topics that the script's sinks need, and reports progress. The script never waits for it, but for a topic.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from streamgauge import registry
from streamgauge.engines.pyspark import COMMITS
from streamgauge.engines.pyspark.checkpoints import Checkpoint, Commit, Ends
from streamgauge.errors import EngineFailed, StreamgaugeError, UsageError
from streamgauge.jvm.kafka_clients import settings_for
from streamgauge.model import Stream
from streamgauge.protocol import emit, emit_progress, stop_on_sigterm

LOOK_S = 0.2
SETTLED_S = 2.0
"""So long after its last query a script is taken to have started all of them."""
PRODUCER_SETTINGS = {"acks": "all", "enable.idempotence": True, "linger.ms": 0, "log_level": 0}


@dataclass
class Query:
    """A query of the script, by what the shim reports and what its checkpoint holds."""

    name: str
    checkpoint: Checkpoint
    committed: Ends | None = None
    """How far each partition was committed; where it began, before the first commit."""
    batches: int = 0


@dataclass
class Watched:
    """All queries together: a record is committed when every query that reads it has committed it."""

    topics: Sequence[str]
    queries: dict[str, Query] = field(default_factory=dict)
    done: Ends = field(default_factory=dict)

    def begin(self, query: Query) -> bool:
        """Whether the query has begun to read; notes where."""
        if query.committed is None and (begins := query.checkpoint.begin()) is not None:
            query.committed = {topic: parts for topic, parts in begins.items() if topic in self.topics}
            for topic, parts in query.committed.items():
                for part, offset in parts.items():
                    own = self.done.setdefault(topic, {})
                    own[part] = min(offset, own.get(part, offset))
        return query.committed is not None

    def take(self, query: Query, commit: Commit) -> list[dict[str, Any]]:
        """What the commit of a batch completes: ranges of records, each committed by all of its queries now."""
        assert query.committed is not None
        query.batches += 1
        covered = []
        for topic, parts in commit.ends.items():
            for part, end in parts.items() if topic in self.topics else ():
                mine = query.committed.setdefault(topic, {})
                mine[part] = max(end, mine.get(part, 0))
                others = (one.committed for one in self.queries.values() if one.committed is not None)
                least = min(one[topic][part] for one in others if part in one.get(topic, {}))
                before = self.done.setdefault(topic, {}).get(part, 0)
                if least > before:
                    covered.append({"topic": topic, "partition": part, "from": before, "to": least})
                    self.done[topic][part] = least
        return covered


class Watcher:
    def __init__(self, job: Mapping[str, Any], shim: Path) -> None:
        from confluent_kafka import Producer

        self._job, self._shim = job, shim
        self._script = json.loads((shim / "shim.json").read_text(encoding="utf-8"))["script"]
        self._read = self._read_progress = 0
        self._watched = Watched(list(job["inputs"].values()))
        self._output = job["outputs"].get(COMMITS)
        """Where commits are noted; None if the run is measured at a sink."""
        self._sinks = set(job["outputs"].values())
        endpoints = job["endpoints"]
        self._producer = Producer({**PRODUCER_SETTINGS, **settings_for(endpoints)})
        self._transport = registry.transport(job["transport"]).attach(endpoints)
        self._seen_query_s = math.inf
        self._names: dict[str, str] = {}
        """The names of the queries by the number that Spark gave them."""
        self._raised = ""
        """What the script has not caught, as the shim reports it."""

    def run(self) -> int:
        asked_to_stop = stop_on_sigterm()
        ready = False
        while not asked_to_stop.wait(LOOK_S):
            self._look()
            if not ready and self._has_begun():
                ready = True
                emit("ready")
        self._producer.flush(5)
        emit("stopped")
        return 0

    def _has_begun(self) -> bool:
        """Whether all queries read: what is sent now is seen by each of them."""
        queries = self._watched.queries.values()
        settled = time.monotonic() - self._seen_query_s > SETTLED_S
        if not (queries and settled and all(self._watched.begin(one) for one in queries)):
            return False
        read = {topic for one in queries for topic in one.committed or ()}
        if lacking := [name for name, topic in self._job["inputs"].items() if topic not in read]:
            raise UsageError(
                f"no query of the script reads {', '.join(lacking)}",
                where=self._script,
                expected="a topic of that name, or --map STREAM=TOPIC with the name that the script uses",
            )
        emit("progress", consumed=0)
        return True

    def _look(self) -> None:
        for event in self._fresh_events():
            if event["event"] == "query":
                self._seen_query_s = time.monotonic()
                self._check_clock(event)
                self._add_query(event)
            elif event["event"] == "redirected":
                emit("redirected", what=event["what"], old=event["old"], new=event["new"])
            elif event["event"] == "refused":
                raise UsageError(event["what"], where=self._script, hint=event["hint"])
            elif event["event"] == "failed":
                self._raised = f"{event['message']} ({event['where']})"
            elif event["event"] == "ended":
                raise self._ended(int(event["code"]))
        self._create_topics()
        committed = False
        for query in self._watched.queries.values():
            if not self._watched.begin(query):
                continue
            for commit in query.checkpoint.fresh():
                committed = True
                covers = self._watched.take(query, commit)
                emit(
                    "commit",
                    query=query.name,
                    batch=commit.batch,
                    committed_ms=commit.committed_ms,
                    watermark_ms=commit.watermark_ms,
                    ends=commit.ends,
                )
                if covers and self._output:
                    value = json.dumps({"committed_ms": commit.committed_ms, "covers": covers})
                    self._producer.produce(self._output, value.encode(), partition=0)
        self._producer.poll(0)
        if committed:
            emit_progress(
                {topic: {str(part): end for part, end in parts.items()} for topic, parts in self._watched.done.items()}
            )
        self._pass_on_batches()

    def _add_query(self, event: Mapping[str, Any]) -> None:
        if event["checkpoint"] in self._watched.queries:
            return  # a script that was started again continues with the same checkpoint
        name = event["name"] or f"query {len(self._watched.queries) + 1}"
        self._watched.queries[event["checkpoint"]] = Query(name, Checkpoint(Path(event["checkpoint"])))
        self._names[event["id"]] = name
        emit("query", **{"name": name, **{key: event[key] for key in ("sink", "output_mode", "windows")}})

    def _fresh_events(self) -> list[dict[str, Any]]:
        self._read, lines = _fresh_lines(self._shim / "events.jsonl", self._read)
        return lines

    def _ended(self, code: int) -> StreamgaugeError:
        got = self._raised or f"exit code {code}"
        if not self._watched.queries:
            return UsageError(
                "the script ended before it started a streaming query",
                where=self._script,
                got=got,
                expected="a query that runs until it is stopped",
            )
        return EngineFailed("the script ended while its queries were to run", where=self._script, got=got)

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
