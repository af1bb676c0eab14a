"""No process, listening socket or work directory is left, whatever happens to the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest
from driving import STREAMGAUGE, streamgauge

from streamgauge.processes.journal import read_journal
from streamgauge.processes.proctable import Identity

GONE_WITHIN_S = 60.0


class Started:
    """A running command, with separate temp and state directories."""

    def __init__(self, home: Path, *arguments: str, command: Sequence[str] = ("run", "ospbench/latency")) -> None:
        self.temp, self.state = home / "tmp", home / "state"
        self.temp.mkdir()
        self.env = {**os.environ, "TMPDIR": str(self.temp), "STREAMGAUGE_STATE": str(self.state)}
        self.log, self.out = home / "stderr", home / "run"
        arguments = arguments if command[0] == "calibrate" else ("--out", str(self.out), *arguments)
        with self.log.open("w") as stderr:
            self.cli = subprocess.Popen(
                [STREAMGAUGE, *command, *arguments],
                env=self.env,
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
        self.seen: set[psutil.Process] = set()

    def await_text(self, text: str, timeout_s: float = 120) -> None:
        deadline = time.monotonic() + timeout_s
        while text not in self.log.read_text():
            assert self.cli.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            self.look()
            time.sleep(0.1)

    def look(self) -> None:
        self.seen |= set(psutil.Process(self.cli.pid).children(recursive=True))

    def listening(self) -> set[str]:
        addresses = set()
        for process in self.seen:
            try:
                sockets = process.net_connections("inet")
            except psutil.NoSuchProcess:
                continue
            addresses |= {s.laddr.ip for s in sockets if s.status == psutil.CONN_LISTEN}
        return addresses

    def await_started(self, role: str, timeout_s: float = 120) -> Identity:
        """The process of a role, once it is in the journal."""
        deadline = time.monotonic() + timeout_s
        while True:
            for journal in self.state.rglob("*.jsonl"):
                for line in filter(None, journal.read_text().splitlines()):
                    if line.startswith("{") and line.endswith("}") and json.loads(line).get("started") == role:
                        self.look()
                        return Identity(json.loads(line)["pid"], json.loads(line)["created"])
            assert self.cli.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline, self.log.read_text()
            time.sleep(0.05)

    def guardian(self) -> Identity:
        """The guardian of the command's only supervisor."""
        (journal,) = self.state.rglob("*.jsonl")
        record = read_journal(journal)
        assert record is not None
        return record.guardian

    def kill(self) -> None:
        self.look()
        self.cli.kill()
        self.cli.wait()

    def assert_nothing_left(self, least: int = 4) -> None:
        assert len(self.seen) >= least
        _, alive = psutil.wait_procs(self.seen, timeout=GONE_WITHIN_S)
        assert alive == []
        deadline = time.monotonic() + GONE_WITHIN_S
        while (left := self.left_files()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert left == []

    def left_files(self) -> list[Path]:
        work = [path for path in self.temp.iterdir() if not path.name.startswith("hsperfdata")]
        return [*work, *self.state.rglob("*.jsonl")]


@pytest.fixture
def measuring(tmp_path: Path) -> Iterator[Started]:
    started = Started(tmp_path, "--engine", "spark", "--for", "60s")
    try:
        started.await_text("warm-up")
        started.look()
        yield started
    finally:
        if started.cli.poll() is None:
            started.cli.kill()
            started.cli.wait()


@pytest.mark.full
def test_all_listeners_are_on_loopback_and_kill_leaves_nothing(measuring: Started, tmp_path: Path) -> None:
    assert measuring.listening() <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    assert measuring.listening()
    measuring.cli.kill()
    measuring.cli.wait()
    measuring.assert_nothing_left()
    after = streamgauge(
        "run", "ospbench/latency", "--engine", "echo", "--for", "2s", "--warmup", "1s", "--json",
        "--out", str(tmp_path / "next"), env={"TMPDIR": measuring.env["TMPDIR"]},
    )  # fmt: skip
    assert json.loads(after.stdout)["results"]["lost"] == 0, after.stderr


@pytest.mark.full
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_stops_everything(measuring: Started, number: signal.Signals) -> None:
    measuring.cli.send_signal(number)
    assert measuring.cli.wait(60) == 130
    assert "interrupted" in measuring.log.read_text()
    assert "Traceback" not in measuring.log.read_text()
    measuring.assert_nothing_left()


@pytest.mark.full
def test_interrupted_twice(measuring: Started) -> None:
    measuring.cli.send_signal(signal.SIGINT)
    time.sleep(0.2)
    measuring.cli.send_signal(signal.SIGINT)
    assert measuring.cli.wait(30) == 130
    assert "Traceback" not in measuring.log.read_text()
    measuring.assert_nothing_left()


@pytest.mark.full
def test_success_leaves_nothing(tmp_path: Path) -> None:
    started = Started(tmp_path, "--engine", "echo", "--for", "2s", "--warmup", "1s")
    started.await_text("draining")
    started.cli.wait(120)
    started.assert_nothing_left()
    assert tempfile.gettempdir() != started.env["TMPDIR"]
