from __future__ import annotations

import gc
from pathlib import Path

import pytest
from fake_repository import Repository

from streamgauge.errors import EnvironmentProblem
from streamgauge.jars import Lock
from streamgauge.jars.lockfile import repository_path
from streamgauge.jars.resolve import resolve, write

ROOTS = """
[all]
transitive = true
roots = ["org.example:app:1.0"]

[alone]
transitive = false
roots = ["org.example:app:1.0"]
"""


def dependency(artifact: str, extra: str = "") -> str:
    return (
        f"<dependency><groupId>org.example</groupId><artifactId>{artifact}</artifactId><version>1.0</version>"
        f"{extra}</dependency>"
    )


@pytest.fixture
def published(repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Repository:
    """``app`` needs ``lib``, a bundle, which needs ``native``; ``checks`` and ``more`` are not needed."""
    monkeypatch.setenv("M2_REPO", str(tmp_path / "m2"))
    needs = {
        "app": [
            dependency("lib", "<scope>runtime</scope>"),
            dependency("checks", "<scope>test</scope>"),
            dependency("more", "<optional>true</optional>"),
        ],
        "lib": [dependency("native", "<classifier>linux</classifier>")],
        "native": [],
    }
    for name, dependencies in needs.items():
        coordinates = f"org.example:{name}:1.0"
        packaging = "bundle" if name == "lib" else "jar"
        pom = (
            "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>"
            f"<artifactId>{name}</artifactId><version>1.0</version><packaging>{packaging}</packaging>"
            f"<dependencies>{''.join(dependencies)}</dependencies></project>"
        )
        repository.bodies[repository_path(coordinates).removesuffix("jar") + "pom"] = pom.encode()
        repository.add(coordinates + (":linux" if name == "native" else ""), name.encode() * 1000)
    return repository


def test_a_group_holds_what_its_roots_need_at_run_time(published: Repository, tmp_path: Path) -> None:
    lock = resolve(ROOTS, Lock({}))
    assert [artifact.coordinates for artifact in lock.group("all")] == [
        "org.example:app:1.0",
        "org.example:lib:1.0",
        "org.example:native:1.0:linux",
    ]
    assert [artifact.coordinates for artifact in lock.group("alone")] == ["org.example:app:1.0"]
    assert lock.group("alone") == (published.add("org.example:app:1.0", b"app" * 1000),)
    assert not (tmp_path / "m2").exists(), "the user's Maven cache is not touched"


def test_the_same_roots_give_the_same_file(published: Repository, tmp_path: Path) -> None:
    first = resolve(ROOTS, Lock({}))
    write(first, tmp_path / "lock.toml")
    assert resolve(ROOTS, first).dumps() == (tmp_path / "lock.toml").read_text()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["lock.toml"]


def test_a_released_jar_that_changed_is_refused(published: Repository) -> None:
    before = resolve(ROOTS, Lock({}))
    published.add("org.example:lib:1.0", b"something else")
    with pytest.raises(EnvironmentProblem, match=r"a released jar has changed: org\.example:lib:1\.0"):
        resolve(ROOTS, before)


def test_a_jar_that_differs_from_its_published_checksum_is_refused(published: Repository) -> None:
    published.bodies[repository_path("org.example:app:1.0")] = b"tampered"
    with pytest.raises(EnvironmentProblem, match="differs from its published checksum"):
        resolve(ROOTS, Lock({}))


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # jgo does not close a 404 response
def test_a_missing_pom_is_an_error(published: Repository) -> None:
    del published.bodies["org/example/lib/1.0/lib-1.0.pom"]
    with pytest.raises(EnvironmentProblem, match="could not be resolved: no usable POM") as caught:
        resolve(ROOTS, Lock({}))
    assert "org.example:lib:1.0" in caught.value.what
    del caught
    gc.collect()


def test_a_missing_jar_is_named(published: Repository) -> None:
    del published.bodies["org/example/lib/1.0/lib-1.0.jar"]
    with pytest.raises(EnvironmentProblem, match="could not be resolved") as caught:
        resolve(ROOTS, Lock({}))
    assert "lib-1.0.jar" in str(caught.value.got)
