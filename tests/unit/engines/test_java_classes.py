"""Where compiled classes are cached, and what the Java sources must not do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import streamgauge
from streamgauge import jars
from streamgauge.engines import java
from streamgauge.errors import EnvironmentProblem

SOURCES = Path(streamgauge.__file__).parent / "engines"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Shared sources, an engine's sources, one jar, and an empty cache."""
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "SHARED", tmp_path / "shared")
    for name in ("shared/a/Job.java", "engine/a/b/Main.java"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text("class X {}")
    (tmp_path / "library-1.jar").write_bytes(b"1234")
    return tmp_path


def classes_path(project: Path, *, engine: str = "engine", jar: str = "library-1.jar") -> Path:
    return java.classes(engine, project / "engine", [project / jar])


def test_classes_are_in_the_cache_under_the_engines_name(project: Path) -> None:
    assert classes_path(project).parent == project / "cache" / "classes"
    assert classes_path(project).name.startswith("engine-")
    assert classes_path(project) == classes_path(project)
    assert classes_path(project, engine="other").name.startswith("other-")
    assert not classes_path(project).exists()


@pytest.mark.parametrize("name", ["shared/a/Job.java", "engine/a/b/Main.java", "library-1.jar"])
def test_every_source_changes_the_cache_key(project: Path, name: str) -> None:
    before = classes_path(project)
    (project / name).write_text("class Y { }")
    assert classes_path(project) != before


def test_a_renamed_source_or_another_jar_changes_the_cache_key(project: Path) -> None:
    before = classes_path(project)
    assert classes_path(project, jar="library-2.jar") != before
    (project / "engine/a/b/Main.java").rename(project / "engine/a/b/Other.java")
    assert classes_path(project) != before


def test_another_compiler_changes_the_cache_key(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = classes_path(project)
    monkeypatch.setattr(java, "_compiler", lambda: Path("ecj-9.jar"))
    assert classes_path(project) != before


def test_cached_classes_are_not_compiled_again(project: Path) -> None:
    classes_path(project).mkdir(parents=True)
    messages: list[str] = []
    assert java.compile_java(
        "engine", project / "engine", [project / "library-1.jar"], messages.append
    ) == classes_path(project)
    assert messages == []


def test_a_missing_compiler_is_named_with_the_command_that_gets_it(project: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="streamgauge fetch java"):
        java.compile_java("engine", project / "engine", [], lambda _: None)
    assert not (project / "cache" / "classes").exists()


def test_the_compiler_is_not_on_the_class_path() -> None:
    names = {path.name for path in java.libraries()}
    assert len(names) == len(jars.locked("java")) - 1
    assert not any(name.startswith("ecj") for name in names)


def test_no_java_source_times_waits_or_stamps() -> None:
    forbidden = re.compile(
        r"Thread\.sleep|currentTimeMillis|nanoTime|Instant\.now|java\.time\.Clock|LockSupport|TimeUnit\.\w+\.sleep"
    )
    sources = list(SOURCES.rglob("*.java"))
    assert sources
    assert [path.name for path in sources if forbidden.search(path.read_text(encoding="utf-8"))] == []


def test_shared_classes_do_not_depend_on_an_engine() -> None:
    for path in (SOURCES / "java" / "src").rglob("*.java"):
        assert not re.search(r"import org\.apache", path.read_text(encoding="utf-8")), path.name
