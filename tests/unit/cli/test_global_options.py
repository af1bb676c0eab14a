"""Options that every command takes, and how much is printed with them."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner
from written_runs import write_run

from streamgauge.cli import choices, terminal
from streamgauge.cli.live import LiveView
from streamgauge.cli.main import app
from streamgauge.measure.reporter import Tick

TICK = Tick("measuring", 3.0, 30.0, 400.0, 400.0, 399.0, 12, 0.4, 0)


@pytest.fixture(autouse=True)
def _restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "detail", terminal.Detail())
    monkeypatch.setenv("NO_COLOR", "")


def invoked(*arguments: str) -> str:
    done = CliRunner().invoke(app, [*arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.parametrize(
    "arguments", [("-q", "list", "engines"), ("list", "--quiet", "engines"), ("list", "engines", "-q")]
)
def test_they_stand_before_or_after_the_command(arguments: tuple[str, ...]) -> None:
    assert "spark" in invoked(*arguments)
    assert terminal.detail.quiet


def test_behind_two_dashes_they_belong_to_the_users_program() -> None:
    plan = json.loads(invoked("plan", "ospbench/latency", "-e", "command", "--json", "--", sys.executable, "-v"))
    assert not terminal.detail.verbose
    assert next(one for one in plan["processes"] if one["role"] == "engine")["command"][-2] == "-v"


def test_no_color_is_the_variable() -> None:
    invoked("--no-color", "list", "engines")
    assert os.environ["NO_COLOR"] == "1"


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    with LiveView() as view:
        view.phase("starting echo")
        view.tick(TICK)
        view.tick(TICK)
        view.warn("something")
    return [line.split("  ")[-1] for line in capsys.readouterr().err.splitlines()]


def test_quiet_prints_warnings_but_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    terminal.set_detail(quiet=True, verbose=False)
    assert printed(capsys) == ["warning: something"]


def test_verbose_prints_every_second(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys)
    assert [line.partition(":")[0] for line in lines] == ["starting echo", "3 of 30 s (measuring)", "warning"]
    terminal.set_detail(quiet=False, verbose=True)
    assert sum("(measuring)" in line for line in printed(capsys)) == 2


def test_a_line_has_the_mean_rates_since_the_line_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with LiveView() as view:
        for every_s, output in ((5.0, 100.0), (math.inf, 0.0), (math.inf, 600.0), (0.0, 0.0)):
            monkeypatch.setattr("streamgauge.cli.live.LINE_EVERY_S", every_s)
            view.tick(replace(TICK, output_per_s=output))
    assert re.findall(r"output ([\d,]+)/s", capsys.readouterr().err) == ["100", "200"]


def test_plan_prints_whole_commands_only_on_request() -> None:
    assert "org.apache.spark.deploy.SparkSubmit" in invoked("plan", "ospbench/latency")
    assert "--master" not in invoked("plan", "ospbench/latency")
    assert "--master 'local[2]'" in invoked("plan", "ospbench/latency", "-v")


def test_json_is_alone_on_stdout(tmp_path: Path) -> None:
    write_run(tmp_path / "run", 250.0)
    plan = json.loads(invoked("plan", "ospbench/latency", "--set", "spark.sql.shufle=1", "--json"))
    assert plan["load"]["rate_per_s"] == 400 and plan["memory_mb"]["needed"] > 0 and "shufle" in plan["warnings"][0]
    assert plan["out"] == f"runs/{plan['run']}"
    every = json.loads(invoked("plan", "ospbench/latency", "-e", "echo", "--set", "stage=all", "--json"))
    assert set(every["stages"]) == {"ingest", "parse"}
    doctor = CliRunner().invoke(app, ["doctor", "--json"])
    assert {finding["name"] for finding in json.loads(doctor.stdout)["findings"]} >= {"Java", "memory", "engine spark"}
    (run,) = json.loads(invoked("history", "--in", str(tmp_path), "--json"))["runs"]
    assert run["p50_ms"] == 250.0 and run["verdict"] == "VALID" and run["engine"] == "echo"
    assert not Path("history.html").exists()


@pytest.mark.parametrize("command", ["run", "plan", "capacity", "evaluate"])
def test_the_evaluators_master_has_a_name_of_its_own(command: str) -> None:
    shown = invoked(command, "--help")
    assert "--evaluator-master" in shown and " --master" not in shown


def test_the_old_name_works_with_a_note() -> None:
    done = CliRunner().invoke(app, ["plan", "ospbench/latency", "--master", "yarn", "-v"])
    assert done.exit_code == 0, done.output
    assert done.stderr == "note: --master is now --evaluator-master\n"
    assert "--master yarn" in done.stdout


def test_help_names_the_choices() -> None:
    shown = " ".join(invoked("run", "--help").replace("│", " ").split())
    assert "command, echo, flink, kafka-streams, pyspark, spark" in shown and "laptop|paper" in shown


def test_words_are_completed() -> None:
    assert choices.complete_engine("k") == ["kafka-streams"]
    assert choices.complete_scenario("ospbench/l") == ["ospbench/latency"]
    assert choices.complete_profile("") == ["laptop", "paper"]
    assert "traffic/join" in choices.complete_name("traffic/")


def test_the_shell_gets_completions() -> None:
    env = {"_STREAMGAUGE_COMPLETE": "complete_bash", "COMP_CWORD": "4"}
    words = {"COMP_WORDS": "streamgauge run ospbench/latency --set rate_"}
    done = subprocess.run(
        [sys.executable, "-m", "streamgauge"],
        env={**os.environ, **env, **words},
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stdout.split() == ["rate_per_s="], done.stderr


def test_python_m_streamgauge() -> None:
    command = [sys.executable, "-m", "streamgauge", "run", "--help"]
    done = subprocess.run(command, text=True, capture_output=True, timeout=60, check=True)
    assert "Usage: streamgauge run" in done.stdout
