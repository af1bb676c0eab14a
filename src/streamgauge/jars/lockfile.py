"""The lock: the jars of each group, with sizes and SHA-256 checksums. It names no repository."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from streamgauge.errors import UsageError

_HEADER = "# Written by `streamgauge lock` from groups.toml. Do not edit.\n"


@dataclass(frozen=True, order=True)
class Artifact:
    """One jar: ``group:artifact:version`` or ``group:artifact:version:classifier``."""

    coordinates: str
    sha256: str
    size: int

    @property
    def group_id(self) -> str:
        return self.coordinates.split(":")[0]

    @property
    def artifact_id(self) -> str:
        return self.coordinates.split(":")[1]

    @property
    def version(self) -> str:
        return self.coordinates.split(":")[2]

    @property
    def filename(self) -> str:
        return "-".join(self.coordinates.split(":")[1:]) + ".jar"

    @property
    def repository_path(self) -> str:
        """Its path in every Maven repository."""
        return repository_path(self.coordinates)


def repository_path(coordinates: str) -> str:
    group_id, artifact_id, version, *classifier = coordinates.split(":")
    filename = "-".join([artifact_id, version, *classifier]) + ".jar"
    return "/".join([*group_id.split("."), artifact_id, version, filename])


@dataclass(frozen=True)
class Lock:
    """The jars of each group, sorted by coordinates."""

    groups: Mapping[str, tuple[Artifact, ...]]

    def group(self, name: str) -> tuple[Artifact, ...]:
        """The jars of one group; raises UsageError for an unknown group."""
        try:
            return self.groups[name]
        except KeyError:
            raise UsageError("unknown jar group", got=repr(name), expected="one of " + ", ".join(self.groups)) from None

    def artifacts(self, names: Iterable[str]) -> list[Artifact]:
        """The jars of several groups, each once."""
        return sorted({artifact for name in names for artifact in self.group(name)})

    def dumps(self) -> str:
        """The text of ``lock.toml``; deterministic."""
        parts = [_HEADER]
        for name in sorted(self.groups):
            rows = [
                f'  {{ coordinates = "{a.coordinates}", size = {a.size}, sha256 = "{a.sha256}" }},\n'
                for a in sorted(self.groups[name])
            ]
            parts.append(f"\n{name} = [\n{''.join(rows)}]\n")
        return "".join(parts)

    @classmethod
    def loads(cls, text: str) -> Lock:
        return cls({name: tuple(Artifact(**row) for row in rows) for name, rows in tomllib.loads(text).items()})


@cache
def shipped() -> Lock:
    """The lock in this package."""
    return Lock.loads(files(__package__).joinpath("lock.toml").read_text(encoding="utf-8"))
