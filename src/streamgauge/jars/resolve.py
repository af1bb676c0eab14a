"""For maintainers: resolves the roots of ``groups.toml`` into ``lock.toml``. Not used at run time."""

from __future__ import annotations

import hashlib
import tempfile
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.errors import EnvironmentProblem
from streamgauge.jars.download import reason, repository_address, without_credentials
from streamgauge.jars.lockfile import Artifact, Lock, repository_path

if TYPE_CHECKING:
    import requests

_TIMEOUT_S = 30
_JAR_TYPES = frozenset({"jar", "bundle", "maven-plugin"})  # Maven types whose file is a plain .jar


def resolve(
    roots: str, previous: Lock, repository: str | None = None, log: Callable[[str], None] = lambda _: None
) -> Lock:
    """The lock for the text of a ``groups.toml``, the same on every machine.

    Raises EnvironmentProblem if something cannot be resolved or downloaded, if a checksum differs from the published
    one, or if a jar differs from the one with the same coordinates in ``previous``.
    """
    import requests

    address = repository_address(repository)
    try:
        wanted = {
            name: _coordinates(group["roots"], group["transitive"], address)
            for name, group in tomllib.loads(roots).items()
        }
        known = {artifact.coordinates: artifact for group in previous.groups.values() for artifact in group}
        measured: dict[str, Artifact] = {}
        with requests.Session() as session:
            for coordinates in sorted({c for group in wanted.values() for c in group}):
                log(coordinates)
                measured[coordinates] = _measure(session, address, coordinates)
                _refuse_change(known.get(coordinates), measured[coordinates])
    except (
        requests.RequestException,
        RuntimeError,
    ) as error:  # jgo raises RuntimeError for what it cannot find
        raise EnvironmentProblem(
            "the jars could not be resolved",
            where=without_credentials(address),
            got=reason(error),
            hint="streamgauge lock",
        ) from error
    return Lock({name: tuple(sorted(measured[c] for c in group)) for name, group in wanted.items()})


def write(lock: Lock, path: Path) -> None:
    """Replace the file atomically."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(lock.dumps(), encoding="utf-8")
    part.replace(path)


def _coordinates(roots: Iterable[str], transitive: bool, address: str) -> set[str]:
    """The roots and, if ``transitive``, their run-time dependencies."""
    if not transitive:
        return set(roots)
    from jgo.maven import MavenContext, Model, ProfileConstraints, PythonResolver

    # A fixed platform: profiles that depend on the maintainer's machine must not change the lock.
    platform = ProfileConstraints(jdk="17", os_name="Linux", os_family="unix", os_arch="amd64")
    with tempfile.TemporaryDirectory(prefix="streamgauge-lock-") as cache:  # jgo's own default is ~/.m2
        context = MavenContext(
            resolver=PythonResolver(profile_constraints=platform),
            repo_cache=Path(cache),
            remote_repos={"repository": address},
            timeout=_TIMEOUT_S,
        )
        resolved: dict[str, Any] = {}
        while True:
            # "!": resolve as Maven does, without taking the roots' own dependency management for all others
            inputs = [context.create_dependency(f"{root}!") for root in roots]
            again = {_locked_form(dep): dep for deps in context.resolver.resolve(inputs) for dep in deps}
            if again.keys() == resolved.keys():
                return set(resolved)
            resolved = again
            # jgo treats a POM that it cannot download as one without dependencies: fetch them all, then resolve again.
            for coordinates, dependency in resolved.items():
                try:
                    Model(dependency.artifact.component.pom(), context, profile_constraints=platform)
                except (OSError, ValueError, RuntimeError, KeyError) as error:
                    raise EnvironmentProblem(
                        f"the jars could not be resolved: no usable POM of {coordinates}",
                        where=without_credentials(address),
                        got=reason(error),
                        hint="streamgauge lock",
                    ) from error


def _locked_form(dependency: Any) -> str:
    if dependency.type not in _JAR_TYPES:
        raise EnvironmentProblem(
            "a dependency is not a jar",
            got=str(dependency),
            expected="a type of " + ", ".join(sorted(_JAR_TYPES)),
        )
    parts = [dependency.groupId, dependency.artifactId, dependency.version]
    return ":".join([*parts, dependency.classifier] if dependency.classifier else parts)


def _measure(session: requests.Session, address: str, coordinates: str) -> Artifact:
    """Size and checksum of a download, verified against the SHA-1 that the repository publishes."""
    url = f"{address}/{repository_path(coordinates)}"
    sha256, sha1, size = hashlib.sha256(), hashlib.sha1(usedforsecurity=False), 0
    with session.get(url, stream=True, timeout=_TIMEOUT_S, headers={"Accept-Encoding": "identity"}) as response:
        response.raise_for_status()
        for chunk in response.iter_content(1 << 16):
            sha256.update(chunk)
            sha1.update(chunk)
            size += len(chunk)
    published = session.get(f"{url}.sha1", timeout=_TIMEOUT_S)
    published.raise_for_status()
    expected = published.text.split()[0].lower()
    if sha1.hexdigest() != expected:
        raise EnvironmentProblem(
            f"a download differs from its published checksum: {coordinates}",
            got=f"sha1 {sha1.hexdigest()}",
            expected=f"sha1 {expected}",
            hint="streamgauge lock",
        )
    return Artifact(coordinates, sha256.hexdigest(), size)


def _refuse_change(before: Artifact | None, now: Artifact) -> None:
    if before is not None and before != now:
        raise EnvironmentProblem(
            f"a released jar has changed: {now.coordinates}",
            got=f"{now.size} bytes, sha256 {now.sha256}",
            expected=f"{before.size} bytes, sha256 {before.sha256}, as locked before",
            hint="find out why; only then remove its line from lock.toml and run: streamgauge lock",
        )
