"""``doctor`` and ``list``: which engines are ready, what the others lack, in lines that fit the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from streamgauge import jars
from streamgauge.cli.layout import wrapped
from streamgauge.cli.main import app
from streamgauge.engines.echo import Echo
from streamgauge.jars import Artifact
from streamgauge.processes import proctable
from streamgauge.processes.journal import Journal, journal_dir
from streamgauge.processes.proctable import Identity


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other run is active."""
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "state"))


@pytest.fixture
def unready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Echo needs a package and jars that are not there."""
    groups, packages = ("kafka-tools",), ("no-such-package",)
    monkeypatch.setattr(Echo, "traits", replace(Echo.traits, jar_groups=groups, packages=packages))

    def missing(groups: Iterable[str]) -> list[Artifact]:
        return [artifact for group in groups if group == "kafka-tools" for artifact in jars.locked(group)]

    monkeypatch.setattr(jars, "missing", missing)


def output_lines(command: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(columns))
    result = CliRunner().invoke(app, command.split(), catch_exceptions=False)
    return result.stdout.splitlines()


def below(lines: list[str], start: str) -> str:
    """The line that starts so, with those that go on below it, in one."""
    place = next(place for place, line in enumerate(lines) if line.startswith(start))
    indent = len(lines[place]) - len(lines[place].lstrip())
    block = [lines[place]]
    for line in lines[place + 1 :]:
        if len(line) - len(line.lstrip()) <= indent + 3:
            break
        block.append(line)
    return " ".join(" ".join(block).split())


@pytest.mark.usefixtures("unready")
def test_doctor_says_what_an_engine_lacks_and_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = output_lines("doctor", 80, monkeypatch)
    count = len(jars.locked("kafka-tools"))
    size_mb = sum(artifact.size for artifact in jars.locked("kafka-tools")) / 1e6
    assert below(lines, "–        engine echo") == (
        f"– engine echo lacks the package no-such-package (pip install no-such-package); {count} jars "
        "(streamgauge fetch kafka-tools)"
    )
    assert below(lines, "–        jars kafka-tools") == (
        f"– jars kafka-tools {count} of {count} missing, {size_mb:.0f} MB, for echo → streamgauge fetch kafka-tools"
    )
    assert any(line.startswith("ok       jars kafka  ") and line.endswith("for the broker") for line in lines)
    assert any(line.startswith("ok       engine command") for line in lines)
    assert max(map(len, lines)) <= 80


@pytest.mark.usefixtures("unready")
def test_list_says_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = (line for line in output_lines("list", 100, monkeypatch) if line.startswith("  echo "))
    assert "lacks the package no-such-package (pip install no-such-package)" in line
    assert line.endswith("  [not ready]")
    lines = output_lines("list echo", 90, monkeypatch)
    assert "lacks the package no-such-package (pip install no-such-package)" in below(lines, "  state ")
    long = [line for line in lines if len(line) > 90]
    assert not [line for line in long if len(line.split()) > 1], "only a single word may be longer"


def test_lines_are_wrapped_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    command = "pip install 'a-package-with-a-long-name==2.2.1' " * 2
    lines = wrapped("  head: ", command + "x" * 70).splitlines()
    assert lines[0].startswith("  head: pip install")
    assert all(line.startswith(" " * 8) for line in lines[1:])
    assert lines[-1].strip() == "x" * 70
    assert max(map(len, lines[:-1])) <= 60
    assert wrapped("  head: ", "short") == "  head: short"
    second = wrapped("  head: ", command, 4).splitlines()[1]
    assert len(second) - len(second.lstrip()) == 6


def test_doctor_reports_what_a_killed_run_left(monkeypatch: pytest.MonkeyPatch) -> None:
    assert below(output_lines("doctor", 80, monkeypatch), "ok       other runs") == "ok other runs none"
    nobody = Identity(1, -1.0)
    journal_dir().mkdir(parents=True)
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(proctable, "identity", lambda pid: nobody)
        Journal(journal_dir() / "killed.jsonl", "killed", nobody).close()
    left = below(output_lines("doctor", 80, monkeypatch), "–        other runs")
    assert left == "– other runs killed was killed → streamgauge clean"
