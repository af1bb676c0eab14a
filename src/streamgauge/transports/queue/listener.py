"""Accepts TCP connections on the loopback interface, with a thread for each."""

from __future__ import annotations

import contextlib
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Final

from streamgauge import queue_protocol as wire

LOOPBACK: Final = "127.0.0.1"
_AGAIN_S = 0.05


class Listener:
    """Calls ``converse`` with the name that each client sends first, and its connection, until ``close``.

    A conversation ends with the client, also within a frame, and with any OSError, which is reported on standard error.
    Binds at once: raises OSError if the port is taken.
    """

    def __init__(self, port: int, converse: Callable[[str, socket.socket], None]) -> None:
        self._converse = converse
        self._socket = socket.create_server((LOOPBACK, port), backlog=128)
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self.closed = False
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    @property
    def connections(self) -> int:
        return len(self._open)

    def close(self) -> None:
        with self._lock:
            self.closed = True
            still_open = list(self._open)
        self._socket.close()
        for connection in still_open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                if self.closed:
                    return
                # Too many open files, for example: some will be closed again.
                time.sleep(_AGAIN_S)
                continue
            try:
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()
            except RuntimeError:
                connection.close()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            with self._lock:
                if self.closed:
                    return
                self._open.add(connection)
            try:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                size = wire.LENGTH.unpack(wire.receive(connection, wire.LENGTH.size))[0]
                if size <= wire.NAME_BYTES_MAX:
                    self._converse(wire.receive(connection, size).decode(), connection)
            except (wire.Closed, ConnectionError, UnicodeDecodeError):
                pass
            except OSError as problem:
                sys.stderr.write(f"a connection was closed: {problem}\n")
            finally:
                with self._lock:
                    self._open.discard(connection)
