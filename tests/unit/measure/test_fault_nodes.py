"""Faults of a node that does not read the input, and faults in runs with preloaded input."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from children import UNTIL_STDIN_ENDS, all_gone, await_true, python

from streamgauge.errors import EXIT_OK, Unsupported, UsageError
from streamgauge.measure import faults
from streamgauge.measure.faults import NON_RECIPIENT, parse
from streamgauge.measure.injection import FaultInjector
from streamgauge.measure.plan import Request, draw
from streamgauge.model import ProcessSpec, Scenario
from streamgauge.model.outcome import FaultRecord
from streamgauge.processes import sockets
from streamgauge.processes.supervisor import Supervisor
from streamgauge.studies import scenario as scenarios

SPECS = [
    ProcessSpec("broker", "broker", []),
    ProcessSpec("master", "engine", []),
    ProcessSpec("worker-1", "engine", [], node=True),
    ProcessSpec("worker-2", "engine", [], node=True),
    ProcessSpec("load", "load", []),
]
STANDALONE = {"cluster": "standalone", "workers": "2"}
KILL = f"kill {NON_RECIPIENT} at 3s"


def scenario(*texts: str, engine: str = "spark", preloaded: bool = False, **changes: str) -> Scenario:
    name = "streambench/performance" if preloaded else "ospbench/latency"
    more = {} if preloaded else {"measured_s": "30"}
    changes = {**(STANDALONE if engine == "spark" else {}), **more, **changes}
    resolved = scenarios.resolve(name, engine=engine, changes=changes)
    return replace(resolved, faults=tuple(parse(text) for text in texts))


def refusal(*texts: str, preloaded: bool = True) -> str:
    with pytest.raises(UsageError) as refused:
        faults.check(scenario(*texts, preloaded=preloaded), SPECS)
    return refused.value.message()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("kill worker-1 at 50%", "how long preloaded input takes is not known beforehand"),
        ("pause worker-1 for 1s at 3s every 5s", "expected: a fault without `every`"),
        ("pause worker-1 for 0s at 3s", "how long the pause lasts"),
        ("kill load at 3s", "load has ended by then"),
        ("kill worker-3 at 3s", "one of broker, master, worker-1, worker-2"),
    ],
)
def test_what_preloaded_input_does_not_allow(text: str, says: str) -> None:
    assert says in refusal(text)


def test_what_preloaded_input_allows() -> None:
    long = ("kill worker-1 for 5s at 12s", "pause broker for 2m at 1h", "kill worker-2 at 2h", KILL)
    faults.check(scenario(*long, preloaded=True), SPECS)
    assert "conflict" in refusal("kill worker-1 at 3s", "pause worker-1 for 1s at 9s")


def test_a_node_that_does_not_read_can_be_killed_or_paused_but_not_cut_off() -> None:
    faults.check(scenario(KILL, f"pause {NON_RECIPIENT} for 1s at 5s every 5s", "kill worker-1 at 9s"), SPECS)
    assert "the measured interval is over" in refusal(f"kill {NON_RECIPIENT} at 31s", preloaded=False)
    with pytest.raises(UsageError, match="cannot be cut off from what it reads"):
        parse(f"cut {NON_RECIPIENT} from broker for 1s at 3s")


@pytest.mark.parametrize(
    ("engine", "changes", "reason"),
    [
        ("kafka-streams", {}, "works only on the partitions that it reads itself"),
        ("echo", {}, "a single node"),
        ("spark", {"cluster": "local", "workers": "0"}, "a single JVM reads all"),
        ("spark", {"workers": "1"}, "the only Worker"),
        ("spark", {"cluster": "local", "workers": "0", "master": "spark://h:7077"}, "not processes of the run"),
        ("flink", {"taskmanagers": "1"}, "the only TaskManager"),
    ],
)
def test_engines_without_a_node_that_works_without_reading(engine: str, changes: dict[str, str], reason: str) -> None:
    asked = scenario(KILL, engine=engine, **changes)
    with pytest.raises(Unsupported) as refused:
        faults.check_supported(asked)
    assert reason in str(refused.value.got)
    assert refused.value.exit_code == UsageError.exit_code != EXIT_OK
    with pytest.raises(Unsupported):
        faults.check(asked, SPECS)
    faults.check_supported(replace(asked, faults=()))


def test_a_run_is_not_even_laid_out(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="a single node"):
        draw(Request(scenario(KILL, engine="echo"), tmp_path / "out"), "run", tmp_path)


def test_where_the_system_does_not_report_who_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "why_unknown", lambda: sockets.UNSUPPORTED)
    with pytest.raises(Unsupported, match="only Linux reports"):
        faults.check_supported(scenario(KILL))
    faults.check_supported(scenario("kill worker-1 at 3s"))


class Acting:
    """Faults whose moments have just come, on nodes that have received so much."""

    def __init__(self, supervisor: Supervisor, received: Mapping[str, float], *texts: str) -> None:
        self.messages: list[str] = []
        self.faults = FaultInjector(scenario(*texts), supervisor, self.messages.append, received=lambda: received)
        self.records: list[FaultRecord] = [record for _, record in self.faults._planned]
        self.faults.begin(time.time_ns())

    def await_done(self) -> list[FaultRecord]:
        await_true(lambda: not any("over before its moment" in str(record.why_not) for record in self.records))
        await_true(lambda: all(record.ended_ns or record.why_not for record in self.records))
        return self.faults.end()


def start(supervisor: Supervisor, *roles: str) -> dict[str, Any]:
    return {role: supervisor.start(python(UNTIL_STDIN_ENDS, role)).identity for role in roles}


def test_the_node_that_does_not_read_is_killed(supervisor: Supervisor) -> None:
    nodes = start(supervisor, "worker-1", "worker-2")
    acting = Acting(supervisor, {"worker-1": 50.0, "worker-2": 1.0}, f"kill {NON_RECIPIENT} at 0s")
    (record,) = acting.await_done()
    assert (record.fault, record.role, record.took_effect) == (f"kill {NON_RECIPIENT} at 0s", "worker-2", True)
    assert acting.faults.killed() == {"worker-2"}
    assert all_gone([nodes["worker-2"]]) and not all_gone([nodes["worker-1"]])
    assert acting.messages == [f"fault: kill {NON_RECIPIENT} at 0s, which is worker-2"]


def test_a_restart_starts_the_chosen_node_again(supervisor: Supervisor) -> None:
    nodes = start(supervisor, "worker-1", "worker-2")
    acting = Acting(supervisor, {"worker-1": 0.0, "worker-2": 9.0}, f"kill {NON_RECIPIENT} for 10ms at 0s")
    await_true(lambda: acting.records[0].restarted_ns is not None and acting.records[0].ended_ns is not None)
    (record,) = acting.faults.end()
    assert (record.role, record.took_effect) == ("worker-1", True)
    assert all_gone([nodes["worker-1"]]) and supervisor.identities("worker-1")
    assert acting.faults.killed() == set()


def test_two_faults_take_two_nodes_and_a_third_finds_none(supervisor: Supervisor) -> None:
    start(supervisor, "worker-1", "worker-2", "worker-3")
    received = {"worker-1": 9.0, "worker-2": 0.0, "worker-3": 0.0}
    texts = [f"kill {NON_RECIPIENT} at 0s", f"pause {NON_RECIPIENT} for 20s at 0s", f"kill {NON_RECIPIENT} at 0ms"]
    acting = Acting(supervisor, received, *texts)
    await_true(lambda: sum(record.took_effect for record in acting.records) == 2)
    await_true(lambda: any("every node that was left" in str(record.why_not) for record in acting.records))
    records = acting.faults.end()
    assert {record.role for record in records} == {"worker-2", "worker-3", NON_RECIPIENT}
    (without,) = (record for record in records if not record.took_effect)
    assert without.acted_ns is None and without.role == NON_RECIPIENT


def test_a_node_that_has_ended_is_not_chosen(supervisor: Supervisor) -> None:
    start(supervisor, "worker-1", "worker-3")
    received = {"worker-1": 9.0, "worker-2": 0.0, "worker-3": 0.0}
    (record,) = Acting(supervisor, received, f"kill {NON_RECIPIENT} at 0s").await_done()
    assert record.role == "worker-3"


@pytest.mark.parametrize(
    ("received", "says"),
    [
        ({}, "no node had read anything"),
        ({"worker-1": 0.0, "worker-2": 0.0}, "no node had read anything"),
        ({"worker-1": 5.0, "worker-2": 4.0}, "every node that was left had read (of 2, 2 read)"),
    ],
)
def test_without_such_a_node_the_fault_has_no_effect(
    supervisor: Supervisor, received: dict[str, float], says: str
) -> None:
    nodes = start(supervisor, "worker-1", "worker-2")
    (record,) = Acting(supervisor, received, f"kill {NON_RECIPIENT} at 0s").await_done()
    assert (record.took_effect, record.acted_ns) == (False, None)
    assert says in str(record.why_not)
    assert not all_gone(list(nodes.values()))
