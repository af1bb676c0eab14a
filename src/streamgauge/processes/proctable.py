"""Reads the process table. On Linux directly from ``/proc``, at a tenth of psutil's cost."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

_LINUX = sys.platform == "linux"
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_MB = 1024 * 1024


@dataclass(frozen=True)
class Identity:
    """Identifies a process permanently: a pid may be reused, but not with the same start time.

    ``started`` is in seconds: on Linux since boot, because the wall-clock start time changes when the clock is set;
    elsewhere since 1970.
    """

    pid: int
    started: float


@dataclass(frozen=True)
class Stat:
    """One reading. ``cpu_s`` includes reaped children, if the system reports them; ``own_cpu_s`` does not."""

    identity: Identity
    parent: int
    session: int
    zombie: bool
    cpu_s: float
    own_cpu_s: float
    rss_mb: float


def pids() -> list[int]:
    if _LINUX:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 cheaper than a Path
    return psutil.pids()


def read(pid: int) -> Stat | None:
    """None if the process does not exist or must not be inspected."""
    return _read_linux(pid) if _LINUX else _read_psutil(pid)


def identity(pid: int) -> Identity | None:
    stat = read(pid)
    return stat.identity if stat else None


def is_alive(known: Identity) -> bool:
    """Whether this very process still runs; a zombie does not."""
    stat = read(known.pid)
    return stat is not None and stat.identity == known and not stat.zombie


def variable(pid: int, name: str) -> str | None:
    """A variable of the process's initial environment; None if it cannot be read."""
    try:
        if not _LINUX:
            return psutil.Process(pid).environ().get(name)
        environment = b"\0" + _read_bytes(f"/proc/{pid}/environ")
    except (psutil.Error, OSError):
        return None
    _, separator, rest = environment.partition(b"\0" + name.encode() + b"=")
    return rest.partition(b"\0")[0].decode("utf-8", "replace") if separator else None


def arguments(pid: int) -> list[str]:
    """The command line; empty if it cannot be read."""
    try:
        if not _LINUX:
            return psutil.Process(pid).cmdline()
        return _read_bytes(f"/proc/{pid}/cmdline").decode("utf-8", "replace").split("\0")
    except (psutil.Error, OSError):
        return []


def cores(pid: int) -> frozenset[int]:
    """The cores that the process may run on: all on systems without affinity, none if the process does not exist."""
    try:
        if hasattr(os, "sched_getaffinity"):
            return frozenset(os.sched_getaffinity(pid))
        return frozenset(range(psutil.cpu_count() or 1)) if psutil.pid_exists(pid) else frozenset()
    except OSError:
        return frozenset()


def boot() -> str:
    """Identifies the current boot of the machine; empty if the system has no such id."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def namespace() -> str:
    """Identifies the PID namespace on Linux, where a container has its own; empty elsewhere."""
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 not a path
    except OSError:
        return ""


def _read_linux(pid: int) -> Stat | None:
    try:
        line = _read_bytes(f"/proc/{pid}/stat")
    except OSError:
        return None
    # The second field is the program's name in parentheses and may itself contain spaces and parentheses.
    fields = line[line.rfind(b")") + 2 :].split()
    return Stat(
        identity=Identity(pid, int(fields[19]) / _TICKS_PER_S),
        parent=int(fields[1]),
        session=int(fields[3]),
        zombie=fields[0] in (b"Z", b"X"),
        cpu_s=sum(map(int, fields[11:15])) / _TICKS_PER_S,
        own_cpu_s=sum(map(int, fields[11:13])) / _TICKS_PER_S,
        rss_mb=int(fields[21]) * _PAGE_BYTES / _MB,
    )


def _read_bytes(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:  # noqa: PTH123 a Path costs more than the read
        return file.readall()


def _read_psutil(pid: int) -> Stat | None:
    try:
        process = psutil.Process(pid)
        with process.oneshot():
            started, parent = Identity(pid, process.create_time()), process.ppid()
            if process.status() == psutil.STATUS_ZOMBIE:
                return Stat(started, parent, os.getsid(pid), zombie=True, cpu_s=0.0, own_cpu_s=0.0, rss_mb=0.0)
            cpu = process.cpu_times()
            return Stat(
                identity=started,
                parent=parent,
                session=os.getsid(pid),
                zombie=False,
                cpu_s=cpu.user + cpu.system + cpu.children_user + cpu.children_system,
                own_cpu_s=cpu.user + cpu.system,
                rss_mb=process.memory_info().rss / _MB,
            )
    except (psutil.Error, OSError):
        return None
