"""``kill -9`` at every stage of every command that starts processes: nothing is left, or it is found later."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from driving import STREAMGAUGE, in_process, repeated, streamgauge
from test_nothing_left import Started

SHORT = ("--engine", "echo", "--for", "3s", "--warmup", "1s", "--set", "quiet_s=1")
LONG = ("--engine", "echo", "--for", "60s", "--warmup", "1s")

Start = Callable[..., Started]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A running command; it is killed if it is still running at the end."""
    made: list[Started] = []

    def begin(*arguments: str, command: tuple[str, ...] = ("run", "ospbench/latency")) -> Started:
        made.append(Started(tmp_path, *arguments, command=command))
        return made[-1]

    yield begin
    for started in made:
        if started.cli.poll() is None:
            started.cli.kill()
            started.cli.wait()


def test_killed_while_it_starts(start: Start) -> None:
    started = start(*LONG)
    started.await_started("broker")
    started.kill()
    started.assert_nothing_left(least=2)


@pytest.mark.full
def test_killed_while_it_records(start: Start) -> None:
    started = start(*SHORT)
    started.await_text("recording the topics")
    started.await_started("evaluate-jvm")
    started.kill()
    started.assert_nothing_left(least=4)
    assert json.loads((started.out / "outcome.json").read_text())["ends"]


@pytest.mark.full
def test_killed_while_it_calibrates(start: Start) -> None:
    """The run directory of a calibration is not kept."""
    started = start("--for", "30s", command=("calibrate",))
    started.await_text("warm-up")
    assert [path.name for path in started.temp.iterdir() if "calibrate" in path.name]
    started.kill()
    started.assert_nothing_left()


SEARCH = (
    *("--engine", "echo", "--set", "cap_per_s=1000", "--set", "stage=ingest"),
    *("--rate", "300/s", "--for", "5s", "--warmup", "2s", "--resolution", "25%"),
)


@pytest.mark.full
@pytest.mark.parametrize("stage", ["filling the backlog", "probe 2:"])
def test_killed_while_it_searches_a_capacity(start: Start, stage: str) -> None:
    started = start(*SEARCH, command=("capacity", "ospbench/throughput"))
    started.await_text(stage)
    started.kill()
    started.assert_nothing_left()


@pytest.mark.full
@pytest.mark.engine("flink")
def test_killed_with_flink_under_test(start: Start) -> None:
    started = start("--engine", "flink", "--for", "60s")
    started.await_text("warm-up")
    started.kill()
    started.assert_nothing_left(least=6)


@pytest.mark.full
def test_killed_together_with_its_guardian(start: Start, tmp_path: Path) -> None:
    """The next run cleans up before it measures."""
    started = start(*LONG)
    started.await_text("warm-up")
    started.look()
    started.cli.send_signal(signal.SIGSTOP)
    os.kill(started.guardian().pid, signal.SIGKILL)
    started.cli.kill()
    started.cli.wait()
    assert [process for process in started.seen if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
    after = streamgauge(
        *("run", "ospbench/latency", *SHORT, "--json", "--out", str(tmp_path / "next")),
        env={name: started.env[name] for name in ("TMPDIR", "STREAMGAUGE_STATE")},
    )
    assert "cleaned: " in after.stderr
    assert after.stderr.index("cleaned: ") < after.stderr.index("starting the Kafka broker")
    assert "active" not in " ".join(json.loads(after.stdout)["warnings"])
    started.assert_nothing_left()


@pytest.mark.full
def test_an_active_run_keeps_its_directory_and_a_guardian(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = start(*LONG)
    started.await_text("warm-up")
    monkeypatch.setenv("STREAMGAUGE_STATE", str(started.state))
    for command in (
        ("run", "ospbench/latency", *SHORT, "--out", str(started.out)),
        ("run", "ospbench/latency", *SHORT, "--runs", "2", "--out", str(started.out)),
        ("capacity", "ospbench/throughput", *SEARCH, "--out", str(started.out)),
        ("reproduce", "ospbench", "--out", str(started.out)),
        ("evaluate", str(started.out)),
    ):
        refused = in_process(*command, cwd=tmp_path)
        assert refused.returncode == 2, refused.stderr
        assert f"process {started.cli.pid} holds it" in refused.stderr
        assert "Traceback" not in refused.stderr
    first = started.guardian()
    os.kill(first.pid, signal.SIGKILL)
    started.await_text("has taken its place")
    assert started.guardian() != first
    started.kill()
    started.assert_nothing_left()


@pytest.mark.full
def test_a_concurrent_run_is_reported(start: Start) -> None:
    started = start(*LONG)
    started.await_text("warm-up")
    out = started.out.with_name("beside")
    done = streamgauge("run", "ospbench/latency", *SHORT, "--json", "--out", str(out), env=started.env)
    warning = json.loads(done.stdout)["warnings"][0]
    assert warning.startswith("another run was active on this machine: ")
    assert f"(process {started.cli.pid})" in warning
    assert json.loads((out / "manifest.json").read_text())["warnings"] == [warning]
    assert started.cli.poll() is None


@pytest.mark.full
def test_interrupted_while_it_is_evaluated(start: Start) -> None:
    """The measurement is already recorded: one command completes it."""
    started = start(*SHORT)
    started.await_text("matching")
    started.look()
    started.cli.send_signal(signal.SIGINT)
    assert started.cli.wait(60) == 130
    log = started.log.read_text()
    assert f"streamgauge evaluate {started.out}" in log
    assert "Traceback" not in log
    started.assert_nothing_left()
    done = streamgauge("evaluate", str(started.out), "--json")
    assert json.loads(done.stdout)["results"]["matched"] == 1600, done.stderr


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_evaluators_jvm_is_killed_during_the_second_of_three_runs(tmp_path: Path) -> None:
    """Three valid runs. An INVALID set (exit code 3) is repeated."""

    def once(attempt: int) -> subprocess.CompletedProcess[str]:
        out = tmp_path / str(attempt)
        env = {**os.environ, "STREAMGAUGE_STATE": str(tmp_path / f"state-{attempt}")}
        command = [STREAMGAUGE, "run", "ospbench/latency", *SHORT, "--runs", "3", "--json", "--out", str(out)]
        with subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as cli:
            assert cli.stderr is not None and cli.stdout is not None
            output, killed = "", False
            for line in cli.stderr:
                output += line
                if "run 2 of 3" in output and "warm-up" in line and not killed:
                    killed = True
                    (jvm,) = (child for child in _children(cli.pid) if "evaluate" in " ".join(child.cmdline()[:40]))
                    jvm.kill()
            printed = cli.stdout.read()
        return subprocess.CompletedProcess(command, cli.returncode, printed, output)

    done = repeated(once)
    assert done.returncode == 0, done.stderr
    assert "restarting the evaluator" in done.stderr
    summary = json.loads(done.stdout)
    assert [row["verdict"] for row in summary["repetitions"]] == ["VALID"] * 3


def _children(pid: int) -> list[psutil.Process]:
    return [child for child in psutil.Process(pid).children(recursive=True) if child.name() == "java"]
