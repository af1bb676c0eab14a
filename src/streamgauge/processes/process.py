"""One process of a run: its standard streams, its events, its log."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import signal
import subprocess
import textwrap
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from streamgauge.errors import QUOTED_LOG, EngineFailed, EnvironmentProblem, StreamgaugeError, UsageError
from streamgauge.model import ProcessSpec
from streamgauge.model.outcome import EndedProcess
from streamgauge.processes import memory_limit, proctable
from streamgauge.processes.proctable import Identity

OnEvent = Callable[[str, dict[str, Any]], None]

_REMAINING_OUTPUT_S = 1.0
_LONGEST_LINE_BYTES = 1024 * 1024
_KEPT_EVENTS = 1000
_TAIL_LINES = 15
_TAIL_BYTES = 16 * 1024
_SEARCHED_BYTES = 256 * 1024
_TAIL_LINE_CHARS = 400


class Running:
    """A started process.

    ``asked_to_end``: it was asked to end while it ran, so its end is not a failure. ``ends_itself``: exit code 0 is not
    a failure either, because the process is meant to end or has emitted ``done`` (which an engine must not).
    ``usable``: it was awaited; not reset when it ends. ``stopped``: it and its descendants are gone.
    """

    def __init__(
        self, spec: ProcessSpec, log: Path, env: Mapping[str, str], token: str, on_event: OnEvent | None
    ) -> None:
        """Start it in a new session. Raises OSError."""
        self.spec = spec
        self.log = log
        self.token = token
        self.asked_to_end = False
        self.usable = False
        self.stopped = False
        self.ends_itself = spec.once
        self.failure: str | None = None
        self.users_mistake = False
        """Whether its failure is a usage error."""
        self.callback_problem: BaseException | None = None
        self.on_event = on_event
        self.control_group: Path | None = None
        """Where its memory is limited."""
        self._remaining_output_awaited = False
        self._events: dict[str, deque[dict[str, Any]]] = defaultdict(lambda: deque(maxlen=_KEPT_EVENTS))
        self._changed = threading.Condition()
        log.parent.mkdir(parents=True, exist_ok=True)
        # Two writers append: the process itself (stderr) and our reader of its stdout.
        self._log_handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.log_start = os.fstat(self._log_handle).st_size
        try:
            self._popen = subprocess.Popen(
                list(spec.argv),
                env=dict(env),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log_handle,
                start_new_session=True,
                bufsize=0,
            )
        except BaseException:
            os.close(self._log_handle)
            raise
        self.pid = self._popen.pid
        # Not reaped yet, so it is still in the process table even if it has ended.
        self.identity: Identity = proctable.identity(self.pid) or Identity(self.pid, 0.0)
        self._reader = threading.Thread(target=self._read_stdout, name=f"stdout of {spec.role}", daemon=True)
        self._reader.start()

    @property
    def role(self) -> str:
        return self.spec.role

    @property
    def group(self) -> str:
        return self.spec.group

    @property
    def exit_code(self) -> int | None:
        """None while it runs; 128 + number if a signal ended it, as in a shell."""
        code = self._popen.poll()
        return 128 - code if code is not None and code < 0 else code

    @property
    def failed_by_itself(self) -> bool:
        """Whether it exited unexpectedly."""
        code = self.exit_code
        if code is None or self.asked_to_end:
            return False
        self.await_remaining_output()
        return not (self.ends_itself and code == 0)

    def describe_end(self) -> str:
        code = self.exit_code
        if code is None:
            return "still running"
        if code > 128:
            with contextlib.suppress(ValueError):
                return f"ended by {signal.Signals(code - 128).name}"
        return f"exit code {code}"

    def wait(self, timeout_s: float) -> bool:
        """Whether it ended in time."""
        try:
            self._popen.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def take_event(self, name: str) -> dict[str, Any] | None:
        """The oldest event of that name not taken yet."""
        with self._changed:
            return self._events[name].popleft() if self._events[name] else None

    def has_event(self, name: str) -> bool:
        with self._changed:
            return bool(self._events[name])

    def await_event(self, timeout_s: float) -> None:
        """Return on an event, at the end of the output, or after ``timeout_s``."""
        with self._changed:
            self._changed.wait(timeout_s)

    def await_remaining_output(self) -> None:
        """After its end: read its remaining output. Not for long: a descendant may hold the pipe open."""
        if not self._remaining_output_awaited:
            self._reader.join(_REMAINING_OUTPUT_S)
            # Afterwards: another thread that asks meanwhile has to wait, too.
            self._remaining_output_awaited = True

    def send(self, line: str) -> None:
        """Raises OSError if it no longer reads. Clears ``failure``, which belongs to an earlier request."""
        with self._changed:
            self.failure = None
        assert self._popen.stdin is not None
        self._popen.stdin.write(line.rstrip("\n").encode() + b"\n")

    def close_stdin(self) -> None:
        assert self._popen.stdin is not None
        with contextlib.suppress(OSError):
            self._popen.stdin.close()

    def close(self) -> None:
        """After its end: release the handles."""
        self.close_stdin()
        self.await_remaining_output()

    def as_ended(self) -> EndedProcess:
        """As in ``outcome.json``."""
        return EndedProcess(
            role=self.role,
            group=self.group,
            exit_code=self.exit_code,
            message=self.reported[0] if self.failure is not None else self._used_up_memory() or self._used_up_disk(),
            watches=self.spec.watches,
            log_tail=self.reported[1] or self.log_tail(),
        )

    @property
    def reported(self) -> tuple[str, str]:
        """The message of its event ``failed`` on one line, and the lines of a log that it quotes."""
        facts, _, quoted = (self.failure or "").partition(QUOTED_LOG)
        return "; ".join(line.strip() for line in facts.splitlines()), textwrap.dedent(quoted)

    def _used_up_memory(self) -> str | None:
        if self.control_group is None or not memory_limit.killed(self.control_group):
            return None
        return f"the kernel ended it: its limit of {self.spec.memory_max_mb:,} MB of memory was used up"

    def _used_up_disk(self) -> str | None:
        # A stack trace may follow, so that the last lines do not have it.
        full = os.strerror(errno.ENOSPC)
        lines = self._log_end(_SEARCHED_BYTES).splitlines()
        return next((f"a disk is full: {line.strip()[:_TAIL_LINE_CHARS]}" for line in lines if full in line), None)

    def log_tail(self) -> str:
        """The last lines that this start wrote."""
        lines = self._log_end(_TAIL_BYTES).splitlines()
        return "\n".join(line[:_TAIL_LINE_CHARS] for line in lines[-_TAIL_LINES:])

    def _log_end(self, most_bytes: int) -> str:
        """What this start wrote to its log, from the end on; empty where it cannot be read."""
        try:
            with self.log.open("rb") as file:
                size = os.fstat(file.fileno()).st_size
                file.seek(max(self.log_start, size - most_bytes))
                return file.read(most_bytes).decode("utf-8", "replace")
        except OSError:
            return ""

    def _read_stdout(self) -> None:
        """Keeps reading whatever happens: a process whose pipe is full would hang."""
        assert self._popen.stdout is not None
        try:
            with self._popen.stdout as raw, open(raw.fileno(), "rb", closefd=False) as lines:
                while line := lines.readline(_LONGEST_LINE_BYTES):
                    event = _as_event(line)
                    if event is None or event["event"] in ("warning", "failed"):
                        # A full disk costs log lines, not the run.
                        with contextlib.suppress(OSError):
                            os.write(self._log_handle, line)
                    if event is not None:
                        self._take_in(event)
        finally:
            os.close(self._log_handle)
            with self._changed:
                self._changed.notify_all()

    def _take_in(self, event: dict[str, Any]) -> None:
        # JSON can hold half a character (a lone surrogate), which no file can.
        if isinstance(message := event.get("message"), str):
            event = {**event, "message": message.encode("utf-8", "replace").decode("utf-8")}
        with self._changed:
            self._events[event["event"]].append(event)
            if event["event"] == "failed":
                self.failure = str(event.get("message", "no message"))
                self.users_mistake = event.get("usage") is True
            elif event["event"] == "done" and self.group != "engine":
                self.ends_itself = True
            self._changed.notify_all()
        if self.on_event is not None:
            try:
                self.on_event(self.role, event)
            except Exception as problem:
                self.callback_problem = problem


def failure(running: Running, what: str, expected: str | None = None) -> StreamgaugeError:
    """The error for a process that failed: EngineFailed for the engine's, UsageError for a user's mistake."""
    problem = _failure(running, what, expected)
    problem.role = running.role
    return problem


def _failure(running: Running, what: str, expected: str | None) -> StreamgaugeError:
    if running.failure is not None and running.users_mistake:
        return UsageError(running.failure)
    message, quoted = running.reported
    if message and running.spec.watches:
        # It speaks of the system that it watches.
        return error_class(running.group)(message, log_tail=quoted)
    reported = f"{message!r}, " if message else ""
    return error_class(running.group)(
        f"{running.role} {what}",
        where=running.log,
        got=f"{reported}{running.describe_end()}",
        expected=expected,
        log_tail=running.log_tail(),
    )


def error_class(group: str) -> type[StreamgaugeError]:
    return EngineFailed if group == "engine" else EnvironmentProblem


def await_success(running: Running) -> None:
    """Wait for a process that is to end with code 0. Raises as ``failure`` does."""
    timeout_s = running.spec.ready.timeout_s
    expected = f"exit code 0 within {timeout_s:g} s"
    if not running.wait(timeout_s):
        raise failure(running, "did not end", expected)
    running.await_remaining_output()
    if running.exit_code != 0:
        raise failure(running, "failed", expected)


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user can read."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)


def _as_event(line: bytes) -> dict[str, Any] | None:
    if not line.lstrip().startswith(b"{"):
        return None
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) and isinstance(content.get("event"), str) else None
