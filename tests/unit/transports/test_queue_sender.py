"""A generator with its queues: what it puts in, when it gives out, and what it leaves in its files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streamgauge import queue_protocol as wire
from streamgauge.contracts import Records
from streamgauge.errors import EnvironmentProblem
from streamgauge.model import Stream
from streamgauge.packed import Packed
from streamgauge.transports.queue import Queue
from streamgauge.transports.queue import server as serving
from streamgauge.transports.queue.listener import LOOPBACK
from streamgauge.transports.queue.sender import QueueSender

WIDTH = 4
STREAM = Stream("ads", "run.ads", 1, "input")
OUTPUT = Stream("output", "run.output", 1, "output")


class Generator:
    def __init__(self, directory: Path, bound: int = 1000) -> None:
        self.gave_out: list[str] = []
        self.sender = QueueSender({"ads": WIDTH}, 0, directory, 0, bound, self.gave_out.append)
        self.sender.connect(1)
        assert self.sender._server is not None
        self.port = self.sender._server.listener.port
        self._sent = 0
        self.settled: list[int] = []

    def send(self, count: int, *, packed: bool = True) -> None:
        values = [(self._sent + n).to_bytes(WIDTH, "little") for n in range(count)]
        records = Packed(b"".join(values), WIDTH) if packed else values
        self.sender.send({"ads": Records(range(count), [], records)}, self.settled.append)
        self._sent += count

    def end(self) -> None:
        stop = threading.Event()
        stop.set()
        self.sender.serve(stop)


@pytest.fixture
def generator(tmp_path: Path) -> Iterator[Generator]:
    made = Generator(tmp_path)
    yield made
    assert made.sender._server is not None
    made.sender._server.close()


def fetched(port: int, offset: int, most: int) -> list[int]:
    with wire.connect((LOOPBACK, port), "ads", 20) as client:
        client.sendall(wire.REQUEST.pack(wire.FETCH, most, offset))
        _, count, _ = wire.ANSWER.unpack(wire.receive(client, wire.ANSWER.size))
        data = wire.receive(client, count * WIDTH)
        client.sendall(wire.REQUEST.pack(wire.LEAVE, 0, 0))
        assert client.recv(1) == b""
    return [int.from_bytes(data[at : at + WIDTH], "little") for at in range(0, len(data), WIDTH)]


def test_records_are_settled_at_once_and_can_be_fetched(generator: Generator) -> None:
    generator.send(3)
    generator.send(2, packed=False)
    assert generator.settled == [0, 0]
    assert fetched(generator.port, 1, 10) == [1, 2, 3, 4]
    assert generator.gave_out == []


def test_more_than_the_bound_ends_it_once(tmp_path: Path) -> None:
    generator = Generator(tmp_path, bound=5)
    generator.send(5)
    assert generator.gave_out == []
    fetched(generator.port, 0, 2)
    generator.send(2)
    assert generator.gave_out == [], "what was handed over does not wait"
    generator.send(1)
    generator.send(1)
    assert generator.gave_out == ["the queues overflowed: 6 records waited, more than 5"]
    generator.end()


def test_a_lost_reader_ends_it(generator: Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "GONE_S", 0.0)
    generator.send(5)
    client = wire.connect((LOOPBACK, generator.port), "ads", 20)
    client.sendall(wire.REQUEST.pack(wire.FETCH, 1, 0))
    wire.receive(client, wire.ANSWER.size + WIDTH)
    client.close()
    while not generator.gave_out:
        generator.sender.poll(0.01)
    assert generator.gave_out == ["a reader of ads dropped its connection and was gone for 5 s"]


def test_the_files_have_every_record_and_every_hand_over(generator: Generator, tmp_path: Path) -> None:
    generator.send(4)
    fetched(generator.port, 0, 3)
    generator.send(1)
    fetched(generator.port, 2, 10)
    generator.end()
    events = pq.read_table(tmp_path / "ads-0.parquet").to_pydict()
    assert [int.from_bytes(value, "little") for value in events["value"]] == events["offset"] == [0, 1, 2, 3, 4]
    handed = pq.read_table(tmp_path / "ads-0-handed.parquet").to_pydict()
    assert (handed["first"], handed["count"]) == ([0, 3], [3, 2])
    assert events["appended_ms"][0] * 1_000_000 <= handed["handed_ns"][0] <= handed["handed_ns"][1]


def test_a_taken_port_is_reported(generator: Generator, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = QueueSender({"ads": WIDTH}, generator.port, tmp_path / "other", 0, 5, print)
    with pytest.raises(EnvironmentProblem, match="the queue cannot listen"):
        other.connect(1)


def transport(port: int, directory: Path) -> Queue:
    described = {"ports": [1, port], "directory": str(directory), "widths": {"ads": WIDTH}, "bound_records": 7}
    return Queue.attach(described)


def test_positions_are_those_of_the_queue(generator: Generator, tmp_path: Path) -> None:
    generator.send(4)
    fetched(generator.port, 0, 3)
    queue = transport(generator.port, tmp_path)
    positions = queue.positions([STREAM])
    queue.remove()
    assert (positions.appended, positions.consumed) == ({"ads": 4}, 3)


def test_the_ends_of_the_inputs_are_known_when_the_load_has_ended(generator: Generator, tmp_path: Path) -> None:
    generator.send(4)
    with pytest.raises(EnvironmentProblem, match="has not written its records"):
        transport(generator.port, tmp_path).ends([STREAM])
    generator.end()
    assert transport(generator.port, tmp_path).ends([STREAM]) == {"ads": {0: 4}}


def test_a_process_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="the collector of output does not answer"):
        transport(1, tmp_path).positions([OUTPUT])


def test_a_description_is_sufficient_to_attach(tmp_path: Path) -> None:
    made = transport(5, tmp_path)
    assert Queue.attach(made.describe()).describe() == made.describe()
    assert made.endpoints == {"queues": "127.0.0.1:5", "collector": "127.0.0.1:1"}
    assert [made.partitions(role, 8, 3) for role in ("input", "output")] == [3, 1]
