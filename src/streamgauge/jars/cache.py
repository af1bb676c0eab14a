"""Where fetched jars are kept: one cache for all projects of a user."""

from __future__ import annotations

from pathlib import Path

from streamgauge import dirs
from streamgauge.jars.lockfile import Artifact


def jars_dir() -> Path:
    return dirs.cache_dir() / "jars"


def cached_path(artifact: Artifact) -> Path:
    """Where the jar is kept; one directory per Maven group, since artifact names are unique only there."""
    return jars_dir() / artifact.group_id / artifact.filename


def has_locked_size(artifact: Artifact) -> bool:
    """The cheap check: ``streamgauge fetch`` compares the sums."""
    try:
        return cached_path(artifact).stat().st_size == artifact.size
    except OSError:
        return False
