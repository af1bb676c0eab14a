"""Directories other than run directories: one cache and one state directory per user."""

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
