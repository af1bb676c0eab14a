"""Ends processes by session and by token, never by name or by a bare pid."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection, Iterable

from streamgauge.processes import proctable
from streamgauge.processes.proctable import Identity

TOKEN_VARIABLE = "STREAMGAUGE_TOKEN"  # noqa: S105 a variable's name, not a secret

_GIVE_UP_S = 10.0
_POLL_S = 0.02
_EMPTY_LOOKS = 2


def find(leaders: Iterable[Identity], tokens: Collection[str]) -> set[Identity]:
    """The live processes of the leaders' sessions, and those whose environment has one of the tokens.

    A session counts only while its leader exists (zombie or not): after that its id may have been reused, and only
    tokens are reliable. Tokens also find processes that left the session, or were started but not journalled yet.
    """
    sessions = {leader.pid: leader.started for leader in leaders if proctable.identity(leader.pid) == leader}
    processes = set()
    for pid in proctable.pids():
        stat = proctable.read(pid)
        if stat is None or stat.zombie or pid == os.getpid():
            continue
        led_since = sessions.get(stat.session)
        in_session = led_since is not None and stat.identity.started >= led_since
        if in_session or proctable.variable(pid, TOKEN_VARIABLE) in tokens:
            processes.add(stat.identity)
    return processes


def reap(
    leaders: Collection[Identity],
    tokens: Collection[str],
    *,
    known: Iterable[Identity] = (),
    grace_s: float = 0.0,
) -> tuple[set[Identity], set[Identity]]:
    """End them all: SIGTERM, up to ``grace_s`` to exit, then SIGKILL until none is left.

    ``known`` are processes found earlier, while their session still existed. Returns the processes found, and those
    that remain after ten seconds of SIGKILL (a process that hangs in the kernel).
    """
    processes = _alive(known) | find(leaders, tokens)
    everything = set(processes)
    if grace_s > 0 and processes:
        send_signal(processes, signal.SIGTERM)
        await_end(processes, grace_s)
    deadline = time.monotonic() + _GIVE_UP_S
    empty_looks = 0
    alive: set[Identity] = set()
    # A process may fork between two scans, or may not have its token yet (between fork and exec): scan again.
    while time.monotonic() < deadline:
        alive = _alive(everything) | find(leaders, tokens)
        everything |= alive
        if alive:
            empty_looks = 0
            send_signal(alive, signal.SIGKILL)
        else:
            empty_looks += 1
            if empty_looks == _EMPTY_LOOKS:
                break
        time.sleep(_POLL_S)
    return everything, alive


def send_signal(processes: Iterable[Identity], number: signal.Signals) -> None:
    for process in processes:
        if proctable.is_alive(process):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)


def await_end(processes: Iterable[Identity], timeout_s: float) -> bool:
    """Whether all of them ended in time."""
    deadline = time.monotonic() + timeout_s
    alive = _alive(processes)
    while alive and time.monotonic() < deadline:
        time.sleep(_POLL_S)
        alive = _alive(alive)
    return not alive


def _alive(processes: Iterable[Identity]) -> set[Identity]:
    return {process for process in processes if proctable.is_alive(process)}
