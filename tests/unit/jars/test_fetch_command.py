from __future__ import annotations

from dataclasses import replace

import pytest
import typer
from fake_repository import Repository
from typer.testing import CliRunner

from streamgauge import jars
from streamgauge.cli.fetch import fetch
from streamgauge.engines.command import Command
from streamgauge.engines.echo import Echo
from streamgauge.errors import UsageError
from streamgauge.install_hint import install_command
from streamgauge.jars import Lock


@pytest.fixture
def command(lock: Lock, monkeypatch: pytest.MonkeyPatch) -> typer.Typer:
    monkeypatch.setattr(jars, "shipped", lambda: lock)
    monkeypatch.setattr(jars, "ON_REQUEST", frozenset({"second"}))
    app = typer.Typer()
    app.command()(fetch)
    return app


def test_it_fetches_what_runs_need_and_reports_it(command: typer.Typer, lock: Lock) -> None:
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 0, result.output
    assert result.stdout == ""
    *lines, last = result.stderr.splitlines()
    assert sorted(lines) == [f"fetched {artifact.coordinates} (0.2 MB)" for artifact in lock.group("first")]
    assert last.startswith("2 jars, 0.4 MB, ")
    assert last.endswith(f"in {jars.jars_dir()} (2 fetched now, 0.4 MB)")
    assert jars.missing(["first"], lock=lock) == []
    assert jars.missing(["second"], lock=lock) != []


def test_it_fetches_all_groups_of_an_engine(command: typer.Typer, lock: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Echo, "traits", replace(Echo.traits, jar_groups=("first", "second")))
    result = CliRunner().invoke(command, ["echo"])
    assert result.exit_code == 0, result.output
    assert jars.missing(["first", "second"], lock=lock) == []


def test_jars_of_an_engine_that_is_not_installed_are_skipped(
    command: typer.Typer, lock: Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "ON_REQUEST", frozenset())
    monkeypatch.setattr(Echo, "traits", replace(Echo.traits, jar_groups=("first",), packages=("no-such-package",)))
    result = CliRunner().invoke(command, [])
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines()[-1] == (
        f"left out: first, whose engine is not installed ({install_command(['no-such-package'])})"
    )
    assert jars.missing(["second"], lock=lock) == []
    assert jars.missing(["first"], lock=lock) != []
    asked = CliRunner().invoke(command, ["first"])
    assert "left out" not in asked.stderr
    assert jars.missing(["first"], lock=lock) == []


def test_jars_that_another_engine_needs_too_are_not_skipped(
    command: typer.Typer, lock: Lock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Echo, "traits", replace(Echo.traits, jar_groups=("first",), packages=("no-such-package",)))
    monkeypatch.setattr(Command, "traits", replace(Command.traits, jar_groups=("first",)))
    assert "left out" not in CliRunner().invoke(command, []).stderr
    assert jars.missing(["first"], lock=lock) == []


def test_a_terminal_gets_a_progress_bar(command: typer.Typer, lock: Lock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    result = CliRunner().invoke(command, ["second"])
    assert result.exit_code == 0, result.output
    assert "600.0/600.0 kB" in result.stderr
    assert "3 jars, 0.6 MB" in result.stderr
    assert jars.missing(["second"], lock=lock) == []


def test_another_repository(command: typer.Typer, repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAMGAUGE_MAVEN_REPOSITORY", "http://127.0.0.1:1")
    result = CliRunner().invoke(command, ["--repository", repository.address])
    assert result.exit_code == 0, result.output


def test_an_unknown_group_gets_a_suggestion(command: typer.Typer) -> None:
    result = CliRunner().invoke(command, ["frist"])
    assert isinstance(result.exception, UsageError)
    assert "did you mean 'first'" in str(result.exception)
