"""The compiler jar, on real sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from streamgauge import dirs, jars
from streamgauge.engines.java import classes, compile_java, libraries
from streamgauge.errors import EnvironmentProblem

GOOD = """package test;

public final class Main {
  public static void main(String[] args) {
    streamgauge.Protocol.ready();
  }
}
"""


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An engine's sources, with a separate cache for classes but the usual jars."""
    jars.fetch(["java"])
    kept = dirs.cache_dir() / "jars"
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "jars").symlink_to(kept)
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "java" / "test" / "Main.java"
    path.parent.mkdir(parents=True)
    path.write_text(GOOD)
    return tmp_path / "java"


def test_classes_are_compiled_once(sources: Path) -> None:
    messages: list[str] = []
    first = compile_java("test", sources, libraries(), messages.append)
    assert first == classes("test", sources, libraries())
    assert {"test/Main.class", "streamgauge/Job.class"} <= {str(p.relative_to(first)) for p in first.rglob("*.class")}
    made = first.stat().st_mtime_ns
    assert compile_java("test", sources, libraries(), messages.append) == first
    assert len(messages) == 1
    assert first.stat().st_mtime_ns == made


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [("int n = missing;", "missing cannot be resolved"), ("int unused = 1;", "unused is not used")],
)
def test_an_error_or_a_warning_shows_the_compilers_output(sources: Path, wrong: str, complaint: str) -> None:
    main = sources / "test" / "Main.java"
    main.write_text(GOOD.replace("streamgauge.Protocol.ready();", wrong))
    with pytest.raises(EnvironmentProblem, match="cannot compile the Java sources") as problem:
        compile_java("test", sources, libraries(), lambda _: None)
    assert complaint in problem.value.message()
    assert str(main) in problem.value.message()
    assert list((dirs.cache_dir() / "classes").iterdir()) == []
