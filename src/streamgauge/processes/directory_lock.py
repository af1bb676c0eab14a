"""Lets one command at a time write to a directory: a lock that is released when its process ends, however it ends.

The lock is a file in the state directory, named after the locked directory. So a directory can be locked before it
exists, and nothing is left in it afterwards.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from streamgauge import dirs
from streamgauge.errors import EnvironmentProblem, UsageError


@contextmanager
def hold(directory: Path) -> Iterator[None]:
    """Raises UsageError if another command holds the lock, EnvironmentProblem if the directory cannot be locked."""
    path = _file(directory)
    try:
        handle = _acquire(path, directory)
        os.truncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()} {directory.resolve()}\n".encode(errors="surrogateescape"), 0)
    except OSError as problem:
        raise EnvironmentProblem(
            "cannot lock the directory", where=problem.filename or path, got=problem.strerror
        ) from None
    try:
        yield
    finally:
        # While the lock is still held: a process that has opened the file notices in `_acquire` that it is gone.
        path.unlink(missing_ok=True)
        os.close(handle)


def is_held(directory: Path) -> bool:
    """Whether a command is writing to the directory now."""
    try:
        handle = os.open(_file(directory), os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
    return False


def remove_stale() -> None:
    """Remove the lock files of killed commands."""
    for path in (dirs.state_dir() / "locks").glob("*.lock"):
        with suppress(OSError):
            handle = os.open(path, os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_still_there(handle, path):
                    path.unlink()
            finally:
                os.close(handle)


def _file(directory: Path) -> Path:
    name = hashlib.sha256(os.fsencode(directory.resolve())).hexdigest()[:32]
    return dirs.state_dir() / "locks" / f"{name}.lock"


def _acquire(path: Path, directory: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(handle, 32, 0).split(b" ")[0].decode(errors="replace")
            os.close(handle)
            raise UsageError(
                "another command is using this directory",
                where=directory,
                got=f"process {holder or 'unknown'} holds it",
                expected="one command at a time",
                hint="choose another --out, or wait until that command has ended",
            ) from None
        if _is_still_there(handle, path):
            return handle
        os.close(handle)


def _is_still_there(handle: int, path: Path) -> bool:
    """False if its last holder removed it after we opened and before we locked it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
