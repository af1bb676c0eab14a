"""The frames between queues, the collector and their clients: docs/reference/protocol.md, *Queues*.

All numbers are little-endian. A client of a queue first sends the name of a stream, with its length, and gets the width
of the stream's records, 0 if there is no such stream. Then it sends requests.
"""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

LENGTH = struct.Struct("<I")
REQUEST = struct.Struct("<IIQ")
"""What is asked, how many records at most, and the offset."""
ANSWER = struct.Struct("<QII")
"""To ``FETCH``: the offset of the first record, how many records follow, and ``GONE`` if they are no longer kept."""
ENDS = struct.Struct("<QQQ")
"""To ``LOOK``: the first offset that is kept, the first that was never handed over, and the end."""

COUNT = struct.Struct("<Q")
"""To a frame of results: how many there are of the stream so far."""
RESULT = struct.Struct("<II")
"""The lengths of a result's key and value."""

FETCH, LOOK, ACKNOWLEDGE, LEAVE = 1, 2, 3, 4
GONE = 1

NAME_BYTES_MAX = 200
RESULTS_BYTES_MAX = 64 * 1024 * 1024
_PARTS_AT_ONCE = 512
"""Systems allow 1,024."""


class Ends(NamedTuple):
    """How far a queue is."""

    begin: int
    handed: int
    end: int


class Closed(Exception):
    """The other side has closed the connection, between two frames or within one."""

    def __str__(self) -> str:
        return "the connection was closed"


def receive(connection: socket.socket, size: int) -> bytearray:
    """Exactly so many bytes. Raises Closed."""
    received = bytearray(size)
    view, have = memoryview(received), 0
    while have < size:
        more = connection.recv_into(view[have:])
        if not more:
            raise Closed
        have += more
    return received


def connect(address: tuple[str, int], stream: str, timeout_s: float | None = None) -> socket.socket:
    """A connection for this stream. Raises OSError and Closed."""
    return open_stream(address, stream, timeout_s)[0]


def open_stream(address: tuple[str, int], stream: str, timeout_s: float | None = None) -> tuple[socket.socket, int]:
    """A connection for this stream, and the width of its records; 1 of a collector. Raises OSError and Closed."""
    connection = socket.create_connection(address, timeout_s)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        name = stream.encode()
        connection.sendall(LENGTH.pack(len(name)) + name)
        width: int = LENGTH.unpack(receive(connection, LENGTH.size))[0]
        if not width:
            raise ConnectionRefusedError(f"there is no stream {stream!r}")
    except BaseException:
        connection.close()
        raise
    return connection, width


def send(connection: socket.socket, parts: Sequence[bytes | memoryview]) -> None:
    """All of these bytes, without copying them together."""
    left = deque(memoryview(part).cast("B") for part in parts if len(part))
    while left:
        sent = connection.sendmsg(list(islice(left, _PARTS_AT_ONCE)))
        while left and sent >= len(left[0]):
            sent -= len(left.popleft())
        if sent:
            left[0] = left[0][sent:]
