"""Watches the cluster through its REST API and reports its events in streamgauge's protocol."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import re
import sys
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from streamgauge.protocol import Offsets, emit, emit_progress, stop_on_sigterm

_START_LOOK_S = 0.1
_LOOK_S = 0.25
"""Between two looks at what was read. Flink answers with what it fetched for the look before."""
_LOOKS_AT_JOB = 4
"""Every so many of them also at the state of the job."""
_ANSWER_S = 5.0
_MOST_CHARS = 1000
_METRICS_AT_ONCE = 20
"""Metric names are long, and Flink accepts request lines of up to 4096 characters."""

_PARTITION = re.compile(r"\.topic\.(.+)\.partition\.(\d+)\.currentOffset$")


Readers = dict[tuple[str, str], tuple[str, str]]
"""By topic and partition: the path to query and the name of the metric."""


class Failed(Exception):
    """The job cannot continue."""


@dataclass(frozen=True)
class JobStatus:
    """What the cluster reports about its one job."""

    id: str
    state: str
    running: int
    tasks: int

    @property
    def all_run(self) -> bool:
        return self.state == "RUNNING" and self.running == self.tasks > 0


class Cluster:
    """The REST API of a JobManager."""

    def __init__(self, address: str) -> None:
        self._address = address

    def get(self, path: str) -> Any:
        """Raises OSError when there is no answer, HTTPException for an answer other than 200."""
        # Not urllib.request, which would use the environment's proxy even for the loopback interface.
        with contextlib.closing(http.client.HTTPConnection(self._address, timeout=_ANSWER_S)) as connection:
            connection.request("GET", path)
            answer = connection.getresponse()
            content = answer.read()
        if answer.status != http.client.OK:
            raise http.client.HTTPException(f"{path}: {answer.status}")
        return json.loads(content)

    def job(self) -> JobStatus | None:
        """None before the job is submitted."""
        jobs = self.get("/jobs/overview")["jobs"]
        if not jobs:
            return None
        job = jobs[0]
        return JobStatus(job["jid"], job["state"], job["tasks"]["running"], job["tasks"]["total"])

    def task_managers(self) -> int:
        """The number of TaskManagers that have registered their slots. Flink's own count includes them earlier."""
        return sum(1 for one in self.get("/taskmanagers")["taskmanagers"] if one["slotsNumber"])

    def readers(self, job: str) -> Readers:
        """The offset metric of each input partition that is assigned to a task."""
        readers: Readers = {}
        for vertex in self.get(f"/jobs/{job}")["vertices"]:
            metrics = f"/jobs/{job}/vertices/{vertex['id']}/metrics"
            for metric in self.get(metrics):
                if match := _PARTITION.search(metric["id"]):
                    readers[match[1], match[2]] = (metrics, metric["id"])
        return readers

    def offsets(self, readers: Readers) -> Offsets | None:
        """How far each of these partitions was read; None while one is unknown."""
        last_read: dict[str, int] = {}
        for metrics in {metrics for metrics, _ in readers.values()}:
            names = [name for where, name in readers.values() if where == metrics]
            for first in range(0, len(names), _METRICS_AT_ONCE):
                metric_names = quote(",".join(names[first : first + _METRICS_AT_ONCE]), safe=",")
                last_read |= {
                    metric["id"]: int(metric["value"]) for metric in self.get(f"{metrics}?get={metric_names}")
                }
        if len(last_read) < len(readers):
            return None
        offsets: Offsets = defaultdict(dict)
        for (topic, partition), (_, metric_name) in readers.items():
            # The offset of the last record, or -1 before the first.
            offsets[topic][partition] = last_read[metric_name] + 1
        return offsets

    def last_exception(self, job: str) -> tuple[int, str] | None:
        """Time and root cause of the latest failure."""
        entries = self.get(f"/jobs/{job}/exceptions")["exceptionHistory"]["entries"]
        return (entries[0]["timestamp"], root_of(entries[0]["stacktrace"])) if entries else None


def root_of(stacktrace: str) -> str:
    """The message of the innermost exception."""
    causes = re.split(r"^Caused by: ", stacktrace, flags=re.MULTILINE)
    return re.split(r"\n\s+(?:at |\.\.\. )", causes[-1])[0].strip()[:_MOST_CHARS]


def await_ready(cluster: Cluster, job: Mapping[str, Any], asked_to_stop: threading.Event) -> bool:
    """Return when all TaskManagers are registered, every task runs, and every partition is assigned.

    False when asked to stop before that. Raises Failed when the job fails during startup: a restart would fail too.
    """
    task_managers = int(job["options"]["taskmanagers"])
    partitions = _partitions(job)
    last_state = ""
    while not asked_to_stop.wait(_START_LOOK_S):
        try:
            flink_job = cluster.job()
            if flink_job is None:
                continue
            if failure := cluster.last_exception(flink_job.id):
                raise Failed(failure[1])
            registered = cluster.task_managers()
            held = len(cluster.readers(flink_job.id)) if flink_job.all_run else 0
        except (OSError, http.client.HTTPException):
            continue  # not up yet; the lab notices if it has ended
        if flink_job.all_run and registered >= task_managers and held >= partitions:
            return True
        state = (
            f"job {flink_job.state}: {flink_job.running} of {flink_job.tasks} tasks running, "
            f"{held} of {partitions} partitions assigned, {registered} of {task_managers} TaskManagers registered"
        )
        if state != last_state:
            last_state = state
            sys.stderr.write(state + "\n")
    return False


def _partitions(job: Mapping[str, Any]) -> int:
    """The number of partitions of all inputs whose offsets Flink reports: queues know themselves what was read."""
    return 0 if job["transport"] == "queue" else len(job["inputs"]) * int(job["partitions"])


def watch(cluster: Cluster, job: Mapping[str, Any], asked_to_stop: threading.Event) -> None:
    """Report consumed records and interruptions until asked to stop. Raises Failed when the job ends.

    Committed offsets would show progress only once per checkpoint.
    """
    known, interrupted = 0, False
    readers: Readers = {}
    for look in itertools.count():
        if asked_to_stop.wait(_LOOK_S):
            return
        if look % _LOOKS_AT_JOB:
            if readers and len(readers) >= _partitions(job):
                _report(cluster, readers)
            continue
        try:
            flink_job = cluster.job()
            failure = cluster.last_exception(flink_job.id) if flink_job else None
        except ConnectionError:
            raise Failed("the JobManager is gone: connection refused on its REST port") from None
        except (OSError, http.client.HTTPException):
            continue  # it may be paused and resume later
        if flink_job is None or flink_job.state in ("FAILED", "FINISHED", "CANCELED", "SUSPENDED"):
            reason = f": {failure[1]}" if failure else ""
            raise Failed(f"the job is {flink_job.state if flink_job else 'gone'}{reason}")
        if failure and failure[0] > known:
            if not interrupted:
                emit("warning", message=f"the job was interrupted: {failure[1]}")
            known, interrupted = failure[0], True
            readers = {}  # partitions may have moved to other tasks
        elif flink_job.all_run:
            interrupted = False
            if len(readers) < _partitions(job):
                with contextlib.suppress(OSError, http.client.HTTPException):
                    readers = cluster.readers(flink_job.id)


def _report(cluster: Cluster, readers: Readers) -> None:
    """How far the partitions were read; nothing where Flink does not answer, such as while it is paused."""
    with contextlib.suppress(OSError, http.client.HTTPException):
        if (offsets := cluster.offsets(readers)) is not None:
            emit_progress(offsets)


def run(address: str, job: Mapping[str, Any]) -> int:
    asked_to_stop = stop_on_sigterm()
    cluster = Cluster(address)
    try:
        if await_ready(cluster, job, asked_to_stop):
            emit("ready")
        watch(cluster, job, asked_to_stop)
    except Failed as problem:
        emit("failed", message=str(problem))
        return 1
    emit("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(run(sys.argv[1], json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))))
