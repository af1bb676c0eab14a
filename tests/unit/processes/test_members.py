"""Roles of processes that were not started by the supervisor: found, sampled, paused and killed on their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from children import DEADLINE_S, await_true, python

from streamgauge.measure.outcome import lost_members
from streamgauge.measure.sampling import Sampler
from streamgauge.model import Member
from streamgauge.model.outcome import FaultRecord, Outcome
from streamgauge.processes import proctable
from streamgauge.processes.supervisor import Running, Supervisor

# A worker that starts an executor, and another one whenever that ends. An executor has a child of its own.
WORKER = """
EXECUTOR = '''
import json, os, sys, time
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
    time.sleep(600)
while time.process_time() < 0.4: pass
print(json.dumps({"event": "executor", "pids": [os.getpid(), child]}), flush=True)
time.sleep(600)
'''
subprocess.Popen(["sleep", "600"])
say("ready")
while True:
    subprocess.Popen([sys.executable, "-c", EXECUTOR, "the.Executor"]).wait()
    say("ended")
"""


@pytest.fixture
def supervisor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Supervisor]:
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "state"))
    with Supervisor("test-run", tmp_path / "logs", temp_root=tmp_path) as supervisor:
        yield supervisor


@pytest.fixture
def worker(supervisor: Supervisor, tmp_path: Path) -> Running:
    member = Member("executor-1", "the.Executor", logs=f"{tmp_path}/*.executor")
    return supervisor.start(python(WORKER, "worker-1", members=(member,)))


def executor(supervisor: Supervisor) -> list[int]:
    pids: list[int] = supervisor.wait_event("worker-1", "executor", DEADLINE_S)["pids"]
    return pids


def pids(supervisor: Supervisor, role: str) -> set[int]:
    return {identity.pid for identity in supervisor.identities(role)}


def test_members_are_found_with_their_descendants(supervisor: Supervisor, worker: Running) -> None:
    family = set(executor(supervisor))
    assert pids(supervisor, "executor-1") == family
    whole = pids(supervisor, "worker-1")
    assert {worker.pid} | family < whole, "a fault of a worker reaches everything on it"
    assert pids(supervisor, "executor-2") == set()


def test_cpu_time_of_a_member_counts_once(supervisor: Supervisor, worker: Running) -> None:
    sampler = Sampler(supervisor.processes)

    def used() -> dict[str, float]:
        return {line.role: line.cpu_s or 0.0 for line in sampler.sample(0)}

    family = executor(supervisor)
    before = used()
    assert set(before) == {"worker-1", "executor-1"}
    assert before["executor-1"] >= 0.3
    os.kill(family[0], signal.SIGKILL)
    supervisor.wait_event("worker-1", "ended", DEADLINE_S)
    executor(supervisor)
    after = used()
    assert after["executor-1"] >= before["executor-1"] + 0.3, "the next executor comes on top"
    # The worker has waited for the first one, whose time it now has as that of a child.
    stat = proctable.read(worker.pid)
    assert stat is not None and stat.cpu_s - stat.own_cpu_s >= 0.3
    assert after["worker-1"] < before["worker-1"] + 0.3


def test_memory_is_that_of_the_role(supervisor: Supervisor, worker: Running) -> None:
    executor(supervisor)
    lines = {line.role: line for line in Sampler(supervisor.processes).sample(0)}
    assert {line.group for line in lines.values()} == {"engine"}
    assert all((line.rss_mb or 0) > 1 for line in lines.values())


def test_a_child_keeps_its_role_when_its_parent_ends(supervisor: Supervisor, worker: Running) -> None:
    sampler = Sampler(supervisor.processes)
    parent, child = executor(supervisor)
    sampler.sample(0)
    os.kill(parent, signal.SIGKILL)
    supervisor.wait_event("worker-1", "ended", DEADLINE_S)
    sampler.sample(1)
    (session,) = sampler._sessions({worker.pid: worker.identity}).values()
    roles = sampler._members.sort(worker.spec, session)
    assert child in {stat.identity.pid for stat in roles["executor-1"]}


def test_a_kill_of_a_member_leaves_worker_and_replacement_alone(supervisor: Supervisor, worker: Running) -> None:
    first = executor(supervisor)
    assert supervisor.kill("executor-1") == set()
    second = executor(supervisor)
    assert all(proctable.read(pid) is None or proctable.read(pid).zombie for pid in first)  # type: ignore[union-attr]
    assert pids(supervisor, "executor-1") == set(second)
    supervisor.check()
    assert supervisor.ended() == []


def test_a_pause_of_a_member_stops_only_its_processes(supervisor: Supervisor, worker: Running) -> None:
    family = executor(supervisor)
    supervisor.pause("executor-1")
    await_true(lambda: {psutil.Process(pid).status() for pid in family} == {psutil.STATUS_STOPPED})
    assert psutil.Process(worker.pid).status() != psutil.STATUS_STOPPED
    supervisor.resume("executor-1")
    await_true(lambda: psutil.STATUS_STOPPED not in {psutil.Process(pid).status() for pid in family})


def test_everything_ends_with_the_worker(supervisor: Supervisor, worker: Running, tmp_path: Path) -> None:
    family = [proctable.identity(pid) for pid in executor(supervisor)]
    (tmp_path / "1.executor").write_text("first\n")
    (tmp_path / "2.executor").write_text("second\n")
    supervisor.stop("worker-1")
    assert not any(identity and proctable.is_alive(identity) for identity in family)
    assert (tmp_path / "logs" / "executor-1.log").read_text() == "first\nsecond\n"


def test_a_member_that_ends_is_noticed(supervisor: Supervisor, worker: Running) -> None:
    sampler = Sampler(supervisor.processes)
    parent, child = executor(supervisor)
    sampler.sample(1)
    os.kill(child, signal.SIGKILL)
    sampler.sample(2)
    assert sampler.lost == [], "its own children come and go"
    os.kill(parent, signal.SIGKILL)
    supervisor.wait_event("worker-1", "ended", DEADLINE_S)
    executor(supervisor)
    sampler.sample(3)
    sampler.sample(4)
    assert sampler.lost == [(3, "executor-1")]


def fault(acted_ns: int | None) -> FaultRecord:
    fields: dict[str, Any] = {"planned_ns": acted_ns, "ended_ns": acted_ns, "took_effect": True, "why_not": None}
    return FaultRecord(fault="kill worker-1 at 5s", verb="kill", role="worker-1", acted_ns=acted_ns, **fields)


@pytest.mark.parametrize(
    ("faults", "warned"),
    [([], {"executor-1": 2, "executor-2": 1}), ([fault(None)], {"executor-1": 2, "executor-2": 1}),
     ([fault(15)], {"executor-1": 1}), ([fault(5)], {})],
)  # fmt: skip
def test_a_loss_is_a_warning_unless_a_fault_came_first(faults: list[FaultRecord], warned: dict[str, int]) -> None:
    outcome = Outcome.blank()
    outcome.faults = faults
    warnings = lost_members(outcome, [(10, "executor-1"), (20, "executor-2"), (30, "executor-1")])
    assert [warning.split(" and")[0] for warning in warnings] == [
        f"{role} ended unexpectedly ({times} ×)," for role, times in warned.items()
    ]
