"""A script in a network of its own reaches the broker's port and nothing else."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from engine_jobs import make_job

from streamgauge.engines.pyspark import PySpark, isolated, isolation

PROGRAM = """
import socket, sys
reached, other = map(int, sys.argv[1:])
with socket.create_connection(("127.0.0.1", reached), timeout=10) as broker:
    broker.sendall(b"x" * 1_000_000)
    broker.shutdown(socket.SHUT_WR)
    answer = 0
    while chunk := broker.recv(65536):
        answer += len(chunk)
try:
    socket.create_connection(("127.0.0.1", other), timeout=10)
except ConnectionRefusedError:
    sys.exit(0 if answer == 3 else 4)
sys.exit(5)
"""


@contextmanager
def answering() -> Iterator[tuple[int, list[int]]]:
    """A server that counts what each client has sent, and answers with three bytes."""
    received: list[int] = []

    def serve() -> None:
        while True:
            try:
                client, _ = server.accept()
            except OSError:
                return
            with client:
                count = 0
                while chunk := client.recv(65536):
                    count += len(chunk)
                received.append(count)
                client.sendall(b"yes")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], received


def test_only_the_port_of_the_broker_answers() -> None:
    with answering() as (broker, received), answering() as (other, seen):
        command = [sys.executable, "-c", PROGRAM, str(broker), str(other)]
        script = isolation.start(command, f"127.0.0.1:{broker}", os.environ)
        if script is None:
            pytest.skip("this system permits no network of its own")
        script.communicate(timeout=60)
        assert script.returncode == 0
        assert received == [1_000_000] and not seen


def test_without_permission_nothing_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "isolated.py"
    broken.write_text("import os, sys; os.write(int(sys.argv[1]), b'not permitted: no'); sys.exit(1)")
    monkeypatch.setattr(isolated, "__file__", str(broken))
    assert isolation.start([sys.executable, "-c", "raise SystemExit(7)"], "127.0.0.1:9", os.environ) is None


@pytest.mark.parametrize(
    ("options", "isolates"),
    [
        ({}, True),
        ({"isolate": False}, False),
        ({"allow_hosts": ["db.example"]}, False),
        ({"allow_sink": ["jdbc:postgresql://db.example"]}, False),
        ({"submit": "spark-submit"}, False),
        ({"master": ""}, False),
        ({"master": "local[2]"}, True),
    ],
)
def test_a_script_that_may_need_more_shares_the_network(options: dict[str, Any], isolates: bool) -> None:
    job = make_job("pyspark", options, workload="yours/committed", program=(__file__,))
    notes = PySpark().notes(job)
    assert ("no network of its own" in notes["not fenced"]) is isolates
