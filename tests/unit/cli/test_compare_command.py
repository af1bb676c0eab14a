"""``compare`` on the command line: its output, its exit codes, and the commands that it repeats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from written_runs import write_run

from streamgauge.campaigns.repetition import write_set
from streamgauge.cli.compare import request_of
from streamgauge.cli.main import app
from streamgauge.cli.request import build
from streamgauge.errors import UsageError


@pytest.fixture
def sides(tmp_path: Path) -> tuple[str, str]:
    for side, p50_ms in (("a", 250.0), ("b", 300.0)):
        for number in range(1, 4):
            write_run(tmp_path / side / str(number), p50_ms + number)
        write_set(tmp_path / side, 3)
    return str(tmp_path / "a"), str(tmp_path / "b")


def compare(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["compare", *arguments])


def test_says_the_word_first_and_every_value(sides: tuple[str, str]) -> None:
    asked = compare(*sides)
    assert asked.exit_code == 0, asked.output
    assert asked.stdout.strip().startswith("slower · B : A = 1.198")
    assert "median 252 of 251  252  253" in asked.stdout
    assert "median 302 of 301  302  303" in asked.stdout


def test_json_alone_on_stdout(sides: tuple[str, str]) -> None:
    asked = compare(*sides, "--json")
    assert json.loads(asked.stdout)["word"] == "slower"
    assert "slower" in asked.stderr


def test_fail_on_slower(sides: tuple[str, str]) -> None:
    a, b = sides
    assert compare(a, b, "--fail-on", "slower").exit_code == 1
    assert compare(b, a, "--fail-on", "slower").exit_code == 0
    assert compare(a, a, "--fail-on", "slower").exit_code == 0


def test_what_would_tell(sides: tuple[str, str]) -> None:
    a, b = sides
    assert "1 run a side; about 3 would tell" in compare(f"{a}/1", f"{b}/1").stdout


def test_out_without_run(sides: tuple[str, str], tmp_path: Path) -> None:
    asked = compare(*sides, "--out", str(tmp_path / "c"))
    assert isinstance(asked.exception, UsageError)


def test_unequal_scenarios_are_refused_before_they_are_run(sides: tuple[str, str], tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", 1.0, changes={"scenario.seed": 99})
    asked = compare(sides[0], str(other.path), "--run", "--out", str(tmp_path / "c"))
    assert isinstance(asked.exception, UsageError)
    assert "scenario.seed: 11 and 99" in asked.exception.message()
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "echo", "rate": "200/s", "measured": "5s", "settings": ["delay_ms=250"], "seed": 7},
        {"engine": "spark", "profile": "paper", "bootstrap": "127.0.0.1:9092", "master": "local[2]"},
        {"engine": "command", "program": ["cat", "--an-option", "two words", "--out"]},
        {"engine": "echo", "faults": ["pause  engine for 500ms at 2 s", "kill engine at 33.3 %"]},
    ],
)
def test_a_command_gives_the_request_that_wrote_it(options: dict[str, Any], tmp_path: Path) -> None:
    wanted = build("ospbench/latency", **options, out=tmp_path)
    assert request_of(wanted.command, tmp_path) == wanted


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("", "streamgauge run"),
        ("rm -rf directory", "streamgauge run"),
        ("streamgauge", "streamgauge run"),
        ("streamgauge run ospbench/latency --no-such-option", "no-such-option"),
        ("streamgauge run ospbench/latency --set stagee=parse", "did you mean"),
    ],
)
def test_commands_that_cannot_be_repeated(command: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refused:
        request_of(command, tmp_path)
    assert says in refused.value.message()


def test_a_job_file_that_was_changed_is_not_run_again(tmp_path: Path) -> None:
    file = tmp_path / "my.py"
    file.write_text("def build(spark, source): ...\n")
    wanted = build("ospbench/latency", job=file, out=tmp_path)
    assert wanted.scenario.job is not None
    assert request_of(wanted.command, tmp_path, wanted.scenario.job.sha256) == wanted
    with pytest.raises(UsageError, match="changed since the run"):
        request_of(wanted.command, tmp_path, "0" * 64)
