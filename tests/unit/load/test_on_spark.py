"""Load tasks as their driver sees them, without a Spark."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streamgauge.load import on_spark, task
from streamgauge.load.on_spark import Lost, Relay, Tasks, _reason

WAIT_S = 10.0


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    made = Tasks("127.0.0.1", 2)
    yield made
    made.close()


def attempt(tasks: Tasks, index: int, token: str | None = None) -> socket.socket:
    connection = socket.create_connection(tasks.address[:2], WAIT_S)
    connection.settimeout(WAIT_S)
    hello = {"token": tasks.token if token is None else token, "index": index}
    connection.sendall(json.dumps(hello).encode() + b"\n")
    return connection


def test_events_and_commands_pass_through_one_connection_each(tasks: Tasks) -> None:
    first, second = attempt(tasks, 0), attempt(tasks, 1)
    first.sendall(b'{"event":"ready"}\n')
    assert tasks.events.get(timeout=WAIT_S) == (0, {"event": "ready"})
    second.sendall(b'{"event":"ready"}\n')
    assert tasks.events.get(timeout=WAIT_S) == (1, {"event": "ready"})
    tasks.tell(b'{"do":"start","at_ns":5}')
    for connection in (first, second):
        assert connection.recv(100) == b'{"do":"start","at_ns":5}\n'
    tasks.stop()
    assert (first.recv(1), second.recv(1)) == (b"", b"")
    first.close()
    assert tasks.events.get(timeout=WAIT_S) == (0, None)
    second.close()


@pytest.mark.parametrize("hello", [b"{}\n", b"nothing\n", b'{"token": "wrong", "index": 0}\n', b"[1]\n"])
def test_a_stranger_is_turned_away(tasks: Tasks, hello: bytes) -> None:
    with socket.create_connection(tasks.address[:2], WAIT_S) as stranger:
        stranger.settimeout(WAIT_S)
        stranger.sendall(hello)
        assert stranger.recv(1) == b""
    assert tasks.events.empty()


def test_a_second_attempt_at_a_task_is_turned_away(tasks: Tasks) -> None:
    first = attempt(tasks, 0)
    first.sendall(b'{"event":"ready"}\n')
    tasks.events.get(timeout=WAIT_S)
    with attempt(tasks, 0) as second:
        assert second.recv(1) == b""
    assert tasks.events.empty()
    first.close()


def test_what_a_function_prints_is_not_an_event(tasks: Tasks) -> None:
    with attempt(tasks, 0) as connection:
        connection.sendall(b'hello\n42\n{"no": "event"}\n{"event":"ready"}\n')
        assert tasks.events.get(timeout=WAIT_S) == (0, {"event": "ready"})


def test_a_task_that_connects_after_the_stop_ends_at_once(tasks: Tasks) -> None:
    tasks.stop()
    with attempt(tasks, 1) as connection:
        assert connection.recv(1) == b""


def test_tasks_add_up_to_one_load_worker(capsys: pytest.CaptureFixture[str]) -> None:
    relay = Relay(2)
    relay.take(0, {"event": "ready", "goes_first": True})
    assert capsys.readouterr().out == ""
    relay.take(1, {"event": "ready", "goes_first": False})
    relay.take(0, {"event": "progress", "sent": 10, "late_max_ms": 2.5, "errors": 0})
    relay.take(1, {"event": "progress", "sent": 7, "late_max_ms": 1.0, "errors": 1})
    relay.take(0, {"event": "done", "sent": 20, "errors": 0, "last_sent_ns": 80})
    relay.take(0, None)
    relay.take(1, {"event": "done", "sent": 14, "errors": 1, "last_sent_ns": 90})
    relay.end()
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert events == [
        {"event": "ready", "goes_first": False},
        {"event": "progress", "sent": 10, "errors": 0, "late_max_ms": 2.5},
        {"event": "progress", "sent": 17, "errors": 1, "late_max_ms": 2.5},
        {"event": "done", "sent": 34, "errors": 1, "last_sent_ns": 90},
    ]


def test_a_load_that_was_stopped_is_not_done(capsys: pytest.CaptureFixture[str]) -> None:
    relay = Relay(2)
    relay.take(0, {"event": "done", "sent": 3, "errors": 0, "last_sent_ns": 8})
    relay.take(1, {"event": "stopped", "sent": 2, "errors": 0, "last_sent_ns": 7})
    relay.end()
    assert json.loads(capsys.readouterr().out)["event"] == "stopped"


@pytest.mark.parametrize(
    ("event", "why"),
    [(None, "its connection was closed"), ({"event": "failed", "message": "no broker"}, "no broker")],
)
def test_a_lost_task_ends_the_load(event: dict[str, Any] | None, why: str) -> None:
    with pytest.raises(Lost, match=f"load task 2 of 3 was lost: {why}"):
        Relay(3).take(1, event)


def test_a_task_runs_the_load_worker_and_returns_its_ledger(
    tasks: Tasks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the worker's place: a program that waits for the start, writes a ledger and says that it is done."""
    program = (
        "import json, sys; settings = json.load(open(sys.argv[-1]));"
        'print(\'{"event":"ready"}\', flush=True); command = sys.stdin.readline();'
        "open(settings['ledger'], 'w').write(settings['text'] + command);"
        'print(\'{"event":"done"}\', flush=True)'
    )
    started = task.subprocess.Popen

    def popen(argv: list[str], **options: Any) -> Any:
        assert argv[1:4] == ["-P", "-m", "streamgauge.load.worker"]
        assert Path(argv[-1]).stat().st_mode & 0o777 == 0o600
        return started([argv[0], "-c", program, argv[-1]], **options)

    monkeypatch.setattr(task.subprocess, "Popen", popen)
    monkeypatch.setattr("pyspark.SparkFiles.getRootDirectory", lambda: str(tmp_path))
    results: list[tuple[int, bytes]] = []
    worker = on_spark.threading.Thread(
        target=lambda: results.extend(task.run(iter([1]), tasks.address, [{}, {"text": "sent "}]))
    )
    worker.start()
    assert tasks.events.get(timeout=WAIT_S) == (1, {"event": "ready"})
    tasks.tell(b"start")
    assert tasks.events.get(timeout=WAIT_S) == (1, {"event": "done"})
    worker.join(WAIT_S)
    assert results == [(1, b"sent start\n")]
    assert tasks.events.get(timeout=WAIT_S) == (1, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("An error\n  ModuleNotFoundError: No module named 'streamgauge'\n", "streamgauge is not installed in the Py"),
        ("Job aborted\n[SPARK-24819]: needs more slots\n at java", "the cluster has no free core"),
        ("Job aborted\n at java", "Job aborted"),
        ("", "no reason given"),
    ],
)
def test_the_reason_of_a_failed_job(text: str, reason: str) -> None:
    assert _reason(text).startswith(reason)
