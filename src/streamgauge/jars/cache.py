"""The cache of fetched jars, one for all projects of a user."""

from __future__ import annotations

from pathlib import Path

from streamgauge import dirs
from streamgauge.jars.lockfile import Artifact


def jars_dir() -> Path:
    return dirs.cache_dir() / "jars"


def cached_path(artifact: Artifact) -> Path:
    """The path of the jar in the cache; one directory per Maven group, because artifact names are unique only there."""
    return jars_dir() / artifact.group_id / artifact.filename


def has_locked_size(artifact: Artifact) -> bool:
    """A cheap check; ``streamgauge fetch`` verifies the checksums."""
    try:
        return cached_path(artifact).stat().st_size == artifact.size
    except OSError:
        return False
