"""The driver of a standalone cluster: Spark's JVM and the Python program that uses it, as one process with one role."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.engines.spark import program
from streamgauge.errors import EngineFailed
from streamgauge.protocol import emit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOK_S = 0.1
_ANSWER_S = 5.0
_JVM_END_S = 15.0
_STARTS_PER_WORKER = 5
"""Spark starts executors that end at once again and again, without an end."""


def alive_workers(master: str) -> int | None:
    """The number of Workers that the Master at this address (``host:port`` of its page) knows; None without an answer.

    After a fault there may be fewer than were planned.
    """
    with contextlib.closing(http.client.HTTPConnection(master, timeout=_ANSWER_S)) as connection:
        try:
            connection.request("GET", "/json/")
            return int(json.loads(connection.getresponse().read())["aliveworkers"])
        except (OSError, http.client.HTTPException, ValueError, KeyError):
            return None


def check_starts(directories: Collection[Path], workers: int) -> None:
    """Raises EngineFailed, with the last line of a log, if these are of more executors than a start can need."""
    if len(directories) > _STARTS_PER_WORKER * workers:
        # A log begins with the executor's command and a line of equals signs; the newest may have nothing else yet.
        logs = [log for directory in directories for log in directory.glob("std*")]
        written = [log.read_text(errors="replace").rpartition("====\n")[2].strip() for log in logs]
        last = next((text.splitlines()[-1] for text in written if text), "their logs are empty")
        raise EngineFailed(f"executors end as soon as they are started: {last}")


def await_executors(
    spark: SparkSession, master: str, work_dir: Path, asked_to_stop: threading.Event, least: int
) -> None:
    """Return when at least so many Workers are there, and every one of them runs an executor of this session.

    Raises EngineFailed if none can be started.
    """
    context = spark.sparkContext._jsc.sc()
    last = ""
    while not asked_to_stop.wait(_LOOK_S):
        if context.isStopped():
            raise EngineFailed("the cluster cannot run an executor; see the logs of the executors in the run directory")
        executors = len(context.statusTracker().getExecutorInfos()) - 1  # without the driver
        workers = alive_workers(master)
        if workers and executors >= workers >= least:
            return
        check_starts(list(work_dir.glob(f"worker-*/{context.applicationId()}/*")), workers or 1)
        if (state := f"{executors} of {workers} executors registered") != last:
            last = state
            sys.stderr.write(state + "\n")


def run(connection: Path, job: Mapping[str, Any], master: str, jvm_argv: Sequence[str]) -> int:
    # The first driver waits for all Workers; one that is started again takes those that are left.
    least = 1 if connection.exists() else int(job["options"]["workers"])
    # It must not find the address of the previous JVM.
    connection.unlink(missing_ok=True)
    ending = threading.Event()
    jvm = subprocess.Popen(jvm_argv, stdin=subprocess.PIPE, stdout=sys.stderr)
    threading.Thread(target=_watch, args=(jvm, ending), daemon=True).start()
    try:
        return program.run(
            connection, job, lambda spark, stop: await_executors(spark, master, connection.parent, stop, least)
        )
    finally:
        ending.set()
        assert jvm.stdin is not None
        jvm.stdin.close()
        jvm.wait(_JVM_END_S)


def _watch(jvm: subprocess.Popen[bytes], ending: threading.Event) -> None:
    """End this process with its JVM: the program would wait for an answer."""
    code = jvm.wait()
    if not ending.is_set():
        emit("failed", message=f"Spark's JVM ended with code {code}")
        os._exit(1)


if __name__ == "__main__":
    connection_file, job_file, master_address, *java = sys.argv[1:]
    sys.exit(run(Path(connection_file), json.loads(Path(job_file).read_text(encoding="utf-8")), master_address, java))
