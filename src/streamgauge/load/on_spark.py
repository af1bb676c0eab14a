"""The load as a Spark job: ``python -m streamgauge.load.on_spark SETTINGS.json CONNECTION JVM-COMMAND …``.

One barrier stage has a task for each load worker (``task``), so that all of them run at the same time or none does.
Towards the lab this process behaves as one load worker: it emits ``ready`` when all are ready, passes commands on to
each, and adds their progress up. A task that fails or is lost ends the load; none is tried again, since records would
be sent twice.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.errors import EnvironmentProblem, StreamgaugeError
from streamgauge.jvm import spark
from streamgauge.load import task
from streamgauge.protocol import emit, stop_on_sigterm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STOP_S = 12.0
"""How long the tasks may take to hand over their ledgers after an early stop."""
LEDGERS_S = 60.0
"""The same after the last record."""
JVM_END_S = 10.0
LOOK_S = 0.1

CONF = {
    # One executor for each task. The load worker itself is a process beside the JVM.
    "spark.executor.cores": "1",
    "spark.executor.memory": "512m",
    "spark.executor.memoryOverhead": "1g",
    # A task that is run twice sends its records twice.
    "spark.task.maxFailures": "1",
    "spark.stage.maxConsecutiveAttempts": "1",
    "spark.speculation": "false",
    # A barrier stage needs all of its cores at once. Spark would wait ten minutes for them.
    "spark.dynamicAllocation.enabled": "false",
    "spark.scheduler.barrier.maxConcurrentTasksCheck.interval": "5s",
    # The ledgers of long runs are larger than the default of 1 GB.
    "spark.driver.maxResultSize": "0",
}
CORES_AWAITED_S = {"spark": 20, "": 150}
"""How long the cores may take to be there, by the beginning of the master: elsewhere executors have to start first."""


def conf(master: str) -> dict[str, str]:
    """The settings of the job that the load is."""
    awaited_s = CORES_AWAITED_S.get(master.partition(":")[0], CORES_AWAITED_S[""])
    return {**CONF, "spark.scheduler.barrier.maxConcurrentTasksCheck.maxFailures": str(awaited_s // 5)}


class Lost(Exception):
    """The load cannot go on; the reason is the message."""


class Tasks:
    """The tasks as the driver of the load sees them: their events, and one connection to each."""

    def __init__(self, host: str, count: int) -> None:
        self.count = count
        self.events: queue.SimpleQueue[tuple[int, dict[str, Any] | None]] = queue.SimpleQueue()
        """By number of the task; None when its connection closed."""
        self.token = secrets.token_hex(16)
        self._server = socket.create_server((host, 0))
        self.address = task.Driver(host, self._server.getsockname()[1], self.token)
        self._connections: dict[int, socket.socket] = {}
        self._lock = threading.Lock()
        self._stopped = False
        threading.Thread(target=self._accept, daemon=True).start()

    def tell(self, command: bytes) -> None:
        for connection in [*self._connections.values()]:
            with contextlib.suppress(OSError):
                connection.sendall(command + b"\n")

    def stop(self) -> None:
        """End what is still sent; the ledgers cover it. Tasks that connect later end at once."""
        with self._lock:
            self._stopped = True
        for connection in [*self._connections.values()]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection: socket.socket) -> None:
        """Events of one task. Turned away: who does not know the token, and a second attempt at a task."""
        with connection, connection.makefile("rb") as lines:
            try:
                hello = json.loads(lines.readline())
                index, token = int(hello["index"]), str(hello["token"])
            except (OSError, ValueError, KeyError, TypeError):
                return
            with self._lock:
                known = secrets.compare_digest(token.encode(), self.token.encode())
                if not known or index in self._connections or not 0 <= index < self.count:
                    return
                self._connections[index] = connection
                if self._stopped:
                    connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(OSError, ValueError):
                for line in lines:
                    if (event := as_event(line)) is not None:
                        self.events.put((index, event))
            self.events.put((index, None))


def as_event(line: bytes) -> dict[str, Any] | None:
    """None for a line that is not one: a function of the user's may print."""
    try:
        content = json.loads(line)
    except ValueError:
        return None
    return content if isinstance(content, dict) and "event" in content else None


class Relay:
    """Adds the events of all tasks up to those of one load worker."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._ready: dict[int, bool] = {}
        self._progress: dict[int, dict[str, Any]] = {}
        self.ended: dict[int, str] = {}
        """``done`` or ``stopped``, by task."""

    def take(self, index: int, event: dict[str, Any] | None) -> None:
        """Raises Lost when a task is not to be heard of again."""
        kind = None if event is None else event["event"]
        if event is None or kind == "failed":
            if index not in self.ended:
                why = "its connection was closed" if event is None else event.get("message", "no reason given")
                raise Lost(f"load task {index + 1} of {self._count} was lost: {why}")
        elif kind == "ready":
            self._ready[index] = bool(event.get("goes_first"))
            if len(self._ready) == self._count:
                emit("ready", goes_first=all(self._ready.values()))
        elif kind == "progress":
            self._progress[index] = {**self._progress.get(index, {}), **event}
            emit("progress", **self._sums(), late_max_ms=self._largest("late_max_ms"))
        elif kind in ("done", "stopped"):
            self._progress[index] = {**self._progress.get(index, {}), **event}
            self.ended[index] = kind

    def end(self) -> None:
        """All tasks have ended, or were asked to."""
        every = self._count == len(self.ended) and all(kind == "done" for kind in self.ended.values())
        emit("done" if every else "stopped", **self._sums(), last_sent_ns=self._largest("last_sent_ns"))

    def _sums(self) -> dict[str, int]:
        return {name: sum(one.get(name, 0) for one in self._progress.values()) for name in ("sent", "errors")}

    def _largest(self, name: str) -> Any:
        return max((one.get(name, 0) for one in self._progress.values()), default=0)


class Job:
    """The barrier stage, in a thread of its own. ``ledgers`` holds what it returned, ``problem`` why it failed."""

    def __init__(self, session: SparkSession, tasks: Tasks, workers: Sequence[Mapping[str, Any]]) -> None:
        self.ledgers: dict[int, bytes] = {}
        self.problem = ""
        self._run = partial(task.run, driver=tasks.address, workers=workers)
        self._context, self._count = session.sparkContext, tasks.count
        self.thread = threading.Thread(target=self._collect, daemon=True)
        self.thread.start()

    def _collect(self) -> None:
        try:
            numbers = self._context.parallelize(range(self._count), self._count)
            self.ledgers = dict(numbers.barrier().mapPartitions(self._run).collect())
        except Exception as problem:
            self.problem = _reason(str(problem))


def _reason(text: str) -> str:
    """The line of a stack trace of Spark that says what happened."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any("No module named 'streamgauge'" in line for line in lines):
        return "streamgauge is not installed in the Python of the executors (spark.pyspark.python)"
    if any("SPARK-24819" in line for line in lines):
        return (
            "the cluster has no free core (with 512 MB of memory) for each of the load tasks, or its executors took "
            "too long to start: use a lower --generators, or look at the cluster"
        )
    told = [line for line in lines if "ExecutorLost" in line or "Error:" in line]
    return (told or lines or ["no reason given"])[0]


def run(settings: Mapping[str, Any], connection_file: Path, stop: threading.Event) -> None:
    """Raises Lost, or StreamgaugeError when Spark or the ledgers' directory does not answer."""
    workers = settings["workers"]
    session = spark.connect(connection_file)
    host = session.sparkContext.getConf().get("spark.driver.host", spark.LOOPBACK)
    assert host is not None
    try:
        tasks, relay = Tasks(host, len(workers)), Relay(len(workers))
    except OSError as problem:
        raise EnvironmentProblem("the driver of the load cannot listen", where=host, got=str(problem)) from None
    commands: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    threading.Thread(target=_read_commands, args=(commands,), daemon=True).start()
    job = Job(session, tasks, [{**one, "ledger": ""} for one in workers])
    try:
        while len(relay.ended) < len(workers) and not stop.is_set():
            _pass_on(commands, tasks, stop)
            try:
                relay.take(*tasks.events.get(timeout=LOOK_S))
            except queue.Empty:
                if not job.thread.is_alive():
                    raise Lost(job.problem or "the tasks ended without a word") from None
        stopped_early = len(relay.ended) < len(workers)
        if stopped_early:
            tasks.stop()
        else:
            # The load has ended: how long its ledgers take over the network does not make it late.
            relay.end()
        job.thread.join(STOP_S if stopped_early else LEDGERS_S)
        while not tasks.events.empty():
            relay.take(*tasks.events.get())
        if job.problem or job.thread.is_alive():
            raise Lost(job.problem or "the tasks did not hand over their ledgers")
    except Lost as lost:
        # What Spark says of it comes a moment later.
        job.thread.join(STOP_S)
        raise Lost(f"{lost} ({job.problem})" if job.problem and job.problem not in str(lost) else str(lost)) from None
    finally:
        tasks.close()
    for index, content in job.ledgers.items():
        _write(Path(workers[index]["ledger"]), content)
    if stopped_early:
        relay.end()


def _pass_on(commands: queue.SimpleQueue[bytes | None], tasks: Tasks, stop: threading.Event) -> None:
    while not commands.empty():
        if (command := commands.get()) is None:
            stop.set()
        else:
            tasks.tell(command)


def _write(path: Path, content: bytes) -> None:
    """It appears whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as problem:
        raise EnvironmentProblem("cannot write the ledger", where=path, got=str(problem)) from None


def _read_commands(commands: queue.SimpleQueue[bytes | None]) -> None:
    """Lines of standard input; None at its end."""
    rest = b""
    while chunk := os.read(0, 4096):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            commands.put(line)
    commands.put(None)


def main(arguments: list[str]) -> int:
    stop = stop_on_sigterm()
    settings_file, connection_file, *jvm_argv = arguments
    jvm = subprocess.Popen(jvm_argv, stdin=subprocess.PIPE, stdout=sys.stderr)
    try:
        run(json.loads(Path(settings_file).read_text(encoding="utf-8")), Path(connection_file), stop)
    except Lost as lost:
        emit("failed", message=str(lost))
        return 1
    except StreamgaugeError as problem:
        emit("failed", message=problem.message())
        return 1
    finally:
        assert jvm.stdin is not None
        jvm.stdin.close()
        try:
            jvm.wait(JVM_END_S)
        except subprocess.TimeoutExpired:
            jvm.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
