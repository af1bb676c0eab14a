"""Checks whether a started process is usable yet, by its kind of ``Ready``, and waits for it."""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urlsplit

from streamgauge.model import Ready
from streamgauge.processes.process import Running, await_success, failure

_POLL_S = 0.05
_ANSWER_S = 1.0
_MOST_BYTES = 8 * 1024 * 1024


def await_usable(running: Running, started: Iterable[Running], given_up: Callable[[], bool]) -> None:
    """Wait until it is usable or, with ``once``, has ended with code 0. Raises as ``await_arrival`` does."""
    if running.spec.once:
        await_success(running)
    else:
        ready, before = running.spec.ready, "before it was usable"
        await_arrival(running, started, look(running), ready.timeout_s, describe(ready), before, given_up)
    running.usable = not given_up()


def await_arrival(
    running: Running,
    started: Iterable[Running],
    arrived: Callable[[], bool],
    timeout_s: float,
    expected: str,
    before: str,
    given_up: Callable[[], bool] = lambda: False,
) -> None:
    """Return when ``arrived`` or ``given_up``; raises if the process ends or fails, and after ``timeout_s``.

    Also raises if another process of its group exits unexpectedly: a program would wait forever for a dead JVM.
    """
    peers = [peer for peer in started if peer.group == running.group and peer is not running]
    deadline = time.monotonic() + timeout_s
    while not given_up() and not arrived():
        if has_ended := running.exit_code is not None:
            running.await_remaining_output()
            if arrived():
                return
        if running.failure is not None:
            raise failure(running, f"failed {before}", expected)
        if has_ended:
            raise failure(running, f"ended {before}", expected)
        for peer in peers:
            if not peer.stopped and peer.failed_by_itself:
                raise failure(peer, "exited unexpectedly")
        if time.monotonic() >= deadline:
            raise failure(running, f"timed out {before}", expected)
        running.await_event(_POLL_S)


def look(running: Running) -> Callable[[], bool]:
    """A function that returns whether the process is usable now."""
    ready = running.spec.ready
    match ready.kind:
        case "started":
            return lambda: True
        case "event":
            return lambda: running.has_event(ready.value)
        case "log":
            return LogWatch(running.log, running.log_start, ready.value)
        case "port":
            return lambda: _port_open(ready.value)
        case "http":
            return lambda: _http_ok(ready.value)
        case "file":
            return lambda: _has_content(Path(ready.value))


def describe(ready: Ready) -> str:
    """A description of the event that is awaited."""
    what = {
        "started": "its start",
        "event": f"event {ready.value!r} on standard output",
        "log": f"a log line matching {ready.value!r}",
        "port": f"a listener on {ready.value}",
        "http": f"HTTP 200 from {ready.value}",
        "file": f"the file {ready.value}",
    }[ready.kind]
    return f"{what} within {ready.timeout_s:g} s"


class LogWatch:
    """Returns whether a complete log line has matched; reads each byte once."""

    def __init__(self, log: Path, start: int, pattern: str) -> None:
        self._log = log
        self._position = start
        self._pattern = re.compile(pattern)
        self._rest = b""

    def __call__(self) -> bool:
        with self._log.open("rb") as file:
            file.seek(self._position)
            new = file.read(_MOST_BYTES)
        self._position += len(new)
        *lines, rest = (self._rest + new).split(b"\n")
        self._rest = rest[-_MOST_BYTES:]
        return any(self._pattern.search(line.decode("utf-8", "replace")) for line in lines)


def _port_open(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=_ANSWER_S):
            return True
    except OSError:
        return False


def _http_ok(url: str) -> bool:
    # Not urllib.request, which would use the environment's proxy even for the loopback interface.
    parts = urlsplit(url)
    with contextlib.closing(http.client.HTTPConnection(parts.netloc, timeout=_ANSWER_S)) as connection:
        try:
            connection.request("GET", parts.path or "/")
            return connection.getresponse().status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False


def _has_content(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False
