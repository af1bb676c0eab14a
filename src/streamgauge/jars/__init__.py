"""The jars that streamgauge runs: locked by SHA-256, fetched once per user, never resolved at run time."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.errors import EnvironmentProblem
from streamgauge.jars.cache import cached_path, has_locked_size, jars_dir
from streamgauge.jars.lockfile import Artifact, Lock, shipped

if TYPE_CHECKING:
    from streamgauge.jars.download import OnProgress

__all__ = [
    "ON_REQUEST",
    "Artifact",
    "Lock",
    "fetch",
    "groups",
    "jars_dir",
    "locations",
    "locked",
    "missing",
    "paths",
    "versions",
]

ON_REQUEST = frozenset({"kafka-tools", "spark-35"})
"""Groups that no run needs: ``streamgauge fetch`` fetches them only by name."""


def groups() -> tuple[str, ...]:
    """The names of all locked groups, sorted."""
    return tuple(sorted(shipped().groups))


def locked(group: str, *, lock: Lock | None = None) -> tuple[Artifact, ...]:
    """The jars of a group; raises UsageError for an unknown group."""
    return (lock or shipped()).group(group)


def versions(group: str) -> dict[str, str]:
    """Version by Maven artifact name: ``{"kafka_2.13": "4.1.2", …}``."""
    return {artifact.artifact_id: artifact.version for artifact in locked(group)}


def missing(groups: Iterable[str], *, lock: Lock | None = None) -> list[Artifact]:
    """The jars of these groups that are not in the cache with the locked size."""
    return [a for a in (lock or shipped()).artifacts(groups) if not has_locked_size(a)]


def locations(group: str, *, lock: Lock | None = None) -> list[Path]:
    """The paths of the jars of a group, whether they have been fetched or not: enough for a plan."""
    return [cached_path(artifact) for artifact in locked(group, lock=lock)]


def paths(group: str, *, lock: Lock | None = None) -> list[Path]:
    """All jars of a group, as a class path; raises EnvironmentProblem if one is not in the cache."""
    if absent := missing([group], lock=lock):
        artifact, total = absent[0], len(locked(group, lock=lock))
        raise EnvironmentProblem(
            f"{len(absent)} of {total} jars of group {group!r} are missing or damaged",
            where=cached_path(artifact),
            got="wrong size" if cached_path(artifact).exists() else "no such file",
            expected=f"{artifact.coordinates}, {artifact.size} bytes",
            hint=f"streamgauge fetch {group}",
        )
    return locations(group, lock=lock)


def fetch(
    groups: Iterable[str],
    on_progress: OnProgress | None = None,
    repository: str | None = None,
    *,
    lock: Lock | None = None,
) -> list[Path]:
    """Download missing jars of these groups and verify the checksums of cached ones.

    The repository is the given one, else ``STREAMGAUGE_MAVEN_REPOSITORY``, else the default of jgo; it is not contacted
    if nothing is missing. Raises UsageError for an unknown group or a malformed address, EnvironmentProblem for a jar
    that cannot be downloaded or stored. A file with a jar's name is always complete.
    """
    from streamgauge.jars.download import fetch_artifacts  # requests costs 0.1 s

    return fetch_artifacts((lock or shipped()).artifacts(groups), on_progress, repository)
