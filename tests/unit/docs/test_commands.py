"""Every command of the documentation names commands, options and scenarios that exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from streamgauge.cli.main import app
from streamgauge.studies import scenario as scenarios

ROOT = Path(__file__).parents[3]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
EXAMPLES = ("sensor-alarms",)
"""Studies of the package in examples/."""


def shown(page: Path) -> Iterator[list[str]]:
    """The words of each command line that begins with a prompt, without what is piped or follows."""
    if page.name == "cli.md":
        return
    for line in re.findall(r"^\$ (?:[\w./]+/)?(streamgauge .*)$", page.read_text(encoding="utf-8"), re.MULTILINE):
        words = shlex.split(line.partition(" #")[0], comments=False)
        end = next((place for place, word in enumerate(words) if word in ("--", "|", ";") or word.endswith(";")), None)
        yield words[:end] if end is None or not words[end].endswith(";") else [*words[:end], words[end].rstrip(";")]


COMMANDS = [
    pytest.param(words, id=f"{page.relative_to(ROOT)}: {' '.join(words)[:70]}")
    for page in sorted(PAGES)
    for words in shown(page)
]


def parsed(words: list[str]) -> tuple[Any, list[str]]:
    """The command that is meant, and the words behind it."""
    command: Any = get_command(app)
    rest = words[1:]
    while hasattr(command, "commands"):
        assert rest and rest[0] in command.commands, f"{' '.join(words)}: no such command"
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


@pytest.mark.parametrize("words", COMMANDS)
def test_commands_and_options_exist(words: list[str]) -> None:
    if "SCENARIO" in words:
        return
    command, rest = parsed(words)
    parameters = list(command.params)
    if command.name == "compare" and ".py" in rest[0]:
        parameters += get_command(app).commands["run"].params  # type: ignore[attr-defined]
    known = {option for parameter in parameters for option in parameter.opts} | {"--help", "-h"}
    assert {word.partition("=")[0] for word in rest if re.match(r"--?[a-z]", word)} <= known


@pytest.mark.parametrize("words", COMMANDS)
def test_scenarios_exist(words: list[str]) -> None:
    named = [
        word for word in words if re.fullmatch(r"[a-z-]+/[a-z-]+", word) and words[1] in ("run", "plan", "capacity")
    ]
    known = scenarios.names()
    for name in named:
        place = words.index(name)
        if words[place - 1].startswith("--") or name.partition("/")[0] in EXAMPLES:
            continue
        assert name in known


def test_there_are_commands() -> None:
    assert len(COMMANDS) > 40


BENCHES = sorted(
    {name for page in PAGES for name in re.findall(r"python (bench/\w+\.py)", page.read_text(encoding="utf-8"))}
)


@pytest.mark.full
@pytest.mark.parametrize("name", BENCHES)
def test_benchmarks_start_as_documented(name: str) -> None:
    done = subprocess.run([sys.executable, name, "--help"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
