"""The collector: frames of results over TCP, stamped on arrival, in a Parquet file."""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streamgauge import queue_protocol as wire
from streamgauge.transports.queue.collector import BadFrame, Collector, results_of
from streamgauge.transports.queue.files import GROUP_ROWS, events_file, handed_file
from streamgauge.transports.queue.listener import LOOPBACK

DEADLINE_S = 20.0
Result = tuple[bytes, bytes]


def frame_of(*results: Result) -> bytes:
    return b"".join(struct.pack("<II", len(key), len(value)) + key + value for key, value in results)


class Client:
    def __init__(self, port: int, stream: str = "output") -> None:
        self.socket = socket.create_connection((LOOPBACK, port), timeout=DEADLINE_S)
        self.socket.sendall(wire.LENGTH.pack(len(stream)) + stream.encode())
        [self.known] = wire.LENGTH.unpack(wire.receive(self.socket, 4))

    def push(self, frame: bytes) -> int:
        self.socket.sendall(wire.LENGTH.pack(len(frame)) + frame)
        count: int = wire.COUNT.unpack(wire.receive(self.socket, wire.COUNT.size))[0]
        return count


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    made = Collector(0, tmp_path, ["output"])
    yield made
    made.listener.close()


@pytest.fixture
def client(collector: Collector) -> Iterator[Client]:
    made = Client(collector.listener.port)
    yield made
    made.socket.close()


def test_results_are_in_the_file_in_the_order_in_which_they_came(
    collector: Collector, client: Client, tmp_path: Path
) -> None:
    before_ms = time.time_ns() // 1_000_000
    assert client.known == 1
    assert client.push(frame_of((b"a", b"1"), (b"", b"22"))) == 2
    assert client.push(b"") == 2, "an empty frame only asks"
    assert client.push(frame_of((b"c", b""))) == 3
    assert not (tmp_path / "output.parquet").exists(), "it appears when it is complete"
    collector.close()
    rows = pq.read_table(tmp_path / "output.parquet").to_pydict()
    assert (rows["key"], rows["value"]) == ([b"a", b"", b"c"], [b"1", b"22", b""])
    assert rows["offset"] == [0, 1, 2]
    assert rows["appended_ms"][0] == rows["appended_ms"][1], "a frame arrives as a whole"
    assert before_ms <= rows["appended_ms"][0] <= rows["appended_ms"][2] <= time.time_ns() // 1_000_000


def test_an_unknown_stream_is_refused(collector: Collector) -> None:
    stranger = Client(collector.listener.port, "other")
    assert stranger.known == 0
    assert stranger.socket.recv(1) == b""
    stranger.socket.close()


@pytest.mark.parametrize("frame", [b"\x01", frame_of((b"a", b"1"))[:-1], struct.pack("<II", 2**31, 5) + b"xx"])
def test_a_frame_without_whole_results_is_not_taken(collector: Collector, client: Client, frame: bytes) -> None:
    with pytest.raises(BadFrame):
        results_of(frame)
    with pytest.raises(wire.Closed):
        client.push(frame)
    other = Client(collector.listener.port)
    assert other.push(b"") == 0
    other.socket.close()


def test_several_clients_share_the_offsets(collector: Collector, client: Client, tmp_path: Path) -> None:
    other = Client(collector.listener.port)
    for number in range(50):
        (client, other)[number % 2].push(frame_of((b"k", b"%d" % number)))
    other.socket.close()
    collector.close()
    rows = pq.read_table(tmp_path / "output.parquet").to_pydict()
    assert [int(value) for value in rows["value"]] == rows["offset"] == list(range(50))


def test_the_process_ends_with_its_standard_input(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamgauge.transports.queue.collector", "0", str(tmp_path), "output"]
    done = subprocess.run(command, input=b"", stdout=subprocess.PIPE, timeout=DEADLINE_S, check=True)
    assert done.stdout.split() == [b'{"event":"ready"}', b'{"event":"stopped"}']
    assert pq.read_table(tmp_path / "output.parquet").num_rows == 0


def test_a_taken_port_and_a_directory_that_is_not_there_are_reported(collector: Collector, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamgauge.transports.queue.collector"]
    for arguments, message in (
        ([str(collector.listener.port), str(tmp_path)], b"Address already in use"),
        (["0", str(tmp_path / "none")], b"No such file or directory"),
    ):
        done = subprocess.run([*command, *arguments, "output"], input=b"", stdout=subprocess.PIPE, check=False)
        assert done.returncode == 1 and message in done.stdout


def test_the_records_of_a_queue_with_their_offsets_and_moments(tmp_path: Path) -> None:
    file = events_file(tmp_path / "purchases.parquet", 8)
    blocks = [(0, 3, 5_000_000), (3, GROUP_ROWS, 6_999_999), (3 + GROUP_ROWS, 1, 8_000_000)]
    for first, count, at_ns in blocks:
        file.add((first, struct.pack(f"<{count}q", *range(first, first + count)), at_ns), count)
    file.close()
    rows = pq.read_table(tmp_path / "purchases.parquet").to_pydict()
    assert rows["offset"] == [int.from_bytes(value, "little") for value in rows["value"]] == list(range(GROUP_ROWS + 4))
    assert rows["appended_ms"] == [5] * 3 + [6] * GROUP_ROWS + [8]


def test_what_cannot_be_written_is_reported_and_leaves_no_file(tmp_path: Path) -> None:
    file = handed_file(tmp_path / "handed.parquet")
    file.add((2**64, 1, 1), 1)
    with pytest.raises(OSError, match=r"too big|int"):
        file.close()
    assert not (tmp_path / "handed.parquet").exists()


def test_what_was_handed_over_when(tmp_path: Path) -> None:
    file = handed_file(tmp_path / "handed.parquet")
    file.add((0, 4, 100), 1)
    file.add((4, 2, 250), 1)
    file.close()
    rows = pq.read_table(tmp_path / "handed.parquet").to_pydict()
    assert rows == {"first": [0, 4], "count": [4, 2], "handed_ns": [100, 250]}
