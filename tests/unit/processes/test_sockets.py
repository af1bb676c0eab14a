"""What the kernel reports of connections: from crafted answers, and of a real one."""

from __future__ import annotations

import errno
import os
import socket
import struct
import sys

import pytest
from children import await_true

from streamgauge.processes import sockets
from streamgauge.processes.sockets import Connection

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems do not report it")


def message(kind: int, content: bytes) -> bytes:
    return struct.pack("=IHHII", 16 + len(content), kind, 2, 0, 0) + content


def attribute(kind: int, content: bytes) -> bytes:
    padded = content + b"\0" * (-len(content) % 4)
    return struct.pack("=HH", 4 + len(content), kind) + padded


def connection(remote_port: int, cookie: int, inode: int, *attributes: bytes) -> bytes:
    """An ``inet_diag_msg`` with its attributes."""
    ports = struct.pack(">HH", 40000, remote_port)
    identity = ports + b"\x7f\0\0\1" + b"\0" * 12 + b"\x7f\0\0\1" + b"\0" * 12 + struct.pack("=IQ", 0, cookie)
    return message(20, b"\x02\x01\0\0" + identity + struct.pack("=5I", 0, 0, 0, 1000, inode) + b"".join(attributes))


def tcp_info(sent: int, received: int, more: int = 144) -> bytes:
    """``bytes_acked`` and ``bytes_received`` come after 8 one-byte fields, 24 of four bytes and 2 of eight."""
    return attribute(2, b"\1" * 8 + b"\2" * 96 + b"\3" * 16 + struct.pack("=QQ", sent, received) + b"\4" * more)


def test_an_answer_with_several_connections() -> None:
    shutdown = attribute(8, b"\0")
    answer = connection(9092, 7, 111, shutdown, tcp_info(5, 10**10)) + connection(80, 8, 0, tcp_info(3, 4, more=0))
    read, closing = Connection(7, 111, 40000, 9092, 10**10, 5), Connection(8, 0, 40000, 80, 4, 3)
    assert sockets.parse(answer) == ([read, closing], False)
    assert sockets.parse(connection(80, 8, 1, tcp_info(3, 4)) + message(3, b"\0" * 4)) == (
        [Connection(8, 1, 40000, 80, 4, 3)],
        True,
    )


def test_connections_whose_bytes_are_not_reported_are_left_out() -> None:
    old_kernel = attribute(2, b"\0" * 104)
    assert sockets.parse(connection(80, 8, 1, old_kernel) + connection(80, 9, 1)) == ([], False)


def test_an_error_of_the_kernel() -> None:
    with pytest.raises(OSError, match=os.strerror(errno.EPERM)) as refused:
        sockets.parse(message(2, struct.pack("=i", -errno.EPERM)))
    assert refused.value.errno == errno.EPERM


@pytest.mark.parametrize(
    "answer",
    [
        b"\1\2\3",
        connection(80, 8, 1, tcp_info(3, 4))[:-30],
        message(20, b"\2\1"),
        struct.pack("=IHHII", 0, 20, 2, 0, 0),
        message(2, b""),
    ],
)
def test_an_answer_that_is_not_understood(answer: bytes) -> None:
    with pytest.raises(OSError, match="does not report"):
        sockets.parse(answer)


@LINUX
def test_a_real_connection_over_loopback() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client, server.accept()[0] as accepted:
            client.sendall(b"x" * 300_000)
            received = 0
            while received < 300_000:
                received += len(accepted.recv(65536))
            accepted.sendall(b"y" * 7)
            assert client.recv(7) == b"y" * 7
            ends = {os.fstat(end.fileno()).st_ino: end for end in (client, accepted)}
            assert set(ends) <= sockets.inodes(os.getpid())

            def of(end: socket.socket) -> Connection:
                (found,) = (one for one in sockets.connections() if ends.get(one.inode) is end)
                return found

            # An acknowledgement may be under way, and the kernel counts the SYN.
            await_true(lambda: of(client).sent >= 300_000)
            assert (of(client).received, of(client).remote_port) == (7, port)
            assert of(client).sent - 300_000 in (0, 1)
            assert of(accepted).received == 300_000
            assert of(client).cookie != of(accepted).cookie
        assert not [one for one in sockets.connections() if one.inode in ends]


@LINUX
def test_here_it_is_known() -> None:
    assert sockets.why_unknown() is None


def test_where_it_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> list[Connection]:
        raise OSError(errno.EPROTONOSUPPORT, "Protocol not supported")

    with monkeypatch.context() as patch:
        patch.setattr(sockets, "connections", refuse)
        assert "inet_diag" in str(sockets.why_unknown()) or sys.platform != "linux"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert sockets.why_unknown() == sockets.UNSUPPORTED
    with pytest.raises(OSError, match="only Linux"):
        sockets.connections()


def test_a_process_that_does_not_exist_has_no_sockets() -> None:
    assert sockets.inodes(2**22 + 1) == set()
