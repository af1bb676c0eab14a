"""The supervisor with real processes: stopping, and nothing left behind."""

from __future__ import annotations

import os
import signal

import pytest
from children import (
    DEADLINE_S,
    FAMILY,
    IGNORES_SIGTERM,
    STUBBORN,
    UNTIL_STDIN_ENDS,
    all_gone,
    await_true,
    identities,
    python,
)

from streamgauge.model import Stop
from streamgauge.processes import reaping
from streamgauge.processes.journal import journals
from streamgauge.processes.proctable import Identity
from streamgauge.processes.supervisor import Supervisor


def test_stops_in_reverse_order(supervisor):
    order = []
    code = "signal.signal(signal.SIGTERM, lambda *_: (say('stopped'), sys.exit())); say('ready'); time.sleep(600)"
    supervisor.start_all(
        [python(code, role=role, group=group) for role, group in [("a", "broker"), ("b", "engine"), ("c", "engine")]],
        lambda role, event: order.append(role) if event["event"] == "stopped" else None,
    )
    supervisor.stop_group("engine")
    assert order == ["c", "b"]
    supervisor.stop_all()
    supervisor.stop("b")
    assert order == ["c", "b", "a"]
    supervisor.check()


def test_stops_by_closing_stdin(supervisor):
    code = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(9))\n" + UNTIL_STDIN_ENDS
    running = supervisor.start(python(code, stop=Stop("stdin", DEADLINE_S)))
    supervisor.stop("engine")
    assert running.exit_code == 0


def test_kills_processes_that_do_not_exit(supervisor):
    running = supervisor.start(python(IGNORES_SIGTERM, stop=Stop("terminate", 0.2)))
    supervisor.stop("engine")
    assert running.exit_code == 137
    supervisor.check()


# The interrupt may hit the main thread anywhere, even between opening a file and its ``with``.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupt_while_a_group_stops_kills_everything(supervisor):
    def interrupt(role, event):
        if event["event"] == "asked":
            os.kill(os.getpid(), signal.SIGINT)

    patient = supervisor.start(python(STUBBORN, role="broker", group="broker"))
    stubborn = supervisor.start(python(STUBBORN), interrupt)
    with pytest.raises(KeyboardInterrupt):
        supervisor.stop_group("engine")
    assert (patient.exit_code, stubborn.exit_code) == (137, 137)


def test_killed_role_is_not_a_failure_and_can_start_again(supervisor):
    first = supervisor.start(python(UNTIL_STDIN_ENDS))
    with pytest.raises(ValueError, match="already running"):
        supervisor.start(python(UNTIL_STDIN_ENDS))
    supervisor.kill("engine")
    assert first.exit_code == 137
    supervisor.check()
    second = supervisor.start(python(UNTIL_STDIN_ENDS))
    assert supervisor.processes() == [second]


def test_paused_process_stops_cleanly(supervisor):
    code = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); say('ready'); time.sleep(600)"
    running = supervisor.start(python(code))
    supervisor.pause("engine")
    supervisor.stop("engine")
    assert running.exit_code == 0


@pytest.mark.parametrize("how", ["stop", "kill", "close"])
def test_all_descendants_end(how, logs, tmp_path):
    with Supervisor("test-run", logs, temp_root=tmp_path) as supervisor:
        supervisor.start(python(FAMILY + "time.sleep(600)", stop=Stop("terminate", 0.2)))
        family = identities(supervisor.wait_event("engine", "ready", DEADLINE_S)["pids"])
        if how != "close":
            getattr(supervisor, how)("engine")
            assert all_gone(family)
    assert all_gone(family)


def test_descendants_of_a_dead_leader_end(supervisor):
    supervisor.start(python(FAMILY + "os._exit(1)"))
    family = identities(supervisor.wait_event("engine", "ready", DEADLINE_S)["pids"])
    await_true(lambda: bool(supervisor.ended()))
    assert not all_gone(family)
    supervisor.stop("engine")
    assert all_gone(family)


def test_session_member_without_the_token_ends(supervisor):
    code = "p = subprocess.Popen(['/bin/sleep', '600'], env={}); say('ready', pid=p.pid); time.sleep(600)"
    supervisor.start(python(code))
    (bare,) = identities([supervisor.wait_event("engine", "ready", DEADLINE_S)["pid"]])
    supervisor.kill("engine")
    assert all_gone([bare])


def test_another_process_with_a_reused_pid_is_not_killed(supervisor):
    running = supervisor.start(python(UNTIL_STDIN_ENDS))
    former = Identity(running.pid, running.identity.started - 100)
    assert reaping.find([former], set()) == set()
    assert reaping.find([running.identity], set()) == {running.identity}


def test_intent_is_journalled_before_the_start(supervisor):
    code = f"say('ready', known=os.environ['{reaping.TOKEN_VARIABLE}'] in open({str(journals()[0])!r}).read())"
    supervisor.start(python(code))
    assert supervisor.wait_event("engine", "ready", DEADLINE_S)["known"]


def test_an_interrupt_is_answered_at_once_with_what_is_stopped(logs, tmp_path):
    said = []
    with pytest.raises(KeyboardInterrupt), Supervisor("test-run", logs, temp_root=tmp_path, say=said.append) as run:
        code = "signal.signal(signal.SIGTERM, lambda *_: (say('stopped'), sys.exit())); say('ready'); time.sleep(600)"
        roles = [("broker", "broker"), ("engine", "engine")]
        specs = [python(code, role=role, group=group) for role, group in roles]
        run.start_all(specs, lambda role, event: said.append(role) if event["event"] == "stopped" else None)
        raise KeyboardInterrupt
    assert said == ["interrupted: stopping engine, broker", "engine", "broker"]


def test_an_end_without_an_interrupt_says_nothing(logs, tmp_path):
    said = []
    with Supervisor("test-run", logs, temp_root=tmp_path, say=said.append) as run:
        run.start(python("say('ready'); time.sleep(600)"))
    assert said == []
