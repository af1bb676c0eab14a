"""Directories other than run directories: cache and state of a user, and where work directories are."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from streamgauge.errors import EnvironmentProblem


def cache_dir() -> Path:
    """Downloaded jars and compiled classes. ``STREAMGAUGE_CACHE`` overrides it. Raises EnvironmentProblem."""
    return _user_dir("STREAMGAUGE_CACHE", "XDG_CACHE_HOME", ".cache", "Library/Caches")


def state_dir() -> Path:
    """Journals of running experiments, the calibration, tracebacks. ``STREAMGAUGE_STATE`` overrides it.

    Raises EnvironmentProblem.
    """
    return _user_dir("STREAMGAUGE_STATE", "XDG_STATE_HOME", ".local/state", "Library/Application Support")


def temp_dir() -> Path:
    """Parent of work directories. ``TMPDIR`` overrides it. Raises EnvironmentProblem.

    Where ``TMPDIR`` cannot be used, Python takes another directory without a word: perhaps one on a small disk.
    """
    import tempfile  # not needed for --help

    chosen = os.environ.get("TMPDIR")
    if chosen and not (Path(chosen).is_dir() and os.access(chosen, os.W_OK | os.X_OK)):
        raise EnvironmentProblem(
            "the directory for temporary files cannot be used",
            where=f"TMPDIR={chosen}",
            got="a directory that cannot be written" if Path(chosen).is_dir() else "no directory",
            expected="a directory that you can write to",
            hint="set TMPDIR to another directory, or unset it",
        )
    return Path(tempfile.gettempdir())


def _user_dir(own: str, xdg: str, linux: str, macos: str) -> Path:
    if value := os.environ.get(own):
        return Path(value)
    if value := os.environ.get(xdg):
        return Path(value) / "streamgauge"
    try:
        home = Path.home()
    except RuntimeError:
        raise EnvironmentProblem(
            "there is no home directory",
            got=f"no HOME, and user {os.getuid()} has no entry in the password database",
            hint="set HOME, or STREAMGAUGE_CACHE and STREAMGAUGE_STATE, to a writable directory",
        ) from None
    return home / (macos if sys.platform == "darwin" else linux) / "streamgauge"
