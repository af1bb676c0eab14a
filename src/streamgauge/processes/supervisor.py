"""Starts, awaits, kills and stops processes, and leaves none behind.

Every process starts in its own session and is ended by session. Each start is journalled first; a guardian process
cleans up if this process is killed (docs/why/no-orphans.md).
"""

from __future__ import annotations

import contextlib
import itertools
import os
import secrets
import signal
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from streamgauge import dirs, environment
from streamgauge.errors import EnvironmentProblem, StreamgaugeError
from streamgauge.model import ProcessSpec
from streamgauge.model.outcome import EndedProcess
from streamgauge.notices import Notice, notice
from streamgauge.processes import guardian, members, memory_limit, proctable, readiness, reaping, roles
from streamgauge.processes.journal import Journal, journal_dir
from streamgauge.processes.process import OnEvent, Running, error_class, failure, write_private
from streamgauge.processes.proctable import Identity
from streamgauge.processes.signals import signals_as_interrupt, uninterrupted

__all__ = ["Running", "Supervisor", "signals_as_interrupt"]

_LEFTOVER_GRACE_S = 2.0
_SETTLE_S = 2.0


class Supervisor:
    """Starts processes in order and stops them in reverse; a context manager that leaves nothing behind.

    Several threads may start processes. Errors are EngineFailed for a process of group ``engine``, EnvironmentProblem
    for every other one, and UsageError for one that reports a usage error.
    """

    def __init__(
        self,
        run: str,
        log_dir: Path | None = None,
        temp_root: Path | None = None,
        warn: Callable[[str], None] = lambda text: None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        """Create ``work_dir`` and start the guardian. Without ``log_dir``, logs are removed with ``work_dir``.

        Raises EnvironmentProblem.
        """
        self.warnings: list[Notice] = []
        """All messages passed to ``warn``."""
        self._warn, self._say = warn, say
        self._announced = False
        self._token = secrets.token_hex(16)
        self._tokens: set[str] = set()
        self._numbers = itertools.count()
        self._running: list[Running] = []
        self._unawaited: dict[int, list[Running]] = defaultdict(list)
        """What each thread has started side by side."""
        self._owned: list[Path] = []
        self._launching = threading.Lock()
        self._closing = self._closed = False
        self._guardian_lost = False
        root = (temp_root or dirs.temp_dir()).resolve()
        self.work_dir = root / f"{guardian.WORK_DIR_PREFIX}{self._token[:12]}"
        self._log_dir = log_dir or self.work_dir / "logs"
        path = journal_dir().absolute() / f"{run}.jsonl"
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._guardian = guardian.start(path)
            try:
                identity = proctable.identity(self._guardian.pid)
                assert identity is not None
                self._journal = Journal(path, run, identity)
                self._journal.work_dir(self.work_dir)
                self.work_dir.mkdir(mode=0o700)
            except BaseException:
                guardian.release(self._guardian)
                raise
        except OSError as problem:
            raise EnvironmentProblem(
                "cannot prepare a run",
                where=problem.filename or path,
                got=problem.strerror or str(problem),
                hint="streamgauge clean",
            ) from problem

    def __enter__(self) -> Supervisor:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is KeyboardInterrupt:
            self.announce_stop()
        self.close()

    def announce_stop(self) -> None:
        """Report, once, which processes an interrupt stops: stopping them may take seconds."""
        stopping = [running.role for running in self.processes()]
        if stopping and not self._announced:
            self._announced = True
            self._say(f"interrupted: stopping {', '.join(reversed(stopping))}")

    def close(self) -> None:
        """Stop everything, remove the work directory and the journal; refuse further starts. Safe to call twice."""
        try:
            self._closing = True
            with uninterrupted(), self._launching:
                pass  # what another thread is starting is in the list now, and nothing else will be
            self.stop_all()
        finally:
            if not self._closed:
                with uninterrupted():
                    self._closed = True
                    self._kill(self._running)
                    _, stuck = reaping.reap([], self._tokens)
                    for path in (self.work_dir, *self._owned):
                        guardian.remove_work_dir(path)
                    if not stuck:
                        with contextlib.suppress(OSError):
                            self._journal.remove()
                    guardian.release(self._guardian)

    def own(self, directory: Path) -> None:
        """Also remove this directory at the end, however this process ends. Call it before creating the directory."""
        self._owned.append(directory.absolute())
        self._journal.work_dir(directory.absolute())

    def check_guardian(self) -> None:
        """Replace a guardian that has died, and warn."""
        if self._guardian.poll() is None or self._guardian_lost:
            return
        with uninterrupted(), self._launching:
            if self._guardian.poll() is None:
                return  # another thread has replaced it
            died = self._guardian.pid
            guardian.release(self._guardian)
            try:
                self._guardian = guardian.start(self._journal.path)
                identity = proctable.identity(self._guardian.pid)
                assert identity is not None
                self._journal.guardian(identity)
                message = notice("guardian-replaced", pid=died, other=self._guardian.pid)
            except (StreamgaugeError, OSError) as problem:
                self._guardian_lost = True
                why = str(problem).partition("\n")[0]
                message = notice("guardian-lost", pid=died, why=why)
        self.warnings.append(message)
        self._warn(message)

    def start(
        self, spec: ProcessSpec, on_event: OnEvent | None = None, given_up: Callable[[], bool] = lambda: False
    ) -> Running:
        """Start a process and return when it is usable or, with ``once``, has ended with code 0; or when ``given_up``.

        With ``side_by_side`` it returns at once: the next start in this thread awaits both. ``on_event`` is called with
        role and event, in a separate thread. A start that fails leaves nothing behind and raises with what was awaited
        and the last lines of the log.
        """
        try:
            with uninterrupted(), self._launching:
                running = self._launch(spec, on_event)
                self._unawaited[threading.get_ident()].append(running)
        except Exception:
            self._kill(self._unawaited.pop(threading.get_ident(), ()))
            raise
        if not spec.side_by_side:
            awaited = self._unawaited.pop(threading.get_ident())
            try:
                for one in awaited:
                    readiness.await_usable(one, self._running, given_up)
            except Exception:
                self._kill(awaited)
                raise
        return running

    def restart(self, role: str, given_up: Callable[[], bool] = lambda: False) -> bool:
        """Start the processes of a role that ``kill`` has ended again, as they were started before.

        Returns whether all are usable; False as soon as ``given_up``. Raises as ``start`` does.
        """
        for ended in roles.latest(self._running, role):
            if given_up():
                return False
            spec = replace(ended.spec, ready=ended.spec.ready_again or ended.spec.ready, side_by_side=False)
            self.start(spec, ended.on_event, given_up)
        return not given_up()

    def start_all(self, specs: Iterable[ProcessSpec], on_event: OnEvent | None = None) -> list[Running]:
        """Start them in order, each once the previous one is usable or is to be awaited with it."""
        return [self.start(spec, on_event) for spec in specs]

    def processes(self) -> list[Running]:
        """The processes that should be running now, in start order."""
        return [running for running in self._running if not running.stopped and not running.spec.once]

    def check(self, but: str = "") -> None:
        """Raises if a process exited unexpectedly, ``but`` not for one of that group. Replaces a dead guardian."""
        self.check_guardian()
        for running in self._running:
            if running.group == but:
                continue
            if running.callback_problem is not None:
                raise running.callback_problem
            if running.failed_by_itself:
                raise failure(running, "exited unexpectedly")

    def ended(self) -> list[EndedProcess]:
        """The processes that exited unexpectedly, as in ``outcome.json``."""
        return [running.as_ended() for running in self._running if running.failed_by_itself]

    def send(self, role: str, line: str) -> None:
        """Write one line to the process's standard input."""
        running = self._of(role)
        try:
            running.send(line)
        except (OSError, ValueError) as problem:
            raise failure(running, "no longer accepts commands") from problem

    def wait_event(self, role: str, event: str, timeout_s: float) -> dict[str, Any]:
        """The oldest event of that name that has not been returned yet.

        Raises as soon as the process ends or reports a failure, and after ``timeout_s``.
        """
        running = self._of(role)
        expected = f"the event {event!r} within {timeout_s:g} s"
        events: list[dict[str, Any]] = []

        def arrived() -> bool:
            if event_content := running.take_event(event):
                events.append(event_content)
            return bool(events)

        readiness.await_arrival(running, self._running, arrived, timeout_s, expected, f"before its event {event!r}")
        return events[0]

    def stop(self, role: str) -> None:
        """Ask it to end; after its grace period, kill its whole session. Harmless if it has ended already."""
        self._stop_in_reverse([self._of(role)])

    def stop_group(self, group: str) -> None:
        """Stop the processes of a group, last started first."""
        self._stop_in_reverse([running for running in self._running if running.group == group])

    def stop_all(self) -> None:
        """Stop all processes, last started first. If interrupted, kills the rest at once, then raises."""
        self._stop_in_reverse(self._running)

    def kill(self, role: str) -> set[Identity]:
        """Kill all processes of the role (SIGKILL), at the same time if it has several; returns those that remain.

        What is started in place of a member is not killed.
        """
        if latest := roles.latest(self._running, role):
            return self._kill(latest)
        return reaping.reap([], (), known=self.identities(role))[1]

    def pause(self, role: str) -> None:
        """Pause all processes of the role (SIGSTOP) until ``resume``."""
        reaping.send_signal(self.identities(role), signal.SIGSTOP)

    def resume(self, role: str) -> None:
        reaping.send_signal(self.identities(role), signal.SIGCONT)

    def identities(self, role: str) -> set[Identity]:
        """All live processes of a role, with descendants."""
        return roles.identities(self._running, role)

    def lives(self, role: str) -> bool:
        """Whether a process of the role is alive."""
        return roles.lives(self._running, role)

    def is_usable(self, role: str) -> bool:
        """Whether no process of the role is still starting."""
        return roles.is_usable(self._running, role)

    def overlapping(self, role: str) -> set[str]:
        """The roles that have a process in common with this one."""
        return roles.overlapping(self._running, role)

    def _of(self, role: str) -> Running:
        """The latest process of that role."""
        for running in reversed(self._running):
            if running.role == role:
                return running
        raise ValueError(f"no process of role {role!r} was started")

    def _launch(self, spec: ProcessSpec, on_event: OnEvent | None) -> Running:
        if self._closing:
            raise error_class(spec.group)(f"cannot start {spec.role}", got="everything is being stopped")
        if any(running.role == spec.role and not running.stopped for running in self._running):
            raise ValueError(f"role {spec.role!r} is already running")
        token = f"{self._token}.{next(self._numbers)}"
        self._tokens.add(token)
        inherited = os.environ if spec.keeps_environment else environment.chosen()
        env = {**inherited, **spec.env, reaping.TOKEN_VARIABLE: token}
        log = self._log_dir / f"{spec.role}.log"
        try:
            for path, text in spec.files.items():
                write_private(path, text)
            self._journal.intent(spec.role, token)
            running = Running(spec, log, env, token, on_event)
        except OSError as problem:
            raise error_class(spec.group)(
                f"cannot start {spec.role}",
                where=problem.filename or spec.argv[0],
                got=problem.strerror or str(problem),
            ) from problem
        self._running.append(running)
        # Without this line the guardian still finds the process by its token.
        with contextlib.suppress(OSError):
            self._journal.started(spec.role, running.identity)
        if spec.memory_max_mb and (parent := memory_limit.parent()) is not None:
            self._limit_memory(running, parent / f"{guardian.WORK_DIR_PREFIX}{token}")
        return running

    def _limit_memory(self, running: Running, group: Path) -> None:
        """Its control group is a directory that is removed at the end. At once, before the process needs much."""
        self.own(group)
        try:
            memory_limit.limit(group, running.pid, running.spec.memory_max_mb)
            running.control_group = group
        except OSError as problem:
            message = notice("no-memory-limit", role=running.role, why=problem.strerror or str(problem))
            self.warnings.append(message)
            self._warn(message)

    def _stop_in_reverse(self, processes: list[Running]) -> None:
        try:
            for running in reversed(processes):
                self._stop(running)
        except KeyboardInterrupt:
            with uninterrupted():
                self._kill(self._running)
            raise

    def _stop(self, running: Running) -> None:
        if running.stopped:
            return
        known = reaping.find([running.identity], {running.token})
        if running.exit_code is None:
            running.asked_to_end = True
            if running.spec.stop.kind == "stdin":
                running.close_stdin()
            else:
                reaping.send_signal([running.identity], signal.SIGTERM)
            # A process that a fault has paused must resume to handle the signal.
            reaping.send_signal(known, signal.SIGCONT)
            running.wait(running.spec.stop.grace_s)
        left_behind = running.exit_code is not None
        grace_s = _LEFTOVER_GRACE_S if left_behind else 0.0
        reaping.reap([running.identity], {running.token}, known=known, grace_s=grace_s)
        _settle(running)

    def _kill(self, processes: Iterable[Running]) -> set[Identity]:
        rest = [running for running in processes if not running.stopped]
        if rest:
            for running in rest:
                running.asked_to_end |= running.exit_code is None
            _, remaining = reaping.reap([running.identity for running in rest], {running.token for running in rest})
            for running in rest:
                _settle(running)
            return remaining
        return set()


def _settle(running: Running) -> None:
    """After reaping: collect the exit code and release the handles."""
    running.wait(_SETTLE_S)
    running.close()
    members.keep_logs(running.spec, running.log.parent)
    running.stopped = True
