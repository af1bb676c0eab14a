"""Starts in several threads: two faults restart at the same time, or a slice is evaluated while the engine starts."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from children import DEADLINE_S, UNTIL_STDIN_ENDS, all_gone, await_true, python

from streamgauge.errors import EngineFailed, EnvironmentProblem, StreamgaugeError
from streamgauge.model import Ready
from streamgauge.processes import supervisor as supervisors
from streamgauge.processes.supervisor import Supervisor

STOPS_SLOWLY = (
    "signal.signal(signal.SIGTERM, lambda *_: (say('asked'), sys.stdin.read())); say('ready'); signal.pause()"
)


@pytest.fixture
def meeting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that have launched a process wait for each other before either goes on to await it."""
    barrier = threading.Barrier(2)

    @contextmanager
    def meet() -> Iterator[None]:
        yield
        if threading.current_thread() is not threading.main_thread():
            barrier.wait(DEADLINE_S)

    monkeypatch.setattr(supervisors, "uninterrupted", meet)


@pytest.mark.usefixtures("meeting")
def test_each_start_awaits_its_own_process(supervisor: Supervisor) -> None:
    bad = python("sys.stdin.read()", "bad", ready=Ready("event", "ready", 1.0))
    with ThreadPoolExecutor(2) as pool:
        failing = pool.submit(supervisor.start, bad)
        running = pool.submit(supervisor.start, python(UNTIL_STDIN_ENDS, "good"))
        assert isinstance(failing.exception(DEADLINE_S), EngineFailed)
        assert running.result(DEADLINE_S).usable
    assert [process.role for process in supervisor.processes()] == ["good"]


def test_what_another_thread_started_side_by_side_is_not_awaited(supervisor: Supervisor, tmp_path: Path) -> None:
    go = tmp_path / "go"
    waiting = f"while not os.path.exists({str(go)!r}): time.sleep(0.01)\n{UNTIL_STDIN_ENDS}"
    first = supervisor.start(replace(python(waiting, "first"), side_by_side=True))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(supervisor.start, python(UNTIL_STDIN_ENDS, "other")).result(DEADLINE_S).usable
    assert not first.usable
    go.touch()
    second = supervisor.start(python(UNTIL_STDIN_ENDS, "second"))
    assert first.usable and second.usable


def test_each_process_has_a_token_of_its_own(supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch) -> None:
    """By which alone it is killed."""
    barrier = threading.Barrier(2)

    class Tokens(set[str]):
        def add(self, token: str) -> None:
            with suppress(threading.BrokenBarrierError):
                barrier.wait(0.5)
            super().add(token)

    monkeypatch.setattr(supervisor, "_tokens", Tokens())
    with ThreadPoolExecutor(2) as pool:
        starts = [pool.submit(supervisor.start, python(UNTIL_STDIN_ENDS, role)) for role in ("a", "b")]
        tokens = {start.result(DEADLINE_S).token for start in starts}
    assert len(tokens) == 2


def test_nothing_starts_while_everything_is_stopped(logs: Path, tmp_path: Path) -> None:
    """As a thread that repeats a step would have it, when its evaluator is stopped."""
    refusals: list[StreamgaugeError] = []
    again = python(UNTIL_STDIN_ENDS, "again", group="evaluate")

    def start_again(role: str, event: dict[str, object]) -> None:
        if event["event"] == "asked":
            try:
                supervisor.start(again)
            except StreamgaugeError as refused:
                refusals.append(refused)
            running.close_stdin()

    with Supervisor("test-run", logs, temp_root=tmp_path) as supervisor:
        running = supervisor.start(python(STOPS_SLOWLY), start_again)
    await_true(lambda: bool(refusals))
    assert refusals[0].message() == "cannot start again\n  got: everything is being stopped"
    assert all_gone([running.identity])
    with pytest.raises(EnvironmentProblem, match="cannot start again"):
        supervisor.start(again)
