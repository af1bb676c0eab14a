"""Faults that are not carried out: on a process that is still starting, or that another fault acts on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
import test_fault_nodes as nodes
from children import DEADLINE_S, UNTIL_STDIN_ENDS, all_gone, await_true, python
from test_faults import Acting, status

from streamgauge.measure.faults import NON_RECIPIENT
from streamgauge.model import Member, ProcessSpec, Ready
from streamgauge.model.outcome import FaultRecord
from streamgauge.processes.supervisor import Running, Supervisor

EXECUTOR = "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', 'the.Executor'])\n"
MEMBER = Member("executor-1", "the.Executor")


class Starting:
    """Processes that are usable only once they are let go."""

    def __init__(self, supervisor: Supervisor, pool: ThreadPoolExecutor, path: Path) -> None:
        self._supervisor, self._pool, self._go = supervisor, pool, path / "go"
        self.late = f"while not os.path.exists({str(self._go)!r}): time.sleep(0.01)\n" + UNTIL_STDIN_ENDS

    def start(self, *specs: ProcessSpec) -> Future[list[Running]]:
        """Returns when all have been launched."""
        started = self._pool.submit(self._supervisor.start_all, specs)
        await_true(lambda: len(self._supervisor.processes()) == len(specs))
        return started

    def let_go(self) -> None:
        self._go.touch()


@pytest.fixture
def starting(supervisor: Supervisor, tmp_path: Path) -> Iterator[Starting]:
    with ThreadPoolExecutor(1) as pool:
        made = Starting(supervisor, pool, tmp_path)
        yield made
        made.let_go()


def await_refused(acting: Acting | nodes.Acting, number: int = 1) -> FaultRecord:
    record = acting.records[number - 1]
    await_true(lambda: record.why_not is not None and "over before" not in record.why_not)
    assert (record.took_effect, record.acted_ns) == (False, None)
    return record


@pytest.mark.parametrize("verb", ["kill engine-1", "kill engine-1 for 10ms", "pause engine-1 for 10ms"])
def test_a_process_that_is_still_starting_is_left_alone(supervisor: Supervisor, starting: Starting, verb: str) -> None:
    started = starting.start(python(starting.late, "engine-1"))
    acting = Acting(supervisor, f"{verb} at 0s")
    assert await_refused(acting).why_not == "engine-1 was still starting"
    assert acting.messages == []
    starting.let_go()
    assert started.result(DEADLINE_S) == supervisor.processes()
    later = Acting(supervisor, f"{verb} at 0s")
    later.await_acted()
    later.faults.end()


@pytest.mark.parametrize("role", ["driver", "jvm", "program"])
def test_processes_of_one_role_are_usable_together(supervisor: Supervisor, starting: Starting, role: str) -> None:
    """A JVM is of no use before the program that runs in it."""
    jvm = python(UNTIL_STDIN_ENDS, "jvm", part_of="driver", ready=Ready())
    starting.start(jvm, python(starting.late, "program", part_of="driver"))
    acting = Acting(supervisor, f"kill {role} at 0s")
    assert await_refused(acting).why_not == f"{role} was still starting"


def test_a_member_of_a_process_that_is_still_starting(supervisor: Supervisor, starting: Starting) -> None:
    started = starting.start(python(EXECUTOR + starting.late, "worker-1", members=(MEMBER,)))
    await_true(lambda: supervisor.lives("executor-1"))
    acting = Acting(supervisor, "kill executor-1 at 0s")
    assert await_refused(acting).why_not == "executor-1 was still starting"
    starting.let_go()
    started.result(DEADLINE_S)
    later = Acting(supervisor, "kill executor-1 at 0s")
    later.await_acted()


def test_a_node_that_is_still_starting_is_not_chosen(supervisor: Supervisor, starting: Starting) -> None:
    starting.start(python(UNTIL_STDIN_ENDS, "worker-1"), python(starting.late, "worker-2"))
    acting = nodes.Acting(supervisor, {"worker-1": 9.0, "worker-2": 0.0}, f"kill {NON_RECIPIENT} at 0s")
    assert "every node that was left had read" in str(await_refused(acting).why_not)


@pytest.mark.parametrize("role", ["driver", "jvm", "program"])
def test_a_restart_under_another_name(supervisor: Supervisor, tmp_path: Path, role: str) -> None:
    """It ends when the last of its processes is usable. Until that is launched, the JVM alone would be."""
    made = tmp_path / "made"
    late = f"if os.path.exists({str(made)!r}): time.sleep(600)\nopen({str(made)!r}, 'w').close()\n{UNTIL_STDIN_ENDS}"
    jvm = python(UNTIL_STDIN_ENDS, "jvm", part_of="driver", ready=Ready())
    supervisor.start_all([jvm, python(late, "program", part_of="driver")])
    killing = Acting(supervisor, "kill driver for 10ms at 0s", f"pause {role} for 1s at 1s")
    refused = str(await_refused(killing, 2).why_not)
    assert refused in (f"{role} was still starting", f"{role} was not running", f"another fault was acting on {role}")
    await_true(lambda: len(supervisor.processes()) == 2)
    assert psutil.STATUS_STOPPED not in {status(running.pid) for running in supervisor.processes()}
    killing.faults.end()


def pausing(supervisor: Supervisor, *texts: str) -> nodes.Acting:
    """Of two nodes, the second does not read. What comes after the first fault comes when that has taken effect."""
    return nodes.Acting(supervisor, {"worker-1": 9.0, "worker-2": 0.0}, f"pause {NON_RECIPIENT} for 20s at 0s", *texts)


@pytest.mark.parametrize("verb", ["pause worker-2 for 10ms", "kill worker-2", "kill worker-2 for 10ms"])
def test_a_node_that_was_chosen_is_left_to_the_first_fault(supervisor: Supervisor, verb: str) -> None:
    start = nodes.start(supervisor, "worker-1", "worker-2")
    acting = pausing(supervisor, f"{verb} at 1s")
    assert await_refused(acting, 2).why_not == "another fault was acting on worker-2"
    assert acting.records[0].took_effect and acting.records[0].ended_ns is None
    assert not all_gone([start["worker-2"]]) and status(start["worker-2"].pid) == psutil.STATUS_STOPPED
    acting.faults.end()


@pytest.mark.parametrize(("first", "second"), [("worker-2", "executor-1"), ("executor-1", "worker-2")])
def test_a_process_and_its_member_belong_together(supervisor: Supervisor, first: str, second: str) -> None:
    supervisor.start(python(UNTIL_STDIN_ENDS, "worker-1"))
    supervisor.start(python(EXECUTOR + UNTIL_STDIN_ENDS, "worker-2", members=(MEMBER,)))
    await_true(lambda: supervisor.lives("executor-1"))
    acting = Acting(supervisor, f"pause {first} for 20s at 0s", f"pause {second} for 10ms at 1s")
    assert await_refused(acting, 2).why_not == f"another fault was acting on {second}"
    acting.faults.end()


def test_faults_of_different_processes_do_not_exclude_each_other(supervisor: Supervisor) -> None:
    supervisor.start_all([python(UNTIL_STDIN_ENDS, role, part_of="driver") for role in ("jvm", "program")])
    acting = Acting(supervisor, "pause jvm for 20s at 0s", "pause program for 10ms at 0s")
    acting.await_acted()
    acting.faults.end()


def test_a_fault_can_follow_one_that_is_over(supervisor: Supervisor) -> None:
    nodes.start(supervisor, "worker-1", "worker-2")
    texts = [f"pause {NON_RECIPIENT} for 10ms at 0s", "pause worker-2 for 10ms at 1s"]
    acting = nodes.Acting(supervisor, {"worker-1": 9.0, "worker-2": 0.0}, *texts)
    assert [record.took_effect for record in acting.await_done()] == [True, True]
