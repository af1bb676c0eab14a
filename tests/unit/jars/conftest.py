from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_repository import Repository

from streamgauge.jars import Lock, download


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache directory for jars."""
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "jars"


@pytest.fixture
def repository(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(download, "_BACKOFF_S", 0.0)
    server = Repository()
    monkeypatch.setenv("STREAMGAUGE_MAVEN_REPOSITORY", server.address)
    yield server
    server.close()


@pytest.fixture
def lock(repository: Repository) -> Lock:
    """Two groups that share one jar; every jar is larger than one chunk of a download."""
    one, two, three, four = (
        repository.add(f"org.example:jar-{n}:1.{n}", bytes([n]) * 200_000 + b"end") for n in range(4)
    )
    return Lock({"first": (one, two), "second": (two, three, four)})
