"""The TCP connections of this machine with the bytes that each has carried, as the Linux kernel reports them.

One request to the kernel's socket diagnostics (``sock_diag``, ``inet_diag``) for each address family; no program is
started and no right is needed. Elsewhere it is not available.
"""

from __future__ import annotations

import os
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass

UNSUPPORTED = "only Linux reports how much each connection has carried"
REFUSED = "the kernel does not report how much each connection has carried (inet_diag)"

_SOCK_DIAG = 4
_BY_FAMILY = 20
_DUMP_REQUEST = 0x301
_ERROR, _DONE = 2, 3
_TCP = 6
_INFO = 2
"""The attribute with ``tcp_info``; as bit ``_INFO - 1``, the extension that asks for it."""
_CARRYING = sum(1 << state for state in (1, 4, 5, 8, 9, 11))
"""From ESTABLISHED to CLOSING: not those that only listen, open, or wait for their name to be free again."""
_HEADER = struct.Struct("=IHHII")
_ATTRIBUTE = struct.Struct("=HH")
_PORTS = struct.Struct(">HH")
"""The local one and the remote one."""
_COOKIE = struct.Struct("=Q")
_INODE = struct.Struct("=I")
_BYTES = struct.Struct("=QQ")
_PORTS_AT, _COOKIE_AT, _INODE_AT, _MESSAGE_BYTES = 4, 44, 68, 72
_BYTES_AT = 120
"""Of ``bytes_acked`` and ``bytes_received`` in ``tcp_info``."""
_BUFFER_BYTES = 256 * 1024
_ANSWER_S = 1.0


@dataclass(frozen=True, slots=True)
class Connection:
    """One end of a connection. ``cookie`` is never used again while the machine runs."""

    cookie: int
    inode: int
    """By which a process has it open; 0 if none has (yet, or any more)."""
    local_port: int
    remote_port: int
    received: int
    """Bytes so far."""
    sent: int
    """Bytes that the other end has acknowledged."""


def connections() -> list[Connection]:
    """All connections in this network namespace. Raises OSError where the system does not report them."""
    if sys.platform != "linux":
        raise OSError(UNSUPPORTED)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.settimeout(_ANSWER_S)
        return [one for family in (socket.AF_INET, socket.AF_INET6) for one in _of_family(kernel, family)]


def _of_family(kernel: socket.socket, family: int) -> Iterator[Connection]:
    request = struct.pack("=BBBBI48x", family, _TCP, 1 << (_INFO - 1), 0, _CARRYING)
    kernel.send(_HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _DUMP_REQUEST, 0, 0) + request)
    is_last = False
    while not is_last:
        found, is_last = parse(kernel.recv(_BUFFER_BYTES))
        yield from found


def parse(answer: bytes) -> tuple[list[Connection], bool]:
    """The connections in one answer of the kernel, and whether it is the last one. Raises OSError."""
    found: list[Connection] = []
    at = 0
    try:
        while at < len(answer):
            length, kind, *_ = _HEADER.unpack_from(answer, at)
            begin, end = at + _HEADER.size, at + length
            if kind == _DONE:
                return found, True
            if kind == _ERROR:
                number = -struct.unpack_from("=i", answer, begin)[0]
                raise OSError(number, os.strerror(number))
            if end > len(answer) or end < begin + _MESSAGE_BYTES:
                raise OSError(REFUSED)
            found += _connection(answer, begin, end)
            at += _aligned(length)
    except struct.error:
        raise OSError(REFUSED) from None
    return found, False


def _connection(answer: bytes, begin: int, end: int) -> list[Connection]:
    at = begin + _MESSAGE_BYTES
    while at + _ATTRIBUTE.size <= end:
        length, kind = _ATTRIBUTE.unpack_from(answer, at)
        # An old kernel has a shorter ``tcp_info``.
        if kind == _INFO and length >= _ATTRIBUTE.size + _BYTES_AT + _BYTES.size:
            sent, received = _BYTES.unpack_from(answer, at + _ATTRIBUTE.size + _BYTES_AT)
            (cookie,) = _COOKIE.unpack_from(answer, begin + _COOKIE_AT)
            (inode,) = _INODE.unpack_from(answer, begin + _INODE_AT)
            local_port, remote_port = _PORTS.unpack_from(answer, begin + _PORTS_AT)
            return [Connection(cookie, inode, local_port, remote_port, received, sent)]
        at += _aligned(max(length, _ATTRIBUTE.size))
    return []


def _aligned(length: int) -> int:
    return (length + 3) & ~3


def inodes(pid: int) -> set[int]:
    """Of the sockets that a process has open; empty if it must not be inspected."""
    folder = f"/proc/{pid}/fd"
    found = set()
    try:
        for name in os.listdir(folder):  # noqa: PTH208 cheaper than a Path
            try:
                target = os.readlink(f"{folder}/{name}")  # noqa: PTH115 not a path
            except OSError:
                continue  # closed meanwhile
            if target.startswith("socket:["):
                found.add(int(target[8:-1]))
    except OSError:
        return set()
    return found


def why_unknown() -> str | None:
    """Why nothing is known of the connections here; None where it is."""
    try:
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as one:
            inode = os.fstat(one.fileno()).st_ino
            return None if any(known.inode == inode for known in connections()) else REFUSED
    except OSError as problem:
        return UNSUPPORTED if sys.platform != "linux" else f"{REFUSED}: {problem.strerror or problem}"
