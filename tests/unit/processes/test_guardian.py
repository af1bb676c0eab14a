"""A killed or interrupted command leaves nothing behind; ``clean`` does what the guardian could not."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from children import DEADLINE_S, PREAMBLE, STUBBORN, all_gone, await_true, identities
from typer.testing import CliRunner

from streamgauge.cli.clean import clean
from streamgauge.processes import proctable
from streamgauge.processes.guardian import remove_work_dir
from streamgauge.processes.journal import Journal, journals, read_journal
from streamgauge.processes.proctable import Identity

HERE = Path(__file__).parents[1]

COMMAND_LINE = """
import json, sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from children import FAMILY, UNTIL_STDIN_ENDS, python, DEADLINE_S
from streamgauge.processes import supervisor
from streamgauge.processes.supervisor import Supervisor, signals_as_interrupt
from streamgauge.model import Stop
supervisor._LEFTOVER_GRACE_S = 0.2  # the family ignores SIGTERM
def tell(role, event):
    if event["event"] == "asked": print("asked", flush=True)
try:
    with signals_as_interrupt(), Supervisor("killed-run", Path(sys.argv[2]), temp_root=Path(sys.argv[2])) as lab:
        pids = []
        programs = {"patient": UNTIL_STDIN_ENDS, "family": FAMILY + "time.sleep(600)", **json.loads(sys.argv[3])}
        for role, code in programs.items():
            running = lab.start(python(code, role=role, stop=Stop("terminate", DEADLINE_S)), tell)
            pids += [running.pid, *lab.wait_event(role, "ready", DEADLINE_S).get("pids", [])]
        print(json.dumps({"pids": pids, "work_dir": str(lab.work_dir)}), flush=True)
        time.sleep(600)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
"""


@dataclass
class CommandLine:
    process: subprocess.Popen[str]
    processes: list[Identity]
    guardian: Identity
    work_dir: Path
    journal: Path

    def left_behind(self) -> list[object]:
        left: list[object] = [process for process in self.processes if proctable.is_alive(process)]
        return left + [path for path in (self.work_dir, self.journal) if path.exists()]


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "state"))


@pytest.fixture
def start(tmp_path):
    started = []

    def start(**more: str) -> CommandLine:
        argv = [sys.executable, "-c", COMMAND_LINE, str(HERE), str(tmp_path), json.dumps(more)]
        process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
        started.append(process)
        event = json.loads(process.stdout.readline())
        (journal,) = journals()
        record = read_journal(journal)
        work_dir = Path(event["work_dir"])
        assert work_dir.is_dir()
        return CommandLine(process, identities(event["pids"]), record.guardian, work_dir, journal)

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_killed_command_line_leaves_nothing_behind(start):
    cli = start()
    assert len(cli.processes) == 5
    cli.process.kill()
    await_true(lambda: not cli.left_behind())
    await_true(lambda: all_gone([cli.guardian]))


@pytest.mark.full
def test_guardian_ignores_signals(start):
    cli = start()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(cli.guardian.pid, number)
    cli.process.kill()
    await_true(lambda: not cli.left_behind())


@pytest.mark.full
def test_death_right_after_a_start_that_was_not_journalled(start):
    """The token alone finds everything: the journal has no session."""
    cli = start()
    lines = cli.journal.read_text().splitlines(keepends=True)
    cli.journal.write_text("".join(line for line in lines if '"started"' not in line))
    assert not read_journal(cli.journal).leaders
    cli.process.kill()
    await_true(lambda: not cli.left_behind())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_once(start, number):
    cli = start()
    cli.process.send_signal(number)
    assert cli.process.wait(DEADLINE_S) == 130
    assert cli.left_behind() == []
    assert all_gone([cli.guardian])
    assert cli.process.stdout.read() == "interrupted\n"


def test_interrupted_again_while_it_stops(start):
    cli = start(stubborn=STUBBORN)
    cli.process.send_signal(signal.SIGINT)
    assert cli.process.stdout.readline() == "asked\n"
    cli.process.send_signal(signal.SIGINT)
    # The stubborn process has a grace period of a minute: only the second signal ends it earlier.
    assert cli.process.wait(DEADLINE_S / 2) == 130
    assert cli.left_behind() == []


@pytest.mark.full
def test_clean_after_the_guardian_was_killed_too(start):
    cli = start()
    os.kill(cli.guardian.pid, signal.SIGKILL)
    await_true(lambda: all_gone([cli.guardian]))
    cli.process.kill()
    cli.process.wait()
    assert cli.left_behind()
    output = run_clean()
    assert cli.left_behind() == []
    # One of the five exits when its standard input closes, unless it was found before that.
    assert re.fullmatch(rf"cleaned: killed-run: ended [45] processes, removed {cli.work_dir}\n", output)
    assert run_clean() == "nothing to clean\n"


def test_clean_does_not_touch_an_active_run(start):
    cli = start()
    assert run_clean() == f"left alone: killed-run is running (process {cli.process.pid})\n"
    assert cli.process.poll() is None
    assert not any(all_gone([process]) for process in cli.processes)
    assert cli.work_dir.exists()


def test_clean_after_a_reboot_kills_nothing(tmp_path, monkeypatch):
    """The pids in a journal of an earlier boot may have been reused."""
    stranger = subprocess.Popen([sys.executable, "-c", PREAMBLE + "time.sleep(600)"], start_new_session=True)
    try:
        with monkeypatch.context() as earlier:
            earlier.setattr(proctable, "boot", lambda: "an earlier boot")
            work_dir = write_journal(tmp_path, leader=proctable.identity(stranger.pid))
        assert f"cleaned: dead-run: ended 0 processes, removed {work_dir}" in run_clean()
        assert stranger.poll() is None
        assert journals() == []
    finally:
        stranger.kill()
        stranger.wait()


def test_clean_does_not_touch_journals_of_another_machine(tmp_path, monkeypatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("platform.node", lambda: "elsewhere")
        write_journal(tmp_path, leader=None)
    assert run_clean() == "left alone: dead-run belongs to the machine elsewhere\n"
    assert len(journals()) == 1


def test_only_own_directories_are_removed(tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    link = tmp_path / "streamgauge-link"
    link.symlink_to(precious)
    assert not remove_work_dir(precious)
    assert not remove_work_dir(link)
    assert precious.is_dir()


def write_journal(tmp_path: Path, leader: Identity | None) -> Path:
    work_dir = tmp_path / "streamgauge-work"
    work_dir.mkdir()
    path = tmp_path / "state" / "journal" / "dead-run.jsonl"
    path.parent.mkdir(parents=True)
    journal = Journal(path, "dead-run", guardian=Identity(1, -1.0))
    journal.work_dir(work_dir)
    if leader:
        journal.started("engine", leader)
    journal.close()
    return work_dir


def run_clean() -> str:
    app = typer.Typer()
    app.command()(clean)
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0, result.output
    return result.output
