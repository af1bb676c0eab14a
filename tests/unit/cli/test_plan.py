"""``plan``: what it prints of commands, values and loads."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from built_commands import built_once
from streamgauge.cli.main import app
from streamgauge.cli.plan import _program
from streamgauge.measure.plan import BACKGROUND


def planned(*arguments: str) -> list[str]:
    with built_once():
        done = CliRunner().invoke(app, ["plan", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["/usr/bin/java", "-Xmx512m", "-cp", "a.jar", "-ea", "kafka.Kafka", "x"], "java -Xmx512m kafka.Kafka"),
        (["/env/bin/python", "-P", "-m", "a.module", "x"], "python -m a.module"),
        (["/bin/mine", "a b"], "/bin/mine 'a b'"),
    ],
)
def test_a_command_is_shown_by_what_it_runs(words: list[str], shown: str) -> None:
    assert _program(words) == shown
    assert _program([*BACKGROUND, *words]) == f"{shown} (with the lowest priority)"


def test_an_empty_value_is_shown_as_list_shows_it() -> None:
    lines = planned("streambench/latency", "--engine", "echo", "--set", "program=identity")
    assert "             seed_file = ''" in lines
    assert "             (streamgauge list echo explains them)" in lines


def test_preloaded_input_is_not_offered_at_a_rate() -> None:
    constant, preloaded = (
        planned(f"streambench/{name}", "--engine", "echo", "--set", "program=identity")
        for name in ("latency", "performance")
    )
    assert any(line.startswith("offered ") for line in constant)
    assert not any(line.startswith("offered ") for line in preloaded)
