"""The fault ``cut`` on real sockets: a server in this process, our proxy, and clients in processes of their own."""

from __future__ import annotations

import socket
import socketserver
import sys
import threading
from collections.abc import Iterator

import pytest
from children import await_true, python
from test_faults import Acting

from streamgauge.model import NS_PER_S, ProcessSpec, Ready, Stop
from streamgauge.processes.connections import ports_to
from streamgauge.processes.ports import free_port
from streamgauge.processes.proxy import LOOPBACK
from streamgauge.processes.supervisor import Supervisor

CLIENT = """
import socket
def connect():
    link = socket.create_connection(("127.0.0.1", {port})); link.settimeout(60)
    return link, link.makefile("rb")
link, lines = connect()
say('ready')
for command in sys.stdin:
    if command == "connect\\n":
        link, lines = connect()
        continue
    link.sendall(command.encode()); say('asked', line=command.strip())
    say('answer', line=lines.readline().decode().strip())
"""
"""Sends each line of its input to the server, and reports what comes back."""


class Upper(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        for line in self.rfile:
            self.server.heard.append(line.decode().strip())  # type: ignore[attr-defined]
            self.wfile.write(line.upper())


class Server(socketserver.ThreadingTCPServer):
    daemon_threads, allow_reuse_address = True, True

    def __init__(self, port: int = 0) -> None:
        super().__init__((LOOPBACK, port), Upper)
        self.heard: list[str] = []
        self.port = int(self.server_address[1])
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server
        server.shutdown()


def proxy(supervisor: Supervisor, server_port: int) -> int:
    port = free_port()
    supervisor.start(
        ProcessSpec(
            "proxy",
            "broker",
            [sys.executable, "-P", "-m", "streamgauge.processes.proxy", str(port), str(server_port)],
            ready=Ready("event", "ready"),
            stop=Stop("stdin"),
        )
    )
    return port


def ask(supervisor: Supervisor, role: str, line: str) -> None:
    supervisor.send(role, line)
    assert supervisor.wait_event(role, "asked", 60)["line"] == line


def answer(supervisor: Supervisor, role: str) -> str:
    return str(supervisor.wait_event(role, "answer", 60)["line"])


def start(supervisor: Supervisor, port: int, *roles: str) -> None:
    for role in roles:
        supervisor.start(python(CLIENT.format(port=port), role))
        ask(supervisor, role, "before")
        assert answer(supervisor, role) == "BEFORE"


def test_a_cut_holds_what_one_role_sends_and_nothing_else(supervisor: Supervisor, server: Server) -> None:
    port = proxy(supervisor, server.port)
    start(supervisor, port, "engine-1", "engine-2")
    acting = Acting(supervisor, "cut engine-1 from broker for 20s at 0s", proxy_port=port)
    acting.await_acted()
    ask(supervisor, "engine-1", "held")
    ask(supervisor, "engine-2", "through")
    assert answer(supervisor, "engine-2") == "THROUGH"
    assert server.heard == ["before", "before", "through"]
    (record,) = acting.faults.end()
    assert answer(supervisor, "engine-1") == "HELD", "nothing was closed, and what was sent is not lost"
    assert record.acted_ns < record.ended_ns and record.why_not is None
    supervisor.check()


def test_a_cut_ends_by_itself(supervisor: Supervisor, server: Server) -> None:
    port = proxy(supervisor, server.port)
    start(supervisor, port, "engine-1")
    acting = Acting(supervisor, "cut engine-1 from broker for 300ms at 0s", proxy_port=port)
    acting.await_acted()
    ask(supervisor, "engine-1", "held")
    assert answer(supervisor, "engine-1") == "HELD"
    acting.await_ended()
    (record,) = acting.faults.end()
    assert record.took_effect and record.ended_ns - record.acted_ns >= 0.3 * NS_PER_S


def test_a_new_connection_of_the_role_is_held_and_one_of_another_role_goes_through(
    supervisor: Supervisor, server: Server
) -> None:
    port = proxy(supervisor, server.port)
    start(supervisor, port, "engine-1", "engine-2")
    acting = Acting(supervisor, "cut engine-1 from broker for 20s at 0s", proxy_port=port)
    acting.await_acted()
    for role in ("engine-1", "engine-2"):
        supervisor.send(role, "connect")
        ask(supervisor, role, role)
    # By then two lists of the role's connections have been made since, so nothing is held for lack of knowledge.
    assert answer(supervisor, "engine-2") == "ENGINE-2"
    assert "engine-1" not in server.heard
    acting.faults.end()
    assert answer(supervisor, "engine-1") == "ENGINE-1"


def test_two_cuts_at_the_same_time(supervisor: Supervisor, server: Server) -> None:
    port = proxy(supervisor, server.port)
    start(supervisor, port, "engine-1", "engine-2")
    texts = (f"cut {role} from broker for 20s at 0s" for role in ("engine-1", "engine-2"))
    acting = Acting(supervisor, *texts, proxy_port=port)
    acting.await_acted()
    for role in ("engine-1", "engine-2"):
        ask(supervisor, role, role)
    assert server.heard == ["before", "before"]
    acting.faults.end()
    assert {answer(supervisor, role) for role in ("engine-1", "engine-2")} == {"ENGINE-1", "ENGINE-2"}


def test_a_role_without_a_connection_cannot_be_cut_off(supervisor: Supervisor, server: Server) -> None:
    port = proxy(supervisor, server.port)
    supervisor.start(python("say('ready'); sys.stdin.read()", "engine-1"))
    acting = Acting(supervisor, "cut engine-1 from broker for 10ms at 0s", proxy_port=port)
    acting.await_ended()
    (record,) = acting.faults.end()
    assert (record.took_effect, record.why_not) == (False, "engine-1 had no connection to the broker")


def test_a_large_answer_arrives_whole_though_the_reader_is_slow(supervisor: Supervisor, server: Server) -> None:
    port = proxy(supervisor, server.port)
    line = b"x" * 5_000_000 + b"\n"
    with socket.create_connection((LOOPBACK, port), timeout=60) as client:
        sending = threading.Thread(target=client.sendall, args=(line,))
        sending.start()
        sending.join()  # both ends have more than their buffers hold by now
        with client.makefile("rb") as answers:
            assert answers.readline() == line.upper()


def test_the_proxy_outlives_its_server(supervisor: Supervisor) -> None:
    with Server() as first:
        port, server_port = proxy(supervisor, first.port), first.port
        with socket.create_connection((LOOPBACK, port), timeout=60) as client:
            client.sendall(b"one\n")
            assert client.recv(10) == b"ONE\n"
        first.shutdown()
    with socket.create_connection((LOOPBACK, port), timeout=60) as client, pytest.raises(ConnectionResetError):
        while client.recv(10):
            raise AssertionError("nobody can answer")
        raise ConnectionResetError
    with Server(server_port) as second:
        with socket.create_connection((LOOPBACK, port), timeout=60) as client:
            client.sendall(b"two\n")
            assert client.recv(10) == b"TWO\n"
        second.shutdown()
    supervisor.check()


def test_the_proxy_ends_with_its_input(supervisor: Supervisor, server: Server) -> None:
    proxy(supervisor, server.port)
    (running,) = supervisor.processes()
    supervisor.stop("proxy")
    assert running.exit_code == 0


def test_connections_are_found_by_the_process_behind_them(supervisor: Supervisor, server: Server) -> None:
    start(supervisor, server.port, "engine-1", "engine-2")
    ports = [ports_to(server.port, supervisor.identities(role)) for role in ("engine-1", "engine-2")]
    assert [len(of_role) for of_role in ports] == [1, 1] and ports[0] != ports[1]
    await_true(lambda: ports_to(free_port(), supervisor.identities("engine-1")) == set())
