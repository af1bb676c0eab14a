"""Other runs before a measurement: killed ones are cleaned up, the others are reported."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from children import PREAMBLE, UNTIL_STDIN_ENDS, all_gone, await_true, python

from streamgauge.processes import leftovers, proctable, reaping
from streamgauge.processes.guardian import CleanedUp
from streamgauge.processes.journal import Journal, journal_dir, journals, read_journal
from streamgauge.processes.proctable import Identity
from streamgauge.processes.supervisor import Supervisor

DEAD = Identity(1, -1.0)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(leftovers, "_reported", set())
    journal_dir().mkdir(parents=True)


@pytest.fixture
def sleeper():
    """A process that a run started, in its own session."""
    child = subprocess.Popen([sys.executable, "-c", PREAMBLE + "time.sleep(600)"], start_new_session=True)
    yield proctable.identity(child.pid)
    child.kill()
    child.wait()


@pytest.fixture
def write(monkeypatch):
    """Write the journal of a run, as another process would."""

    def write(run: str, cli: Identity, guardian: Identity = DEAD, leader: Identity | None = None) -> None:
        with monkeypatch.context() as elsewhere:
            elsewhere.setattr(proctable, "identity", lambda pid: cli)
            journal = Journal(journal_dir() / f"{run}.jsonl", run, guardian)
        if leader:
            journal.started("engine", leader)
        journal.close()

    return write


class Heard:
    def __init__(self) -> None:
        self.messages: list[str] = []
        self.warned: list[str] = []

    def clear(self) -> None:
        leftovers.clear(self.messages.append, self.warned.append)


def own() -> Identity:
    identity = proctable.identity(os.getpid())
    assert identity is not None
    return identity


def test_a_killed_run_is_cleaned_up(write, sleeper):
    write("killed", DEAD, leader=sleeper)
    assert leftovers.interference() == {DEAD: f"processes of the killed run killed were still there: {sleeper.pid}"}
    heard = Heard()
    heard.clear()
    assert heard.messages == ["cleaned: killed: ended 1 processes"]
    assert heard.warned == []
    assert all_gone([sleeper])
    assert journals() == []
    assert leftovers.interference() == {}


def test_an_active_run_is_not_touched_but_reported(write, sleeper):
    active = proctable.identity(os.getppid())
    write("other", active, leader=sleeper)
    write("other-evaluator", active)
    heard = Heard()
    heard.clear()
    assert heard.messages == heard.warned == []
    assert not all_gone([sleeper])
    sentence = f"another run was active on this machine: other, other-evaluator (process {active.pid})"
    assert leftovers.interference() == {active: sentence}


def test_journals_of_this_command_are_ignored(write, sleeper):
    """A campaign keeps an evaluator with its own journal."""
    write("own-evaluator", own(), leader=sleeper)
    assert leftovers.survey() == []
    Heard().clear()
    assert not all_gone([sleeper])
    assert leftovers.interference() == {}


def test_processes_that_cannot_be_ended_are_reported(write, sleeper, monkeypatch):
    monkeypatch.setattr(leftovers, "clean_up", lambda path, record: CleanedUp(1, [], [sleeper.pid]))
    write("stuck", DEAD, leader=sleeper)
    heard = Heard()
    heard.clear()
    assert heard.warned == [f"not clean: stuck: cannot end processes {sleeper.pid}; try again later"]
    assert str(sleeper.pid) in leftovers.interference()[DEAD]


def test_unreadable_and_foreign_journals_are_reported_once(write, monkeypatch):
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr("platform.node", lambda: "elsewhere")
        write("far", DEAD)
    (journal_dir() / "nonsense.jsonl").write_text("nonsense")
    heard = Heard()
    heard.clear()
    heard.clear()
    assert heard.messages == [
        "not touched: far belongs to the machine elsewhere",
        f"not touched: {journal_dir() / 'nonsense.jsonl'} is not a journal that this version can read",
    ]
    assert leftovers.interference() == {}
    assert len(journals()) == 2


def test_a_run_in_another_container_is_not_considered_dead(write, sleeper, monkeypatch):
    """It may share the state directory and the host name, but not the PID namespace."""
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(proctable, "namespace", lambda: "pid:[1]")
        write("contained", DEAD, leader=sleeper)
    (left,) = leftovers.survey()
    assert left.state == "elsewhere"
    assert "other container" in left.text
    Heard().clear()
    assert not all_gone([sleeper])
    assert len(journals()) == 1


def test_a_guardian_at_work_is_waited_for(write, sleeper, monkeypatch):
    """Here it exits without cleaning up, so this run has to."""
    guardian = subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + "say('ready'); sys.stdin.read()"], stdin=subprocess.PIPE
    )
    write("ending", DEAD, guardian=proctable.identity(guardian.pid), leader=sleeper)
    real, waited = reaping.await_end, []

    def await_end(processes, timeout_s):
        waited.append(list(processes))
        guardian.communicate()
        return real(processes, timeout_s)

    monkeypatch.setattr(leftovers.reaping, "await_end", await_end)
    heard = Heard()
    heard.clear()
    assert len(waited[0]) == 1
    assert "cleaned: ending: ended 1 processes" in heard.messages
    assert all_gone([sleeper])


def test_a_dead_guardian_is_replaced(supervisor: Supervisor):
    running = supervisor.start(python(UNTIL_STDIN_ENDS))
    (path,) = journals()
    first = read_journal(path).guardian
    supervisor.check()
    assert supervisor.warnings == []
    os.kill(first.pid, signal.SIGKILL)
    await_true(lambda: all_gone([first]))
    supervisor.check()
    second = read_journal(path).guardian
    message = f"the guardian process {first.pid} died; process {second.pid} has taken its place"
    assert supervisor.warnings == [message]
    assert proctable.is_alive(second)
    supervisor.check()
    assert supervisor.warnings == [message]
    supervisor.close()
    assert all_gone([running.identity, second])


def test_a_guardian_that_cannot_be_replaced_is_reported_once(logs, tmp_path, monkeypatch):
    messages: list[str] = []
    with Supervisor("test-run", logs, temp_root=tmp_path, warn=messages.append) as supervisor:
        (path,) = journals()
        os.kill(read_journal(path).guardian.pid, signal.SIGKILL)

        def refuse(journal):
            raise OSError(12, "Cannot allocate memory")

        monkeypatch.setattr("streamgauge.processes.guardian.start", refuse)
        await_true(lambda: supervisor.check() or bool(messages))
        supervisor.check()
        assert supervisor.warnings == messages
    (only,) = messages
    assert "Cannot allocate memory" in only
    assert "streamgauge clean" in only


def test_a_run_that_started_meanwhile_is_reported(write, sleeper):
    active = proctable.identity(os.getppid())
    write("other", active)
    heard: list[str] = []
    before = leftovers.interference(heard.append)
    assert heard == list(before.values())
    assert leftovers.newcomers(before) == []
    write("later", sleeper)
    (text,) = leftovers.newcomers(before)
    assert "later" in text
