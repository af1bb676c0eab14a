"""The bytes of each role: they never fall, and what was read from the transport is told from the rest."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from children import DEADLINE_S, python

from streamgauge.measure.network import Network
from streamgauge.measure.sampling import Sampler
from streamgauge.processes import sockets
from streamgauge.processes.sockets import Connection
from streamgauge.processes.supervisor import Supervisor

SERVER = 9092
MB = 1_000_000
PROCESSES = {"worker-1": [1], "worker-2": [2, 3]}


def one(
    cookie: int, received: int, sent: int = 0, *, port: int = 80, inode: int | None = None, local: int | None = None
) -> Connection:
    local = 10_000 + cookie if local is None else local
    return Connection(cookie, cookie if inode is None else inode, local, port, received, sent)


class Watched:
    """A network whose processes have these sockets open; a socket's inode is its cookie."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, opened: dict[int, set[int]]) -> None:
        self.network = Network()
        self.network.transport_ports = frozenset({SERVER})
        self.scans = 0

        def inodes(pid: int) -> set[int]:
            self.scans += 1
            return opened.get(pid, set())

        monkeypatch.setattr(sockets, "inodes", inodes)

    def look(self, *connections: Connection) -> Mapping[str, Mapping[str, float | None]]:
        return self.network.sample(connections, PROCESSES)


def test_connections_count_for_the_role_that_has_them_open(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, {1: {11}, 3: {31, 32}})
    figures = watched.look(one(11, 5 * MB, MB), one(31, MB), one(32, 2 * MB, 3 * MB), one(99, 50 * MB))
    assert figures == {
        "worker-1": {"received_mb": 5.0, "sent_mb": 1.0, "from_transport_mb": 0.0},
        "worker-2": {"received_mb": 3.0, "sent_mb": 3.0, "from_transport_mb": 0.0},
    }


def test_what_a_role_sends_to_itself_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an executor's JVM to its Python workers. What it sends to another role does."""
    watched = Watched(monkeypatch, {2: {21, 22}, 3: {31}, 1: {11}})
    pipe = one(21, 9 * MB, MB, local=5001, port=5002), one(31, MB, 9 * MB, local=5002, port=5001)
    other = one(22, MB, 2 * MB, local=6001, port=6002), one(11, 2 * MB, MB, local=6002, port=6001)
    figures = watched.look(*pipe, *other)
    assert {role: (values["received_mb"], values["sent_mb"]) for role, values in figures.items()} == {
        "worker-1": (2.0, 1.0),
        "worker-2": (1.0, 2.0),
    }


def test_what_a_closed_connection_had_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, {1: {11, 12}})
    watched.look(one(11, 2 * MB, port=SERVER))
    watched.look(one(11, 3 * MB, port=SERVER), one(12, MB, port=SERVER))
    last = watched.look(one(12, 4 * MB, port=SERVER))["worker-1"]
    assert (last["received_mb"], last["from_transport_mb"]) == (7.0, 7.0)
    assert watched.look()["worker-1"] == last
    assert watched.network.from_transport == {"worker-1": 7 * MB, "worker-2": 0}


def test_answers_to_what_was_written_were_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer's connection has sent more than it has received, but at first both are small."""
    watched = Watched(monkeypatch, {1: {11}, 2: {21}})
    watched.look(one(11, 900, 300, port=SERVER), one(21, 900, 300, port=SERVER))
    watched.look(one(11, 5 * MB, MB, port=SERVER), one(21, MB, 5 * MB, port=SERVER))
    assert watched.network.from_transport == {"worker-1": 5 * MB, "worker-2": 900}


def test_processes_are_searched_for_new_connections_only(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, {1: {11}})
    watched.look(one(11, 1), one(99, 1))
    assert watched.scans == 3
    watched.look(one(11, 2), one(99, 2))
    assert watched.scans == 3
    watched.look(one(11, 2), one(98, 2))
    assert watched.scans == 6


def test_a_connection_that_is_not_accepted_yet_is_looked_up_later(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, {1: {11}})
    watched.look(one(11, MB, inode=0))
    assert watched.look(one(11, 2 * MB))["worker-1"]["received_mb"] == 2.0
    # Closed by the process while the rest is still under way.
    assert watched.look(one(11, 3 * MB, inode=0))["worker-1"]["received_mb"] == 3.0


def test_a_transport_at_unknown_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch, {1: {11}})
    watched.network.transport_ports = frozenset()
    assert watched.look(one(11, MB, port=SERVER))["worker-1"]["from_transport_mb"] is None
    assert watched.network.from_transport == {}


def test_a_system_that_does_not_report_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> Sequence[Connection]:
        raise OSError("no")

    monkeypatch.setattr(sockets, "connections", refuse)
    network = Network()
    assert network.look() is None
    unknown = {"received_mb": None, "sent_mb": None, "from_transport_mb": None}
    assert network.sample(None, PROCESSES) == {"worker-1": unknown, "worker-2": unknown}


READER = """
import socket
with socket.create_connection(("127.0.0.1", {port})) as server:
    left = 3_000_000
    while left: left -= len(server.recv(min(left, 65536)))
    server.sendall(b"x" * 1000)
    say('ready'); sys.stdin.readline()
say('closed'); sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not report it")
def test_a_real_process_that_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "state"))
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        Supervisor("test-run", tmp_path / "logs", temp_root=tmp_path) as supervisor,
    ):
        port = server.getsockname()[1]
        sampler = Sampler(supervisor.processes)
        sampler.network.transport_ports = frozenset({port})

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"y" * 3_000_000)
                while connection.recv(65536):
                    pass

        serving = threading.Thread(target=serve)
        serving.start()
        supervisor.start(python(READER.format(port=port), "worker-1"))
        supervisor.start(python("say('ready'); sys.stdin.read()", "worker-2"))
        reading, idle = sampler.sample(1)
        supervisor.send("worker-1", "close")
        supervisor.wait_event("worker-1", "closed", DEADLINE_S)
        serving.join(DEADLINE_S)
        closed, _ = sampler.sample(2)
    assert (reading.received_mb, reading.from_transport_mb) == (3.0, 3.0)
    assert (idle.received_mb, idle.sent_mb, idle.from_transport_mb) == (0.0, 0.0, 0.0)
    assert (closed.received_mb, closed.from_transport_mb) == (3.0, 3.0)
