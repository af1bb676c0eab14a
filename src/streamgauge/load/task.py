"""One load worker as a task of a Spark job: the executor's side of ``on_spark``.

The task runs the load worker as a process of its own, passes its events on to the driver of the load and the driver's
commands to it, and returns its ledger. When the executor dies or the driver goes away, the worker's standard input
closes, and it stops.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

CONNECT_S = 30.0


class Driver(NamedTuple):
    """Where a task finds the driver of the load, and what it says there first."""

    host: str
    port: int
    token: str


def run(indexes: Iterator[int], driver: Driver, workers: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, bytes]]:
    """Runs one load worker to its end; yields its number and the content of its ledger.

    A second attempt is turned away by the driver before it sends anything.
    """
    from pyspark import SparkFiles

    for index in indexes:
        with (
            # Below a directory that Spark removes, also after a kill of the executor.
            tempfile.TemporaryDirectory(prefix="load-", dir=SparkFiles.getRootDirectory()) as directory,
            socket.create_connection((driver.host, driver.port), CONNECT_S) as connection,
        ):
            connection.settimeout(None)
            connection.sendall(json.dumps({"token": driver.token, "index": index}).encode() + b"\n")
            ledger = Path(directory) / "ledger.parquet"
            _work(Path(directory), {**workers[index], "ledger": str(ledger)}, connection)
            yield index, ledger.read_bytes() if ledger.exists() else b""


def _work(directory: Path, settings: Mapping[str, Any], connection: socket.socket) -> None:
    file = directory / "settings.json"
    # It may hold a password.
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as opened:
        json.dump(settings, opened)
    worker = subprocess.Popen(
        [sys.executable, "-P", "-m", "streamgauge.load.worker", str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert worker.stdin is not None and worker.stdout is not None
    threading.Thread(target=_pass_commands, args=(connection, worker.stdin), daemon=True).start()
    try:
        with worker.stdout as events:
            for event in events:
                connection.sendall(event)
        worker.wait()
    finally:
        # Wakes the other thread, which then lets go of both ends.
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def _pass_commands(connection: socket.socket, to_worker: Any) -> None:
    """Until the driver of the load closes the connection, or the worker has ended."""
    with contextlib.suppress(OSError), to_worker:
        while commands := connection.recv(4096):
            to_worker.write(commands)
            to_worker.flush()
