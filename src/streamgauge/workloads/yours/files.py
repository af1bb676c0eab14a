"""Files that the user names."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from streamgauge.errors import UsageError


def stat_regular(path: Path, noun: str) -> os.stat_result:
    """The state of a regular file. Raises UsageError for anything else: a pipe would block whoever reads it."""
    try:
        state = path.stat()
    except (OSError, ValueError) as problem:
        raise unreadable(path, noun, problem) from None
    if not stat.S_ISREG(state.st_mode):
        got = "a directory" if stat.S_ISDIR(state.st_mode) else "a pipe, a socket or a device"
        raise UsageError(f"{noun} cannot be read", where=path, got=got, expected="a regular file")
    return state


def unreadable(path: Path, noun: str, problem: Exception) -> UsageError:
    reason = problem.strerror if isinstance(problem, OSError) else None
    return UsageError(f"{noun} cannot be read", where=path, got=reason or str(problem))
