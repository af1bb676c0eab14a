"""The supervisor with real processes: readiness, failures, and events."""

from __future__ import annotations

import os
import signal
import stat
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from children import (
    DEADLINE_S,
    FAMILY,
    ON_READY,
    UNTIL_STDIN_ENDS,
    await_true,
    python,
)

from streamgauge.errors import EngineFailed, EnvironmentProblem
from streamgauge.model import ProcessSpec, Ready
from streamgauge.processes import proctable, reaping
from streamgauge.processes.journal import journals
from streamgauge.processes.ports import free_port, free_ports
from streamgauge.processes.process import Running
from streamgauge.processes.supervisor import Supervisor

SERVER = """
import http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == '/ok' else 404); self.end_headers()
    def log_message(self, *args): pass
http.server.HTTPServer(('127.0.0.1', {port}), Handler).serve_forever()
"""


def ready_cases(tmp_path: Path) -> dict[str, tuple[str, Ready]]:
    port = free_port()
    file = tmp_path / "made"
    return {
        "started": ("time.sleep(600)", Ready("started")),
        "event": ("say('other'); say('ready'); time.sleep(600)", ON_READY),
        "log-stderr": ("print('broker is up', file=sys.stderr); time.sleep(600)", Ready("log", r"is up$")),
        "log-stdout": ("print('broker is up', flush=True); time.sleep(600)", Ready("log", r"^broker")),
        "port": (SERVER.format(port=port), Ready("port", f"127.0.0.1:{port}")),
        "http": (SERVER.format(port=port), Ready("http", f"http://127.0.0.1:{port}/ok")),
        "file": (f"open({str(file)!r}, 'w').write('x'); time.sleep(600)", Ready("file", str(file))),
    }


@pytest.mark.parametrize("kind", ["started", "event", "log-stderr", "log-stdout", "port", "http", "file"])
def test_returns_when_usable(kind, supervisor, tmp_path):
    code, ready = ready_cases(tmp_path)[kind]
    running = supervisor.start(python(code, ready=ready))
    assert running.exit_code is None
    assert os.getsid(running.pid) == running.pid, "out of reach of the terminal's Ctrl-C"
    assert supervisor.processes() == [running]
    supervisor.check()


@pytest.mark.parametrize(
    "ready",
    [
        Ready("event", "ready", 0.3),
        Ready("log", "up", 0.3),
        Ready("port", f"127.0.0.1:{free_port()}", 0.3),
        Ready("http", f"http://127.0.0.1:{free_port()}/ok", 0.3),
        Ready("file", "/nonexistent", 0.3),
    ],
    ids=lambda ready: ready.kind,
)
def test_timeout_names_what_was_awaited(ready, supervisor):
    with pytest.raises(EnvironmentProblem) as caught:
        supervisor.start(python("time.sleep(600)", role="broker", group="broker", ready=ready))
    assert "broker timed out before it was usable" in caught.value.what
    assert ready.value in caught.value.expected
    assert "within 0.3 s" in caught.value.expected
    assert supervisor.processes() == []
    assert supervisor.ended() == []


def test_http_answer_other_than_200_is_not_ready(supervisor):
    port = free_port()
    ready = Ready("http", f"http://127.0.0.1:{port}/missing", 1.0)
    with pytest.raises(EngineFailed):
        supervisor.start(python(SERVER.format(port=port), ready=ready))


def test_end_before_ready_shows_the_log(supervisor, logs):
    with pytest.raises(EngineFailed) as caught:
        supervisor.start(python("print('out'); print('no such topic', file=sys.stderr); sys.exit(7)"))
    assert caught.value.what == "engine ended before it was usable"
    assert caught.value.got == "exit code 7"
    assert "no such topic" in caught.value.log_tail
    assert "out" in caught.value.log_tail
    assert caught.value.where == logs / "engine.log"
    assert [(end.role, end.group, end.exit_code) for end in supervisor.ended()] == [("engine", "engine", 7)]


def test_log_tail_holds_the_last_lines_only(supervisor):
    with pytest.raises(EngineFailed) as caught:
        supervisor.start(python("[print(f'line {n}') for n in range(1000)]; sys.exit(1)"))
    assert caught.value.log_tail.splitlines() == [f"line {n}" for n in range(985, 1000)]


def test_failed_event_fails_the_start_with_its_message(supervisor):
    with pytest.raises(EngineFailed) as caught:
        supervisor.start(python("say('failed', message='topic is missing'); time.sleep(600)"))
    assert "topic is missing" in caught.value.got
    assert supervisor.processes() == []


def test_missing_executable(supervisor):
    with pytest.raises(EnvironmentProblem) as caught:
        supervisor.start(ProcessSpec("broker", "broker", ["/nonexistent/java"]))
    assert caught.value.what == "cannot start broker"
    assert caught.value.where == "/nonexistent/java"
    assert caught.value.got == "No such file or directory"


def test_not_executable(supervisor, tmp_path):
    program = tmp_path / "program"
    program.write_text("")
    with pytest.raises(EngineFailed) as caught:
        supervisor.start(ProcessSpec("engine", "engine", [str(program)]))
    assert caught.value.got == "Permission denied"


def test_failed_start_leaves_no_descendants(supervisor):
    seen = []
    code = FAMILY + "say('failed', message='x'); time.sleep(600)"
    spec = python(code, ready=Ready("event", "never", DEADLINE_S))
    with pytest.raises(EngineFailed):
        supervisor.start(spec, lambda _, event: seen.extend(event.get("pids", [])))
    assert len(seen) == 3
    assert not any((process := proctable.read(pid)) and not process.zombie for pid in seen)


def test_once_waits_for_the_end(supervisor, tmp_path):
    file = tmp_path / "formatted"
    running = supervisor.start(python(f"open({str(file)!r}, 'w').close()", role="format", once=True))
    assert file.exists()
    assert running.exit_code == 0
    assert supervisor.processes() == []
    supervisor.check()


def test_once_must_exit_with_code_0(supervisor):
    with pytest.raises(EngineFailed) as caught:
        supervisor.start(python("sys.exit('bad cluster id')", role="format", once=True))
    assert (caught.value.got, caught.value.log_tail) == ("exit code 1", "bad cluster id")


def test_once_must_end_in_time(supervisor):
    with pytest.raises(EngineFailed, match="did not end"):
        supervisor.start(python("time.sleep(600)", once=True, ready=Ready(timeout_s=0.2)))


def test_files_are_private_and_gone_afterwards(logs, tmp_path):
    with Supervisor("test-run", logs, temp_root=tmp_path) as supervisor:
        file = supervisor.work_dir / "conf" / "job.json"
        code = f"print(open({str(file)!r}).read()); say('ready'); time.sleep(600)"
        supervisor.start(python(code, files={file: "the job"}))
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(supervisor.work_dir.stat().st_mode) == 0o700
        assert len(journals()) == 1
        assert stat.S_IMODE(journals()[0].parent.stat().st_mode) == 0o700
    assert not supervisor.work_dir.exists()
    assert journals() == []
    assert (logs / "engine.log").read_text() == "the job\n"


def test_logs_without_a_log_directory_are_removed_with_the_work_directory(logs, tmp_path):
    with Supervisor("test-run", temp_root=tmp_path) as supervisor:
        supervisor.start(python("print('here', flush=True); say('ready'); time.sleep(600)"))
        assert (supervisor.work_dir / "logs" / "engine.log").read_text() == "here\n"
    assert not supervisor.work_dir.exists() and not logs.exists()


def test_environment_of_a_child(supervisor, monkeypatch):
    monkeypatch.setenv("FROM_OUTSIDE", "1")
    supervisor.start(
        python("say('ready', env=dict(os.environ)); time.sleep(600)", env={"FROM_SPEC": "2"}),
    )
    env = supervisor.wait_event("engine", "ready", DEADLINE_S)["env"]
    assert (env["FROM_OUTSIDE"], env["FROM_SPEC"]) == ("1", "2")
    assert env[reaping.TOKEN_VARIABLE]


def test_commands_and_events(supervisor):
    code = "say('ready')\nfor line in sys.stdin: say('echo', line=line.strip())"
    supervisor.start(python(code))
    for text in ("one", "two"):
        supervisor.send("engine", text)
        assert supervisor.wait_event("engine", "echo", DEADLINE_S)["line"] == text


def test_wait_event_fails_as_soon_as_the_process_ends(supervisor):
    supervisor.start(python("say('ready'); sys.stdin.readline(); print('tired'); sys.exit(3)"))
    supervisor.send("engine", "go")
    with pytest.raises(EngineFailed) as caught:
        supervisor.wait_event("engine", "evaluated", 10 * DEADLINE_S)
    assert caught.value.got == "exit code 3"
    assert caught.value.log_tail == "tired"


def test_last_event_of_a_process_that_ends_is_not_lost(supervisor):
    supervisor.start(python("say('ready'); sys.stdin.readline(); say('stopped', sent=5)"))
    supervisor.send("engine", "go")
    assert supervisor.wait_event("engine", "stopped", DEADLINE_S)["sent"] == 5


def test_wait_event_raises_a_reported_failure(supervisor):
    code = "say('ready'); sys.stdin.readline(); say('failed', message='no space'); time.sleep(600)"
    supervisor.start(python(code, role="evaluate", group="evaluate"))
    supervisor.send("evaluate", "go")
    with pytest.raises(EnvironmentProblem, match="no space"):
        supervisor.wait_event("evaluate", "evaluated", DEADLINE_S)


def test_wait_event_times_out_with_what_was_awaited(supervisor):
    supervisor.start(python("print('busy'); say('ready'); time.sleep(600)"))
    with pytest.raises(EngineFailed, match=r"the event 'evaluated' within 0\.2 s") as caught:
        supervisor.wait_event("engine", "evaluated", 0.2)
    assert caught.value.log_tail == "busy"


def test_command_to_a_dead_process(supervisor):
    supervisor.start(python("say('ready'); sys.exit(4)"))
    await_true(lambda: bool(supervisor.ended()))
    with pytest.raises(EngineFailed, match="no longer accepts commands"):
        supervisor.send("engine", "go")


@pytest.mark.parametrize(("group", "error"), [("engine", EngineFailed), ("broker", EnvironmentProblem)])
def test_check_finds_a_process_that_was_killed(group, error, supervisor):
    running = supervisor.start(python("print('last words'); say('ready'); time.sleep(600)", group=group))
    supervisor.check()
    os.kill(running.pid, signal.SIGKILL)
    await_true(lambda: running.exit_code is not None)
    with pytest.raises(error, match="ended by SIGKILL") as caught:
        supervisor.check()
    assert caught.value.log_tail == "last words"
    how = {"exit_code": 137, "message": None, "watches": False, "log_tail": "last words"}
    expected = [{"role": "engine", "group": group, **how}]
    assert [end.as_json() for end in supervisor.ended()] == expected
    supervisor.stop_all()
    assert [end.as_json() for end in supervisor.ended()] == expected, "stopping the rest does not clear it"
    supervisor.check(but=group)


def test_a_process_that_a_full_disk_ended_is_known_by_its_log(supervisor):
    trace = "print('\\n'.join(f'at frame {n}' for n in range(100)))"
    running = supervisor.start(python(f"say('ready'); print('java.io.IOException: No space left on device'); {trace}"))
    await_true(lambda: running.exit_code is not None)
    (ended,) = supervisor.ended()
    assert ended.message == "a disk is full: java.io.IOException: No space left on device"
    assert "No space" not in ended.log_tail


def test_engine_that_ends_with_code_0_has_failed(supervisor):
    running = supervisor.start(python("say('ready'); say('done')"))
    await_true(lambda: running.exit_code is not None)
    with pytest.raises(EngineFailed, match="exit code 0"):
        supervisor.check()


def test_load_worker_that_is_done_may_end(supervisor):
    ended = threading.Event()

    def dawdle(role, event):
        """Delays reading of the last event until after its end."""
        if event["event"] == "ready":
            ended.wait(DEADLINE_S)
            time.sleep(0.2)

    running = supervisor.start(python("say('ready'); say('done')", role="load", group="load"), dawdle)
    await_true(lambda: running.exit_code is not None)
    ended.set()
    supervisor.check()
    assert supervisor.ended() == []


def test_floods_do_not_block(supervisor):
    code = """
for _ in range(20): sys.stdout.write('x' * 1_000_000)
sys.stderr.write('y' * 20_000_000)
print(); say('ready'); time.sleep(600)
"""
    supervisor.start(python(code))
    assert supervisor.processes()[0].log.stat().st_size > 39_000_000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_costs_log_lines_only(supervisor, logs):
    logs.mkdir()
    (logs / "engine.log").symlink_to("/dev/full")
    running = supervisor.start(python("[print('x' * 1000) for _ in range(1000)]; " + UNTIL_STDIN_ENDS))
    running.close_stdin()
    await_true(lambda: bool(supervisor.ended()))
    assert supervisor.ended()[0].exit_code == 0


def test_failing_callback_is_raised_and_reading_continues(supervisor):
    def callback(role, event):
        raise RuntimeError("callback is broken")

    supervisor.start(python("say('ready'); say('next'); time.sleep(600)"), callback)
    supervisor.wait_event("engine", "next", DEADLINE_S)
    with pytest.raises(RuntimeError, match="callback is broken"):
        supervisor.check()


def test_lines_that_are_not_events_are_logged(supervisor, logs):
    lines = ['{"no": "event"}', '{"event": 5}', "{broken", '["event"]', "[" * 100_000]
    code = f"[print(line) for line in {lines!r}]; say('ready'); time.sleep(600)"
    supervisor.start(python(code))
    assert (logs / "engine.log").read_text().splitlines() == lines


def test_same_run_twice_is_refused(supervisor, logs, tmp_path):
    with pytest.raises(EnvironmentProblem, match="File exists"):
        Supervisor("test-run", logs, temp_root=tmp_path)
    assert len(journals()) == 1
    assert supervisor.work_dir.exists()


def test_state_that_cannot_be_written(logs, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "file"))
    with pytest.raises(EnvironmentProblem, match="cannot prepare a run"):
        Supervisor("test-run", logs, temp_root=tmp_path)


def test_ports_differ():
    ports = free_ports(50)
    assert len(set(ports)) == 50


def test_stop_is_quick_when_all_processes_exit(supervisor):
    """Waiting for the whole grace period would take a minute here."""
    supervisor.start_all([python(UNTIL_STDIN_ENDS, role=f"r{n}") for n in range(3)])
    before = time.monotonic()
    supervisor.stop_all()
    assert time.monotonic() - before < DEADLINE_S / 2


def test_side_by_side_each_waits_for_the_other(supervisor, tmp_path):
    """One after the other, the first would never be usable."""
    met = "\n".join(
        (
            "import pathlib",
            "here, other = (pathlib.Path({home!r}) / name for name in {names!r})",
            "here.touch()",
            "while not other.exists(): time.sleep(0.01)",
            "say('ready'); time.sleep(600)",
        )
    )
    first = python(met.format(home=str(tmp_path), names=("a", "b")), role="first")
    second = python(met.format(home=str(tmp_path), names=("b", "a")), role="second")
    started = supervisor.start_all([replace(first, side_by_side=True), second])
    assert supervisor.processes() == started


def test_what_a_process_said_last_is_why_it_failed(supervisor, monkeypatch):
    """Its words may be read only after its end was seen."""
    said = threading.Event()
    take_in = Running._take_in
    monkeypatch.setattr(Running, "_take_in", lambda self, event: said.wait(DEADLINE_S) and take_in(self, event))
    await_output = Running.await_remaining_output

    def hear(self):
        said.set()
        await_output(self)

    monkeypatch.setattr(Running, "await_remaining_output", hear)
    with pytest.raises(EngineFailed, match="first failed before it was usable"):
        supervisor.start(python("say('failed', message='no room')", role="first"))


def test_side_by_side_the_failure_of_one_ends_both(supervisor):
    broken = replace(python("say('failed', message='no room')", role="first"), side_by_side=True)
    with pytest.raises(EngineFailed, match="first failed before it was usable"):
        supervisor.start_all([broken, python("say('ready'); time.sleep(600)", role="second")])
    assert supervisor.processes() == []


def test_side_by_side_one_that_cannot_be_launched_ends_the_others(supervisor, tmp_path):
    """What the next start would await otherwise."""
    first = replace(python("time.sleep(600)", role="first"), side_by_side=True)
    (tmp_path / "occupied").touch()
    second = replace(python("say('ready')", role="second"), files={tmp_path / "occupied" / "file": "text"})
    with pytest.raises((EngineFailed, OSError)):
        supervisor.start_all([first, second])
    assert supervisor.processes() == []
    assert supervisor.start(python("say('ready'); time.sleep(600)", role="third")).usable


def test_a_failure_names_the_process_that_failed(supervisor):
    broken = replace(python("say('failed', message='no room')", role="first"), side_by_side=True)
    with pytest.raises(EngineFailed) as caught:
        supervisor.start_all([broken, python("say('ready'); time.sleep(600)", role="second")])
    assert caught.value.role == "first"


def test_side_by_side_a_restart_awaits_its_own_process(supervisor):
    alone = replace(python("say('ready'); time.sleep(600)", role="first"), side_by_side=True)
    supervisor.start_all([alone, python("say('ready'); time.sleep(600)", role="second")])
    supervisor.kill("first")
    assert supervisor.restart("first")
    assert [running.role for running in supervisor.processes()] == ["second", "first"]


def test_a_dead_companion_is_noticed_while_waiting(supervisor):
    """A program would wait forever for a dead JVM."""
    supervisor.start(python("say('ready'); print('no such master'); sys.exit(5)", role="jvm"))
    with pytest.raises(EngineFailed, match="jvm exited unexpectedly") as caught:
        supervisor.start(python("time.sleep(600)", role="program"))
    assert caught.value.log_tail == "no such master"


def test_a_failure_is_cleared_by_the_next_request(supervisor):
    answers = "say('ready')\nfor line in sys.stdin: say('failed', message='no') if line == 'bad\\n' else say('good')"
    supervisor.start(python(answers, role="server"))
    supervisor.send("server", "bad")
    with pytest.raises(EngineFailed, match="no"):
        supervisor.wait_event("server", "good", 60)
    supervisor.send("server", "fine")
    assert supervisor.wait_event("server", "good", 60) == {"event": "good"}
