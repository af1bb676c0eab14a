"""Serves the queues of a generator over TCP, and notices a reader that does not come back."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Mapping

from streamgauge import queue_protocol as wire
from streamgauge.transports.queue.events import EventQueue, Gone
from streamgauge.transports.queue.listener import Listener

FETCH_WAIT_S = 0.1
"""How long a request waits for the first record."""
FETCH_RECORDS_MAX = 1_000_000
GONE_S = 5.0
"""After this time without a reader, a connection that was not closed in order counts as dropped."""


class QueueServer:
    """Binds at once: raises OSError if the port is taken."""

    def __init__(self, queues: Mapping[str, EventQueue], port: int) -> None:
        self._queues = queues
        self._lock = threading.Lock()
        self._readers: Counter[str] = Counter()
        self._lost_s: dict[str, float] = {}
        """By stream: since when a reader is gone that did not take its leave."""
        self.listener = Listener(port, self._converse)

    def dropped(self) -> str | None:
        """The first stream whose reader was lost and did not come back in time while records wait for it."""
        now_s = time.monotonic()
        with self._lock:
            late = [stream for stream, since_s in self._lost_s.items() if now_s - since_s >= GONE_S]
        return next((stream for stream in late if self._queues[stream].waiting), None)

    def close(self) -> None:
        self.listener.close()

    def _converse(self, stream: str, connection: socket.socket) -> None:
        queue = self._queues.get(stream)
        connection.sendall(wire.LENGTH.pack(queue.width if queue else 0))
        if queue is None:
            return
        reads = in_order = False
        try:
            while True:
                op, most, offset = wire.REQUEST.unpack(wire.receive(connection, wire.REQUEST.size))
                if op in (wire.FETCH, wire.ACKNOWLEDGE) and not reads:
                    reads = True
                    self._arrived(stream)
                if op == wire.FETCH:
                    _fetch(connection, queue, offset, min(most, FETCH_RECORDS_MAX))
                elif op == wire.LOOK:
                    connection.sendall(wire.ENDS.pack(*queue.ends))
                elif op == wire.ACKNOWLEDGE:
                    queue.acknowledge(offset)
                else:
                    in_order = op == wire.LEAVE
                    return
        finally:
            if reads:
                self._left(stream, in_order=in_order)

    def _arrived(self, stream: str) -> None:
        with self._lock:
            self._readers[stream] += 1
            self._lost_s.pop(stream, None)

    def _left(self, stream: str, *, in_order: bool) -> None:
        with self._lock:
            self._readers[stream] -= 1
            if not self._readers[stream] and not in_order and not self.listener.closed:
                self._lost_s[stream] = time.monotonic()


def _fetch(connection: socket.socket, queue: EventQueue, offset: int, most: int) -> None:
    try:
        count, parts = queue.fetch(offset, most, FETCH_WAIT_S)
    except Gone:
        connection.sendall(wire.ANSWER.pack(queue.ends.begin, 0, wire.GONE))
        return
    wire.send(connection, [wire.ANSWER.pack(offset, count, 0), *parts])
