"""The collector process, which receives results and stamps them on arrival.

    python -m streamgauge.transports.queue.collector PORT DIRECTORY STREAM …

A client first sends the name of a stream, with its length, and gets 1, or 0 if there is no such stream. Then it sends
frames: the length of what follows, and results, each with the lengths of key and value before them. When a frame has
arrived whole, its results are stamped, and the client gets the number of results of the stream so far. An empty frame
asks for that number. The end of standard input or SIGTERM ends the process, with a Parquet file for each stream.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from streamgauge import queue_protocol as wire
from streamgauge.protocol import emit, stop_on_sigterm
from streamgauge.transports.queue.files import results_file
from streamgauge.transports.queue.listener import LOOPBACK, Listener


class BadFrame(Exception):
    """It does not contain whole results."""


def results_of(frame: bytes | bytearray) -> list[tuple[bytes, bytes]]:
    """Key and value of each result. Raises BadFrame."""
    results, at, size = [], 0, len(frame)
    while at < size:
        if at + wire.RESULT.size > size:
            raise BadFrame
        key_size, value_size = wire.RESULT.unpack_from(frame, at)
        key_at = at + wire.RESULT.size
        value_at, at = key_at + key_size, key_at + key_size + value_size
        if at > size:
            raise BadFrame
        results.append((bytes(frame[key_at:value_at]), bytes(frame[value_at:at])))
    return results


class Results:
    """The results of one stream, in the order in which they came."""

    def __init__(self, path: Path) -> None:
        self._file = results_file(path)
        self._lock = threading.Lock()
        self.count = 0

    def add(self, results: list[tuple[bytes, bytes]], at_ns: int) -> int:
        """How many there are now. Raises OSError when they cannot be written."""
        with self._lock:
            if results:
                self._file.add((self.count, results, at_ns), len(results))
                self.count += len(results)
            return self.count

    def close(self) -> None:
        with self._lock:
            self._file.close()


class Collector:
    """Binds at once: raises OSError if the port is taken or a file cannot be made."""

    def __init__(self, port: int, directory: Path, streams: Sequence[str]) -> None:
        self._results = {name: Results(directory / f"{name}.parquet") for name in streams}
        self.problem: OSError | None = None
        self.listener = Listener(port, self._converse)

    def close(self) -> None:
        """Take no more, and complete the files. Raises OSError when they cannot be written."""
        self.listener.close()
        for results in self._results.values():
            results.close()

    def _converse(self, stream: str, connection: socket.socket) -> None:
        results = self._results.get(stream)
        connection.sendall(wire.LENGTH.pack(1 if results else 0))
        while results is not None:
            size = wire.LENGTH.unpack(wire.receive(connection, wire.LENGTH.size))[0]
            if size > wire.RESULTS_BYTES_MAX:
                return
            frame = wire.receive(connection, size)
            at_ns = time.time_ns()
            try:
                count = results.add(results_of(frame), at_ns)
            except BadFrame:
                return  # the client notices that its results were not taken
            except OSError as problem:
                self.problem = problem
                return
            connection.sendall(wire.COUNT.pack(count))


def _stop_at_end_of_input(stop: threading.Event) -> None:
    # Not through sys.stdin: a thread that holds it would block the exit.
    while os.read(0, 4096):
        pass
    stop.set()


def main(arguments: list[str]) -> int:
    stop = stop_on_sigterm()
    port, directory, *streams = arguments
    try:
        collector = Collector(int(port), Path(directory), streams)
    except OSError as problem:
        emit("failed", message=f"{problem.strerror}: {problem.filename or f'{LOOPBACK}:{port}'}")
        return 1
    threading.Thread(target=_stop_at_end_of_input, args=(stop,), daemon=True).start()
    emit("ready")
    while not stop.wait(0.2) and collector.problem is None:
        pass
    try:
        collector.close()
        if collector.problem is not None:
            raise collector.problem
    except OSError as problem:
        emit("failed", message=f"{problem.strerror}: {directory}")
        return 1
    emit("stopped")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
