"""``--metrics-port``: served while a command measures, by every command that does, and not a moment longer."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from typer.testing import CliRunner
from written_runs import write_run

import streamgauge
from streamgauge.campaigns import capacity, repetition, reproduction
from streamgauge.cli.main import app
from streamgauge.errors import EnvironmentProblem, PortTaken, StreamgaugeError, UsageError
from streamgauge.measure import runner
from streamgauge.measure.reporter import Reporter
from streamgauge.measure.snapshot import Snapshot

URL = re.compile(r"^metrics  (http://127\.0\.0\.1:(\d+)/metrics)$", re.MULTILINE)
COMMANDS: dict[str, tuple[list[str], Any, str]] = {
    "run": (["ospbench/latency", "-e", "echo"], runner, "run_scenario"),
    "run --runs": (["ospbench/latency", "-e", "echo", "--runs", "2"], repetition, "run_repeated"),
    "run all": (
        ["ospbench/latency", "-e", "echo", "--set", "stage=all", "--runs", "2"],
        repetition,
        "run_repeated",
    ),
    "capacity": (["ospbench/throughput", "-e", "echo", "--set", "stage=parse"], capacity, "find_capacity"),
    "reproduce": (["ospbench", "-e", "echo"], reproduction, "reproduce"),
    "compare": (["a", "b", "--run"], repetition, "run_interleaved"),
}


class Scraped:
    """Stands in for what measures: publishes two runs, scrapes each, and ends as the test wants."""

    def __init__(self, end: Callable[[], Any], url: Callable[[], str]) -> None:
        self.pages: list[str] = []
        self._end, self._url = end, url

    def __call__(self, *given: Any) -> Any:
        reporter: Reporter = next(one for one in given if hasattr(one, "snapshot"))
        for run in ("first", "second"):
            reporter.snapshot(Snapshot(run, "study/name", "echo", sent=5))
            with urlopen(self._url(), timeout=10) as answer:
                self.pages.append(answer.read().decode())
        return self._end()


def raising(problem: BaseException) -> Callable[[], Any]:
    def end() -> Any:
        raise problem

    return end


def is_listening(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        write_run(tmp_path / name, 250.0)


@pytest.fixture
def printed(capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """All that was printed on standard error so far."""
    parts: list[str] = []

    def so_far() -> str:
        parts.append(capfd.readouterr().err)
        return "".join(parts)

    return so_far


def exit_code(*arguments: str) -> object:
    """Of the command, in this process."""
    try:
        return app([*arguments], standalone_mode=False, prog_name="streamgauge")
    except StreamgaugeError as problem:
        return problem.exit_code


@pytest.mark.parametrize(
    ("ending", "code"),
    [(EnvironmentProblem("the broker died"), 5), (KeyboardInterrupt(), 130)],
    ids=["fails", "Ctrl-C"],
)
@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_that_measures_serves_until_it_ends(
    name: str, ending: BaseException, code: int, monkeypatch: pytest.MonkeyPatch, printed: Callable[[], str]
) -> None:
    arguments, module, function = COMMANDS[name]

    def url() -> str:
        found = URL.search(printed())
        assert found is not None
        return found[1]

    scraped = Scraped(raising(ending), url)
    monkeypatch.setattr(module, function, scraped)
    assert exit_code(name.split()[0], *arguments, "--metrics-port", "0") == code
    first, second = scraped.pages
    assert 'streamgauge_records_sent_total{run="first"} 5.0' in first and "second" not in first
    assert 'streamgauge_records_sent_total{run="second"} 5.0' in second and "first" not in second
    found = URL.search(printed())
    assert found is not None and not is_listening(int(found[2]))


def test_after_a_run_nothing_listens(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, printed: Callable[[], str]
) -> None:
    run = write_run(tmp_path / "run", 250.0)
    ports: list[int] = []

    def url() -> str:
        found = URL.search(printed())
        assert found is not None
        ports.append(int(found[2]))
        assert is_listening(ports[-1])
        return found[1]

    monkeypatch.setattr(runner, "run_scenario", Scraped(lambda: (run, run.summary()), url))
    assert exit_code("run", "ospbench/latency", "-e", "echo", "--metrics-port", "0", "--json") == 0
    assert ports and not is_listening(ports[0])


@pytest.mark.parametrize("name", COMMANDS)
def test_a_port_that_is_taken_is_reported_before_anything_is_measured(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, module, function = COMMANDS[name]
    monkeypatch.setattr(module, function, lambda *_: pytest.fail("it was measured"))
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = CliRunner().invoke(app, [name.split()[0], *arguments, "--metrics-port", str(port)])
    assert isinstance(done.exception, PortTaken)
    assert done.exception.exit_code == 5
    assert done.exception.message().splitlines() == [
        "the port for live metrics is in use by another program",
        f"  where: 127.0.0.1:{port}",
        "  try: another port, or --metrics-port 0 for any free one",
    ]


def test_without_the_option_nothing_is_served(monkeypatch: pytest.MonkeyPatch, printed: Callable[[], str]) -> None:
    def measure(request: object, reporter: Reporter) -> None:
        reporter.snapshot(Snapshot("run", "study/name", "echo"))
        raise EnvironmentProblem("enough")

    monkeypatch.setattr(runner, "run_scenario", measure)
    monkeypatch.setattr("streamgauge.measure.metrics_server.start_http_server", lambda *_: pytest.fail("served"))
    assert exit_code("run", "ospbench/latency", "-e", "echo") == 5
    assert "metrics" not in printed()


@pytest.mark.parametrize("progress", [False, True])
def test_python_serves_too(progress: bool, monkeypatch: pytest.MonkeyPatch, printed: Callable[[], str]) -> None:
    def url() -> str:
        found = URL.search(printed())
        assert found is not None
        return found[1]

    scraped = Scraped(raising(EnvironmentProblem("enough")), url)
    monkeypatch.setattr(runner, "run_scenario", scraped)
    with pytest.raises(EnvironmentProblem, match="enough"):
        streamgauge.run("ospbench/latency", engine="echo", progress=progress, metrics_port=0)
    assert 'run="second"' in scraped.pages[1]
    found = URL.search(printed())
    assert found is not None and not is_listening(int(found[2]))
    with pytest.raises(UsageError, match="invalid metrics_port 70000: expected a port from 1 to 65535"):
        streamgauge.run("ospbench/latency", engine="echo", metrics_port=70000)
