"""``compare`` on the command line: its output, its exit codes, and the runs that it repeats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner
from written_runs import write_run

from streamgauge.campaigns import repetition
from streamgauge.campaigns.repetition import write_set
from streamgauge.cli.main import app
from streamgauge.errors import UsageError
from streamgauge.measure.plan import Request


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
    content = json.loads(asked.stdout)
    assert content["word"] == "slower"
    keys = ["format", "measure", "word", "ratio", "interval", "seed", "runs_needed", "notes", "a", "b"]
    assert list(content) == keys
    assert list(content["a"]) == list(content["b"]) == ["path", "engine", "runs", "values", "median"]
    assert "slower" in asked.stderr


def test_writes_a_page(sides: tuple[str, str], tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    asked = compare(*sides, "--html", str(page))
    assert asked.exit_code == 0, asked.output
    assert asked.stdout.endswith(f"page     {page}\n")
    assert "slower" in page.read_text(encoding="utf-8")
    assert json.loads(compare(*sides, "--json", "--html", str(page)).stdout)["word"] == "slower"


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


def test_both_are_repeated_from_their_manifests(
    sides: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Request] = []

    def note(requests: list[Request], runs: int, view: object) -> None:
        asked.extend(requests)
        for request in requests:
            for number in range(1, runs + 1):
                write_run(request.out / str(number), 250.0)
            write_set(request.out, runs)

    monkeypatch.setattr(repetition, "run_interleaved", note)
    comparison = compare(*sides, "--run", "--runs", "3", "--out", str(tmp_path / "c"))
    assert comparison.exit_code == 0, comparison.output
    assert [request.out for request in asked] == [tmp_path / "c" / "a", tmp_path / "c" / "b"]
    assert {request.scenario.engine for request in asked} == {"echo"}
    assert comparison.stdout.strip().startswith("same")


def test_unequal_scenarios_are_refused_before_they_are_run(sides: tuple[str, str], tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", 1.0, changes={"scenario.seed": 99})
    asked = compare(sides[0], str(other.path), "--run", "--out", str(tmp_path / "c"))
    assert isinstance(asked.exception, UsageError)
    assert "scenario.seed: 11 and 99" in asked.exception.message()
    assert not (tmp_path / "c").exists()
