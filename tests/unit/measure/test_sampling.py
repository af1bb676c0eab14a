"""Samples of real processes: they add up a family, and CPU time never falls."""

from __future__ import annotations

import os
import signal

import pytest
from children import DEADLINE_S, await_true, python

from streamgauge.measure.outcome import shared_cores
from streamgauge.measure.sampling import MachineSampler, Sampler, machine_sample
from streamgauge.processes import proctable
from streamgauge.processes.supervisor import Supervisor

BURN = "\ndef burn(seconds):\n    while time.process_time() < seconds: pass\n"
# The child's parent never waits for it (SIGCHLD ignored), so that no one accounts for its time.
BUSY_CHILD = (
    BURN
    + """
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
child = os.fork()
if child == 0:
    burn(0.5)
    say('burnt')
    time.sleep(600)
say('ready', child=child)
sys.stdin.readline()
burn(time.process_time() + 0.3)
say('burnt too')
time.sleep(600)
"""
)


@pytest.fixture
def supervisor(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path / "state"))
    with Supervisor("test-run", tmp_path / "logs", temp_root=tmp_path) as supervisor:
        yield supervisor


def test_lines_are_as_documented(supervisor):
    sampler = Sampler(supervisor.processes)
    assert sampler.sample(1) == []
    supervisor.start(python("say('ready'); time.sleep(600)", role="broker", group="broker"))
    (line,) = sampler.sample(5)
    assert line.rss_mb > 1
    assert line.cpu_s >= 0
    nothing = {"heap_used_mb": None, "heap_committed_mb": None, "gc_count": None, "gc_ms": None}
    used = {"cpu_s": line.cpu_s, "rss_mb": line.rss_mb}
    network = {"received_mb": line.received_mb, "sent_mb": line.sent_mb, "from_transport_mb": None}
    assert line.as_json() == {"t_ns": 5, "role": "broker", "group": "broker", **used, **nothing, **network}


def test_cpu_time_outlives_the_child_that_used_it(supervisor):
    sampler = Sampler(supervisor.processes)

    def cpu_s() -> float:
        return sampler.sample(0)[0].cpu_s

    supervisor.start(python(BUSY_CHILD))
    child = supervisor.wait_event("engine", "ready", DEADLINE_S)["child"]
    supervisor.wait_event("engine", "burnt", DEADLINE_S)
    with_child_s = cpu_s()
    assert with_child_s >= 0.4
    os.kill(child, signal.SIGKILL)
    await_true(lambda: proctable.read(child) is None)
    without_child_s = cpu_s()
    assert without_child_s >= with_child_s
    supervisor.send("engine", "burn")
    supervisor.wait_event("engine", "burnt too", DEADLINE_S)
    assert cpu_s() >= without_child_s + 0.2, "what is used afterwards comes on top"


def test_cpu_time_of_a_child_that_was_waited_for_counts_once(supervisor):
    sampler = Sampler(supervisor.processes)
    code = """
child = os.fork()
if child == 0:
    burn(0.5); say('burnt'); time.sleep(600)
say('ready'); sys.stdin.readline()
os.kill(child, signal.SIGKILL); os.waitpid(child, 0)
say('waited'); time.sleep(600)
"""
    supervisor.start(python(BURN + code))
    supervisor.wait_event("engine", "burnt", DEADLINE_S)
    before_s = sampler.sample(0)[0].cpu_s
    supervisor.send("engine", "end it")
    supervisor.wait_event("engine", "waited", DEADLINE_S)
    after_s = sampler.sample(0)[0].cpu_s
    assert before_s <= after_s < before_s + 0.4


def test_dead_process_keeps_its_cpu_time(supervisor):
    sampler = Sampler(supervisor.processes)
    running = supervisor.start(python(BURN + "burn(0.3); say('ready'); time.sleep(600)"))
    (before,) = sampler.sample(0)
    os.kill(running.pid, signal.SIGKILL)
    await_true(lambda: running.exit_code is not None)
    (after,) = sampler.sample(1)
    assert after.cpu_s >= before.cpu_s >= 0.2
    assert after.rss_mb == 0


def test_cores_are_those_that_the_processes_are_allowed(supervisor):
    """Of a whole family, over all samples, without those that only watch."""
    mine = sorted(os.sched_getaffinity(0))
    one, other = mine[0], mine[-1]
    bound = "os.sched_setaffinity(0, [{}])\nsay('ready'); sys.stdin.readline()"
    bound += "; os.sched_setaffinity(0, [{}]); say('moved'); time.sleep(600)"
    supervisor.start(python(bound.format(one, other)))
    supervisor.start(python("say('ready'); time.sleep(600)", role="watcher", watches=True))
    child = f"\nif os.fork() == 0: os.sched_setaffinity(0, [{other}]); say('ready')\ntime.sleep(600)"
    supervisor.start(python(f"os.sched_setaffinity(0, [{one}])" + child, role="load", group="load"))
    sampler = Sampler(supervisor.processes)
    sampler.sample(0)
    assert sampler.cores == {"engine": {one}, "load": {one, other}}
    supervisor.send("engine", "move")
    supervisor.wait_event("engine", "moved", DEADLINE_S)
    sampler.sample(1)
    assert sampler.cores["engine"] == {one, other}


def test_a_process_that_is_gone_is_allowed_no_core(supervisor):
    running = supervisor.start(python("say('ready'); time.sleep(600)"))
    assert proctable.cores(running.pid) == os.sched_getaffinity(0)
    os.kill(running.pid, signal.SIGKILL)
    await_true(lambda: running.exit_code is not None and proctable.read(running.pid) is None)
    assert proctable.cores(running.pid) == frozenset()


@pytest.mark.parametrize(
    ("engine", "load", "broker", "engine_here", "own_transport", "shared"),
    [
        ({0, 1}, {0, 1}, {0, 1}, True, True, True),
        ({2, 3}, {0}, {1}, True, True, False),
        ({1, 2}, {0}, {1}, True, True, True),
        ({0, 2}, {0}, {1}, True, True, True),
        ({2, 3}, {0}, set(), True, False, None),
        ({0}, {0}, set(), True, False, True),
        ({2, 3}, {0}, {1}, False, True, None),
        (set(), {0}, {1}, True, True, None),
        ({0}, set(), set(), True, True, None),
    ],
)
def test_cores_are_shared_where_the_engine_may_run_on_one_of_the_others(
    engine, load, broker, engine_here, own_transport, shared
):
    cores = {name: frozenset(of) for name, of in (("engine", engine), ("load", load), ("broker", broker))}
    assert shared_cores(cores, engine_here=engine_here, own_transport=own_transport) is shared


def test_process_seen_before_it_was_listed_is_sampled(supervisor):
    """The sampler must not remember it as a stranger."""
    listed = []
    sampler = Sampler(lambda: listed)
    running = supervisor.start(python("say('ready'); time.sleep(600)"))
    assert sampler.sample(0) == []
    listed = [running]
    assert sampler.sample(1)[0].rss_mb > 1


def test_machine_sample_is_as_documented():
    sampler = MachineSampler()
    sampler.sample(1)
    await_true(lambda: (sample := sampler.sample(2)).cpu_busy is not None and sample.t_ns == 2)
    line = machine_sample(3).as_json()
    assert set(line) == {
        "t_ns", "load1", "cpu_busy", "steal", "psi_cpu_some", "psi_io_some", "psi_memory_some"
    }  # fmt: skip
    shares = [value for name, value in line.items() if name not in ("t_ns", "load1")]
    assert all(value is None or 0 <= value <= 1 for value in shares)
    assert line["load1"] >= 0
