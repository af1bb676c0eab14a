"""Programs on queues that do not keep up: ``python queue_engine.py never|drops JOB``."""

from __future__ import annotations

import json
import socket
import struct
import sys
import threading
from pathlib import Path

from streamgauge import queue_protocol as wire
from streamgauge.protocol import emit, stop_on_sigterm


def main(mistake: str, job_file: str) -> None:
    stop = stop_on_sigterm()
    job = json.loads(Path(job_file).read_text())
    host, port = job["endpoints"]["queues"].split(",")[0].split(":")
    connection = wire.connect((host, int(port)), "purchases")
    emit("ready")
    if mistake == "drops":
        read_some(connection, stop)
        # Without taking leave: the kernel resets the connection.
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()
    stop.wait()
    emit("stopped")


def read_some(connection: socket.socket, stop: threading.Event) -> None:
    """Until some records came."""
    count = 0
    while not count and not stop.is_set():
        connection.sendall(wire.REQUEST.pack(wire.FETCH, 10, 0))
        _, count, _ = wire.ANSWER.unpack(wire.receive(connection, wire.ANSWER.size))


if __name__ == "__main__":
    main(*sys.argv[1:])
