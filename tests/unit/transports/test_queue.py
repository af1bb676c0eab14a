"""Queues of events: what is kept, handed over and acknowledged, and a reader over TCP."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from streamgauge import queue_protocol as wire
from streamgauge.transports.queue import server as serving
from streamgauge.transports.queue.events import EventQueue, Gone
from streamgauge.transports.queue.listener import LOOPBACK
from streamgauge.transports.queue.server import QueueServer

WIDTH = 8
DEADLINE_S = 20.0


def records(first: int, count: int) -> bytes:
    return struct.pack(f"<{count}q", *range(first, first + count))


def numbers(parts: list[memoryview]) -> list[int]:
    return [number for part in parts for (number,) in struct.iter_unpack("<q", part)]


def filled(*counts: int) -> EventQueue:
    queue = EventQueue(WIDTH)
    first = 0
    for count in counts:
        queue.put(records(first, count))
        first += count
    return queue


def test_records_come_back_by_offset_over_the_borders_of_blocks() -> None:
    queue = filled(3, 1, 4)
    for offset in range(8):
        for most in range(1, 10):
            count, parts = queue.fetch(offset, most, 0)
            assert numbers(parts) == list(range(offset, min(offset + most, 8)))
            assert count == len(numbers(parts))
    assert queue.fetch(8, 5, 0) == (0, [])


def test_only_what_was_never_handed_over_waits() -> None:
    queue = filled(10)
    assert queue.waiting == 10
    queue.fetch(0, 4, 0)
    queue.fetch(2, 2, 0)  # again
    assert (queue.waiting, queue.ends) == (6, wire.Ends(0, 4, 10))


def test_the_moment_of_the_first_hand_over_counts() -> None:
    seen: list[tuple[int, int, int]] = []
    moments = iter((100, 200, 300))
    queue = EventQueue(WIDTH, lambda *handed: seen.append(handed), lambda: next(moments))
    queue.put(records(0, 10))
    for offset, most in ((0, 4), (0, 4), (2, 4), (6, 10)):
        queue.fetch(offset, most, 0)
    assert seen == [(0, 4, 100), (4, 2, 200), (6, 4, 300)]


def test_acknowledged_records_are_dropped_and_cannot_be_read_again() -> None:
    queue = filled(3, 3, 3)
    queue.fetch(0, 7, 0)
    queue.acknowledge(4)
    assert queue.ends == wire.Ends(4, 7, 9)
    with pytest.raises(Gone):
        queue.fetch(3, 1, 0)
    assert numbers(queue.fetch(4, 9, 0)[1]) == [4, 5, 6, 7, 8]
    queue.acknowledge(2)
    assert queue.ends.begin == 4


def test_what_was_not_handed_over_cannot_be_acknowledged() -> None:
    queue = filled(5)
    queue.acknowledge(5)
    assert queue.ends == wire.Ends(0, 0, 5)


@pytest.mark.parametrize("offset", [9, 100, 2**64 - 1])
def test_a_reader_beyond_the_end_changes_nothing(offset: int) -> None:
    queue = filled(8)
    queue.fetch(0, 3, 0)
    with pytest.raises(Gone):
        queue.fetch(offset, 5, 0)
    assert (queue.waiting, queue.ends) == (5, wire.Ends(0, 3, 8))
    assert queue.fetch(8, 5, 0) == (0, []), "the end itself is where the next record will be"
    assert queue.ends.handed == 3


def test_a_fetch_waits_for_the_first_record() -> None:
    queue = filled()
    threading.Timer(0.05, lambda: queue.put(records(0, 1))).start()
    assert queue.fetch(0, 5, DEADLINE_S)[0] == 1


def test_a_part_of_a_record_is_refused() -> None:
    with pytest.raises(ValueError, match="12 bytes are not a whole number of records of 8"):
        filled().put(bytes(12))


class Client:
    """As docs/reference/protocol.md describes it."""

    def __init__(self, port: int, stream: str) -> None:
        self.socket = socket.create_connection((LOOPBACK, port), timeout=DEADLINE_S)
        self.socket.sendall(wire.LENGTH.pack(len(stream.encode())) + stream.encode())
        [self.width] = wire.LENGTH.unpack(wire.receive(self.socket, 4))

    def ask(self, op: int, offset: int = 0, most: int = 0) -> None:
        self.socket.sendall(wire.REQUEST.pack(op, most, offset))

    def fetch(self, offset: int, most: int) -> tuple[int, list[int], int]:
        self.ask(wire.FETCH, offset, most)
        first, count, flag = wire.ANSWER.unpack(wire.receive(self.socket, wire.ANSWER.size))
        return first, numbers([memoryview(wire.receive(self.socket, count * self.width))]), flag

    def look(self) -> wire.Ends:
        self.ask(wire.LOOK)
        return wire.Ends(*wire.ENDS.unpack(wire.receive(self.socket, wire.ENDS.size)))

    def leave(self) -> None:
        self.ask(wire.LEAVE)
        assert self.socket.recv(1) == b""
        self.socket.close()


Connect = Callable[..., Client]


@pytest.fixture
def connect(server: QueueServer) -> Iterator[Connect]:
    clients: list[Client] = []

    def connected(stream: str = "purchases") -> Client:
        clients.append(Client(server.listener.port, stream))
        return clients[-1]

    yield connected
    for client in clients:
        client.socket.close()


@pytest.fixture
def queue() -> EventQueue:
    return filled(3, 4)


@pytest.fixture
def server(queue: EventQueue) -> Iterator[QueueServer]:
    made = QueueServer({"purchases": queue}, 0)
    yield made
    made.close()


def await_true(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_client_fetches_looks_and_acknowledges(connect: Connect, queue: EventQueue) -> None:
    client = connect()
    assert client.width == WIDTH
    assert client.fetch(0, 5) == (0, [0, 1, 2, 3, 4], 0)
    assert client.look() == wire.Ends(0, 5, 7)
    client.ask(wire.ACKNOWLEDGE, 5)
    assert client.fetch(2, 5) == (5, [], wire.GONE)
    assert client.fetch(5, 5) == (5, [5, 6], 0)
    assert client.fetch(7, 5) == (7, [], 0), "nothing is there yet"
    queue.put(records(7, 1))
    assert client.fetch(7, 5) == (7, [7], 0)
    client.leave()


def test_a_large_answer_arrives_whole(connect: Connect, queue: EventQueue) -> None:
    for block in range(300):
        queue.put(records(7 + 1000 * block, 1000))
    for n_seq in range(300_007, 303_000):
        queue.put(records(n_seq, 1))
    _, found, _ = connect().fetch(0, 10**6)
    assert found == list(range(303_000))


def test_an_unknown_stream_has_no_width(connect: Connect) -> None:
    client = connect("ads")
    assert client.width == 0
    assert client.socket.recv(1) == b""


@pytest.mark.parametrize("rubbish", [b"GET / HTTP/1.1\r\n\r\n", wire.LENGTH.pack(2) + b"\xff\xff", b"\x00"])
def test_rubbish_ends_its_own_connection_only(server: QueueServer, connect: Connect, rubbish: bytes) -> None:
    # The server may close the connection before all of it was sent.
    with (
        contextlib.suppress(OSError),
        socket.create_connection((LOOPBACK, server.listener.port), timeout=DEADLINE_S) as stranger,
    ):
        stranger.sendall(rubbish)
        stranger.shutdown(socket.SHUT_WR)
        while stranger.recv(100):
            pass
    assert connect().look().end == 7


def test_too_many_connections_end_when_some_are_closed(server: QueueServer, connect: Connect) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    used = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 64
    resource.setrlimit(resource.RLIMIT_NOFILE, (used + 8, hard))
    crowd: list[socket.socket] = []
    try:
        with contextlib.suppress(OSError):
            while len(crowd) < 100:
                crowd.append(socket.create_connection((LOOPBACK, server.listener.port), timeout=1))
    finally:
        for one in crowd:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert connect().look().end == 7


class TestLostReaders:
    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(serving, "GONE_S", 0.0)

    def test_one_that_does_not_come_back(self, server: QueueServer, connect: Connect) -> None:
        client = connect()
        client.fetch(0, 3)
        assert server.dropped() is None
        client.socket.close()
        await_true(lambda: server.dropped() == "purchases")

    def test_one_that_comes_back(self, server: QueueServer, connect: Connect) -> None:
        client = connect()
        client.fetch(0, 3)
        client.socket.close()
        await_true(server.dropped)
        connect().fetch(3, 1)
        assert server.dropped() is None

    def test_one_that_takes_its_leave(self, server: QueueServer, connect: Connect) -> None:
        client = connect()
        client.fetch(0, 3)
        client.leave()
        assert server.dropped() is None

    def test_one_of_two(self, server: QueueServer, connect: Connect) -> None:
        one, other = connect(), connect()
        one.fetch(0, 3)
        other.fetch(3, 1)
        one.socket.close()
        assert other.fetch(4, 1)[1] == [4]
        assert server.dropped() is None

    def test_one_that_has_read_everything(self, server: QueueServer, connect: Connect) -> None:
        client = connect()
        client.fetch(0, 100)
        client.socket.close()
        await_true(lambda: not server.listener.connections)
        assert server.dropped() is None

    def test_one_that_acknowledges_what_others_fetch(self, server: QueueServer, connect: Connect) -> None:
        """As a system whose driver plans batches and whose tasks read them, one connection each."""
        driver, task = connect(), connect()
        task.fetch(0, 3)
        driver.ask(wire.ACKNOWLEDGE, offset=2)
        task.leave()
        await_true(lambda: server.listener.connections == 1)
        assert server.dropped() is None
        driver.socket.close()
        await_true(lambda: server.dropped() == "purchases")

    def test_one_that_only_looked(self, server: QueueServer, connect: Connect) -> None:
        client = connect()
        client.look()
        client.socket.close()
        await_true(lambda: not server.listener.connections)
        assert server.dropped() is None


def test_closing_ends_every_connection(server: QueueServer, connect: Connect) -> None:
    client = connect()
    client.fetch(0, 1)
    server.close()
    assert client.socket.recv(1) == b""
    with pytest.raises(OSError):
        connect()
