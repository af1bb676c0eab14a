"""Faults: what is understood and what is refused, and what they do to real processes."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from children import FAMILY, UNTIL_STDIN_ENDS, all_gone, await_true, identities, python
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.load.settings import Settings
from streamgauge.measure import faults
from streamgauge.measure.faults import parse
from streamgauge.measure.injection import FaultInjector
from streamgauge.measure.plan import Request, draw
from streamgauge.model import NS_PER_S, Fault, LoadPlan, Member, ProcessSpec, Ready, Scenario
from streamgauge.model.outcome import FaultRecord
from streamgauge.processes.journal import journals
from streamgauge.processes.supervisor import Supervisor
from streamgauge.studies import scenario as scenarios

SPECS = [
    ProcessSpec("broker-format", "broker", [], once=True),
    ProcessSpec("broker", "broker", []),
    ProcessSpec("proxy", "broker", []),
    ProcessSpec("engine-1", "engine", []),
    ProcessSpec("engine-2", "engine", [], part_of="driver"),
    ProcessSpec("watcher", "engine", [], watches=True),
    ProcessSpec("load", "load", []),
]


def scenario(*texts: str, measured_s: float = 30.0, **load: Any) -> Scenario:
    resolved = scenarios.resolve("ospbench/latency", engine="echo", changes={"measured_s": str(measured_s)})
    return replace(resolved, load=replace(resolved.load, **load), faults=tuple(parse(text) for text in texts))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("kill taskmanager-1 at 50%", Fault("kill", "taskmanager-1", 50.0, "%")),
        ("pause streams-2 for 5s at 20s", Fault("pause", "streams-2", 20.0, "s", 5.0)),
        ("  kill   worker-1  at 50 % ", Fault("kill", "worker-1", 50.0, "%")),
        ("pause broker for 500ms at 1m", Fault("pause", "broker", 60.0, "s", 0.5)),
        ("pause for for 5 s at 2.5 %", Fault("pause", "for", 2.5, "%", 5.0)),
        ("kill at at 7", Fault("kill", "at", 7.0, "s")),
        ("kill driver for 10s at 20s", Fault("kill", "driver", 20.0, "s", 10.0)),
        ("cut engine from broker for 5s at 20s", Fault("cut", "engine", 20.0, "s", 5.0)),
        ("cut from from broker for 5s at 20%", Fault("cut", "from", 20.0, "%", 5.0)),
        ("kill engine for 1s at 10s every 20s", Fault("kill", "engine", 10.0, "s", 1.0, 20.0)),
        ("pause engine for 1s at 10% every 1m", Fault("pause", "engine", 10.0, "%", 1.0, 60.0)),
        ("pause engine for 1s every 20s", Fault("pause", "engine", 20.0, "s", 1.0, 20.0)),
    ],
)
def test_what_is_understood(text: str, fault: Fault) -> None:
    assert parse(text) == fault


@given(
    st.builds(
        Fault,
        st.just("pause"),
        st.from_regex(r"[a-z]+(-[0-9]{1,2})?", fullmatch=True),
        st.integers(0, 10**7).map(lambda ms: ms / 1000),
        st.sampled_from(["%", "s"]),
        st.integers(1, 10**7).map(lambda ms: ms / 1000),
    ),
    st.sampled_from(["kill", "pause", "cut"]),
    st.integers(1, 10**6),
)
def test_a_fault_as_text_is_the_same_fault(fault: Fault, verb: Any, longer_s: int) -> None:
    for same in (replace(fault, verb=verb), replace(fault, verb=verb, every_s=round(fault.for_s + longer_s, 3))):
        assert parse(str(same)) == same
    assert parse(str(replace(fault, verb="kill", for_s=0.0))) == replace(fault, verb="kill", for_s=0.0)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "expected 'kill ROLE at MOMENT'"),
        ("kil engine-1 at 3s", "invalid --fault 'kil engine-1 at 3s'"),
        ("kill engine-1", "expected 'kill ROLE at MOMENT'"),
        ("kill at 3s", "expected 'kill ROLE at MOMENT'"),
        ("kill engine-1 for 0s at 3s", "more than 0s after `for`"),
        ("kill engine-1 from broker at 3s", "expected 'kill ROLE at MOMENT'"),
        ("cut engine-1 for 3s at 3s", "cut ROLE from broker for DURATION at MOMENT"),
        ("cut engine-1 from broker at 3s", "cut ROLE from broker for DURATION at MOMENT"),
        ("cut engine-1 from load for 3s at 3s", "cut ROLE from broker for DURATION at MOMENT"),
        ("pause engine-1 for 5s every 5 weeks", "expected a duration, such as 30s, 1m30s or 500ms, after `every`"),
        ("pause engine-1 for 5s every 4s", "at least 1s after `every`, and more than the 5s of the fault"),
        ("pause engine-1 for 5s every 5s", "more than the 5s of the fault"),
        ("pause engine-1 for 10ms every 20ms", "at least 1s after `every`"),
        ("pause engine-1 at 3s", "pause ROLE for DURATION at MOMENT"),
        ("pause engine-1 for long at 3s", "expected a duration, such as 30s, 1m30s or 500ms, after `for`"),
        ("kill engine-1 at -3s", "such as 50% or 20s"),
        ("kill engine-1 at 3s 4s", "such as 50% or 20s"),
        ("kill engine-1 at half", "such as 50% or 20s"),
        (f"kill engine-1 at {'9' * 400}s", "such as 50% or 20s"),
        ("pause engine-1 for 0.1ms at 3s", "in whole milliseconds: how long the pause lasts"),
        ("kill engine-1 for 1s every 1.0001s", "more than the 1s of the fault"),
    ],
)
def test_what_is_not_understood(text: str, says: str) -> None:
    with pytest.raises(UsageError) as refused:
        parse(text)
    assert says in refused.value.message()


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["kill engine at 3s"], "no process 'engine'\n  expected: one of broker, driver, engine-1, engine-2, load"),
        (["kill broker-format at 3s"], "one of broker, driver, engine-1"),
        (["kill watcher at 3s"], "one of broker, driver, engine-1, engine-2, load"),
        (["kill engine-1 at 30s"], "the measured interval is over"),
        (["kill engine-1 at 100%"], "before 30s, or below 100%"),
        (["pause engine-1 for 0s at 3s"], "more than 0s"),
        (["pause engine-1 for 21s at 9.5s"], "at most the 20.5s that remain"),
        (["pause engine-1 for 16s at 50%"], "at most the 15s that remain"),
        (["kill engine-1 at 3s", "pause engine-1 for 1s at 9s"], "none after a kill without `for`"),
        (["kill engine-1 for 5s at 10s", "pause engine-1 for 1s at 12s"], "conflict"),
        (["kill engine-1 for 5s at 27s"], "the kill does not fit into the measured interval"),
        (["kill load for 5s at 10s"], "a load worker cannot be started again"),
        (["cut broker from broker for 5s at 10s"], "one of driver, engine-1, engine-2, load"),
        (["kill driver at 10s", "pause engine-2 for 1s at 20s"], "conflict"),
        (["kill proxy at 10s"], "no process 'proxy'"),
        (["pause engine-1 for 5s at 10s", "kill engine-1 at 50%"], "conflict"),
        (["kill engine-1 every 5s"], "such as 'kill ROLE for 5s at 20s every 20s'"),
    ],
)
def test_what_cannot_be_meant_in_this_run(texts: list[str], says: str) -> None:
    with pytest.raises(UsageError) as refused:
        faults.check(scenario(*texts), SPECS)
    assert says in refused.value.message()


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["kill engine-1 at 0%", "kill engine-2 at 0s", "pause load for 30s at 0s", "kill broker at 29.9s"],
        ["pause engine-1 for 5s at 10s", "pause engine-1 for 5s at 16s", "kill engine-1 at 99%"],
        ["kill engine-1 for 5s at 2s every 6s", "cut engine-2 from broker for 1s every 2s", "kill broker for 1s at 9s"],
    ],
)
def test_what_can_be_meant(texts: list[str]) -> None:
    faults.check(scenario(*texts), SPECS)


def test_one_process_of_a_pair_cannot_be_started_again_alone() -> None:
    with pytest.raises(UsageError, match="engine-2 cannot be started again alone") as refused:
        faults.check(scenario("kill engine-2 for 2s at 3s"), SPECS)
    assert "--fault 'kill driver for 2s at 3s'" in refused.value.message()
    faults.check(scenario("kill driver for 2s at 3s"), SPECS)
    faults.check(scenario("kill engine-2 at 3s"), SPECS)


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["kill executor-1 every 6s"], None),
        (["kill executor-1 at 3s", "kill executor-1 at 4s", "kill worker-1 at 9s"], None),
        (["kill executor-1 at 3s", "pause executor-1 for 1s at 3s"], "conflict"),
        (["kill worker-1 at 3s", "kill executor-1 at 9s"], "worker-1 and executor-1 belong together"),
        (["kill worker-1 every 6s"], "cannot be killed twice"),
        (["kill executor-1 for 2s every 6s"], "worker-1 itself starts executor-1 again"),
    ],
)
def test_what_its_parent_starts_again_can_be_killed_again(texts: list[str], says: str | None) -> None:
    worker = ProcessSpec("worker-1", "engine", [], members=(Member("executor-1", "the.Executor"),))
    if says is None:
        faults.check(scenario(*texts), [*SPECS, worker])
        return
    with pytest.raises(UsageError, match=says):
        faults.check(scenario(*texts), [*SPECS, worker])


def test_a_load_without_a_schedule_has_no_moments() -> None:
    with pytest.raises(UsageError, match="shape unlimited takes no faults"):
        faults.check(scenario("kill engine-1 at 3s", shape="unlimited"), SPECS)


def test_the_load_of_a_pause_of_the_broker_must_fit_into_the_queue() -> None:
    paused = ["pause broker for 20s at 5s"]
    faults.check(scenario(*paused, rate_per_s=100_000), SPECS)
    with pytest.raises(UsageError, match="4,000,000 records"):
        faults.check(scenario(*paused, rate_per_s=200_000), SPECS)
    with pytest.raises(UsageError, match="cannot be away that long"):
        faults.check(scenario("pause broker for 61s at 5s", measured_s=100), SPECS)
    faults.check(scenario("pause engine-1 for 61s at 5s", measured_s=100, rate_per_s=200_000), SPECS)


def test_the_longest_pause_of_the_broker() -> None:
    asked = scenario("pause broker for 2s at 1s", "pause broker for 3s at 9s", "pause engine-1 for 9s at 9s")
    assert faults.longest_pause_s(asked, SPECS[:2]) == 3.0
    assert faults.longest_pause_s(scenario("kill broker at 3s"), SPECS[:2]) == 0.0
    assert faults.longest_pause_s(scenario("kill broker for 2s at 3s"), SPECS[:2]) == 2.0 + faults.RESTART_S


def test_the_clients_queue_has_room_for_the_longest_pause_of_the_broker(tmp_path: Path) -> None:
    drawn = (
        draw(Request(scenario(*texts), tmp_path / "out"), "run", tmp_path)
        for texts in ([], ["pause broker for 4.5s at 1s"], ["pause engine for 20s at 1s"])
    )
    settings = [Settings.read(written(plan.load[0], tmp_path)) for plan in drawn]
    assert [setting.pause_s for setting in settings] == [0, 5, 0]


@pytest.mark.parametrize(
    ("texts", "proxied"),
    [
        ([], set()),
        (["kill engine for 1s at 1s", "pause load for 1s at 1s"], set()),
        (["cut engine from broker for 1s at 1s"], {"engine"}),
        (["cut load from broker for 1s at 1s"], {"load"}),
        (["cut load from broker for 1s at 1s", "cut engine from broker for 1s at 3s"], {"engine", "load"}),
    ],
)
def test_only_what_is_cut_off_goes_through_the_proxy(texts: list[str], proxied: set[str], tmp_path: Path) -> None:
    plan = draw(Request(scenario(*texts), tmp_path / "out"), "run", tmp_path)
    used = {
        "engine": plan.job.endpoints["bootstrap"],
        "load": Settings.read(written(plan.load[0], tmp_path)).described["bootstrap"],
    }
    assert [spec.role for spec in plan.servers] == ["broker-format", "broker", *(["proxy"] if proxied else [])]
    assert bool(plan.proxy_port) is bool(proxied)
    through = f"127.0.0.1:{plan.proxy_port}"
    assert used == {group: through if group in proxied else plan.transport.address for group in used}
    assert plan.transport.describe()["bootstrap"] == plan.transport.address != through


def test_a_users_own_broker_cannot_be_cut_off(tmp_path: Path) -> None:
    cut = scenario("cut engine from broker for 1s at 3s")
    with pytest.raises(UsageError, match="only the broker that streamgauge starts") as refused:
        draw(Request(cut, tmp_path / "out", transport_address="127.0.0.1:9"), "run", tmp_path)
    assert "leave out --bootstrap" in refused.value.message()


def written(spec: ProcessSpec, folder: Path) -> Path:
    (text,) = spec.files.values()
    path = folder / "settings.json"
    path.write_text(text)
    return path


def test_a_run_is_not_even_laid_out_with_a_fault_that_cannot_be_meant(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="one of broker, engine, load"):
        draw(Request(scenario("kill engin at 3s"), tmp_path / "out"), "run", tmp_path)
    with pytest.raises(UsageError, match="one of engine, load"):
        draw(Request(scenario("kill kafka at 3s"), tmp_path / "out", transport_address="127.0.0.1:9"), "run", tmp_path)


@pytest.mark.parametrize(("at", "unit", "at_s"), [(50.0, "%", 15.0), (20.0, "s", 20.0), (0.0, "%", 0.0)])
def test_moments_count_from_the_start_of_the_measured_interval(at: float, unit: Any, at_s: float) -> None:
    assert Fault("kill", "engine", at, unit).at_s(LoadPlan(1, 7.0, 30.0, 1.0).measured_s) == at_s


@pytest.mark.parametrize(
    ("text", "moments"),
    [
        ("pause engine for 1s at 10s", ["at 10s"]),
        ("pause engine for 1s at 50%", ["at 50%"]),
        ("pause engine for 1s at 50% every 5s", ["at 15s", "at 20s", "at 25s"]),
        ("kill engine for 4s at 10s every 5s", ["at 10s", "at 15s", "at 20s", "at 25s"]),
        ("cut engine from broker for 6s at 0s every 12s", ["at 0s", "at 12s", "at 24s"]),
        ("cut engine from broker for 7s at 0s every 12s", ["at 0s", "at 12s"]),
        ("pause engine for 100ms at 29.9s every 1s", ["at 29.9s"]),
        ("pause engine for 100ms at 27.9s every 1s", ["at 27.9s", "at 28.9s", "at 29.9s"]),
    ],
)
def test_a_fault_repeats_as_long_as_it_fits_into_the_measured_interval(text: str, moments: list[str]) -> None:
    single = parse(text).occurrences(30.0)
    assert [str(one)[str(one).index("at ") :] for one in single] == moments
    assert {(one.verb, one.role, one.for_s, one.every_s) for one in single} == {
        (single[0].verb, "engine", single[0].for_s, 0.0)
    }
    assert all(parse(str(one)) == one for one in single)


class Acting:
    """Faults whose moments have just come, on the processes of a supervisor."""

    def __init__(self, supervisor: Supervisor, *texts: str, measured_s: float = 30.0, proxy_port: int = 0) -> None:
        self.messages: list[str] = []
        asked = scenario(*texts, measured_s=measured_s)
        self.faults = FaultInjector(asked, supervisor, self.messages.append, proxy_port)
        self.records: list[FaultRecord] = [record for _, record in self.faults._planned]
        self.start_ns = time.time_ns()
        self.faults.begin(self.start_ns)

    def await_ended(self) -> None:
        await_true(lambda: all(record.ended_ns is not None for record in self.records))

    def await_acted(self) -> None:
        await_true(lambda: all(record.took_effect for record in self.records))


def status(pid: int) -> str:
    return str(psutil.Process(pid).status())


def test_a_kill_ends_the_process_and_is_no_failure_of_it(supervisor: Supervisor) -> None:
    running = supervisor.start(python(UNTIL_STDIN_ENDS, "engine-1"))
    acting = Acting(supervisor, "kill engine-1 at 0s")
    acting.await_acted()
    (record,) = acting.faults.end()
    assert all_gone([running.identity])
    assert acting.faults.killed() == {"engine-1"}
    assert acting.messages == ["fault: kill engine-1 at 0s"]
    assert (record.fault, record.verb, record.role) == ("kill engine-1 at 0s", "kill", "engine-1")
    assert record.planned_ns == acting.start_ns
    assert record.planned_ns <= record.acted_ns <= record.ended_ns
    assert record.why_not is None
    supervisor.check()
    assert supervisor.ended() == []
    assert supervisor.processes() == []


def test_a_pause_stops_every_process_of_the_session_and_the_end_of_the_run_resumes_them(supervisor: Supervisor) -> None:
    supervisor.start(python(FAMILY + "sys.stdin.read()", "engine-1"))
    family = supervisor.wait_event("engine-1", "ready", 60)["pids"]
    acting = Acting(supervisor, "pause engine-1 for 20s at 0s")
    acting.await_acted()
    assert {status(pid) for pid in family} == {psutil.STATUS_STOPPED}
    (record,) = acting.faults.end()
    await_true(lambda: psutil.STATUS_STOPPED not in {status(pid) for pid in family})
    assert record.took_effect and record.acted_ns <= record.ended_ns
    assert acting.faults.killed() == set()
    assert not all_gone(identities(family))


def test_a_pause_ends_by_itself(supervisor: Supervisor) -> None:
    running = supervisor.start(python(UNTIL_STDIN_ENDS, "engine-1"))
    acting = Acting(supervisor, "pause engine-1 for 10ms at 0s")
    await_true(lambda: acting.records[0].ended_ns is not None)
    await_true(lambda: status(running.pid) != psutil.STATUS_STOPPED)
    (record,) = acting.faults.end()
    assert record.took_effect and record.ended_ns - record.acted_ns >= 0.01 * NS_PER_S


def test_faults_of_one_moment_do_not_wait_for_each_other(supervisor: Supervisor) -> None:
    held = supervisor.start(python(UNTIL_STDIN_ENDS, "engine-1"))
    ended = supervisor.start(python(UNTIL_STDIN_ENDS, "engine-2"))
    acting = Acting(supervisor, "pause engine-1 for 20s at 0s", "kill engine-2 at 0s")
    acting.await_acted()
    assert all_gone([ended.identity]) and status(held.pid) == psutil.STATUS_STOPPED
    assert [record.role for record in acting.faults.end()] == ["engine-1", "engine-2"]


def test_a_process_that_had_ended_by_itself(supervisor: Supervisor) -> None:
    running = supervisor.start(python("say('ready'); sys.exit(3)", "engine-1"))
    await_true(lambda: running.exit_code == 3)
    acting = Acting(supervisor, "kill engine-1 at 0s", "kill engine-2 at 0s")
    await_true(lambda: all("running" in str(record.why_not) for record in acting.records))
    of_dead, of_none = acting.faults.end()
    assert (of_dead.took_effect, of_dead.acted_ns) == (False, None)
    assert of_dead.why_not == "engine-1 was not running"
    assert of_none.why_not == "engine-2 was not running"
    assert [ended.exit_code for ended in supervisor.ended()] == [3]


def test_a_run_that_is_over_before_the_moment(supervisor: Supervisor) -> None:
    running = supervisor.start(python(UNTIL_STDIN_ENDS, "engine-1"))
    acting = Acting(supervisor, "kill engine-1 at 29s")
    (record,) = acting.faults.end()
    assert record == acting.faults.end()[0]
    assert not all_gone([running.identity])
    assert (record.took_effect, record.why_not) == (False, "the run was over before its moment")


def test_a_load_that_never_started(supervisor: Supervisor) -> None:
    (record,) = FaultInjector(scenario("kill engine-1 at 3s"), supervisor).end()
    assert (record.planned_ns, record.took_effect) == (None, False)


def test_a_killed_process_is_started_again(supervisor: Supervisor, logs: Path) -> None:
    events: list[tuple[str, str]] = []
    count = "print('start', file=sys.stderr); " + UNTIL_STDIN_ENDS
    first = supervisor.start(
        python(count, "engine-1"), on_event=lambda role, event: events.append((role, event["event"]))
    )
    acting = Acting(supervisor, "kill engine-1 for 10ms at 0s")
    await_true(lambda: acting.records[0].restarted_ns is not None and acting.records[0].ended_ns is not None)
    (record,) = acting.faults.end()
    assert record.took_effect and record.acted_ns + 0.01 * NS_PER_S <= record.restarted_ns <= record.ended_ns
    (second,) = supervisor.processes()
    assert all_gone([first.identity]) and second.identity != first.identity and second.spec == first.spec
    assert events == [("engine-1", "ready")] * 2
    assert (logs / "engine-1.log").read_text() == "start\n" * 2
    started = [line for line in journals()[0].read_text().splitlines() if '"started": "engine-1"' in line]
    assert f'"pid": {second.pid},' in started[1], "the guardian knows it"
    assert not acting.faults.is_restarting and acting.faults.killed() == set()
    supervisor.check()
    assert supervisor.ended() == []


def test_a_role_of_several_processes_is_killed_and_started_again_in_order(supervisor: Supervisor) -> None:
    order: list[str] = []
    specs = [python(UNTIL_STDIN_ENDS, role, part_of="driver") for role in ("jvm", "program")]
    old = supervisor.start_all(specs, on_event=lambda role, event: order.append(role))
    acting = Acting(supervisor, "kill driver for 10ms at 0s")
    await_true(lambda: len(order) == 4)
    acting.await_ended()
    assert all_gone([running.identity for running in old])
    assert order == ["jvm", "program"] * 2
    assert [running.role for running in supervisor.processes()] == ["jvm", "program"]


def test_after_a_restart_another_sign_may_show_that_a_process_is_usable(supervisor: Supervisor) -> None:
    supervisor.start(python("say('again'); sys.stdin.read()", ready=Ready(), ready_again=Ready("event", "again")))
    acting = Acting(supervisor, "kill engine for 10ms at 0s")
    await_true(lambda: acting.records[0].restarted_ns is not None and acting.records[0].ended_ns is not None)
    (running,) = supervisor.processes()
    assert running.has_event("again")


def test_every_repetition_is_a_fault_with_its_own_number(supervisor: Supervisor) -> None:
    supervisor.start(python(UNTIL_STDIN_ENDS, "engine-1"))
    acting = Acting(supervisor, "pause engine-1 for 10ms at 0s every 1s", "kill engine-1 at 29s", measured_s=1.5)
    assert [(record.number, record.fault) for record in acting.records[:2]] == [
        (1, "pause engine-1 for 0.01s at 0s"),
        (2, "pause engine-1 for 0.01s at 1s"),
    ]
    await_true(lambda: all(record.ended_ns is not None for record in acting.records[:2]))
    assert [record.took_effect for record in acting.faults.end()] == [True, True, False]


def test_a_restart_that_fails_is_reported_and_not_awaited(supervisor: Supervisor, tmp_path: Path) -> None:
    once = f"p = {str(tmp_path / 'made')!r}\nif os.path.exists(p): sys.exit(5)\nopen(p, 'w').close()\n"
    supervisor.start(python(once + UNTIL_STDIN_ENDS, "engine-1"))
    acting = Acting(supervisor, "kill engine-1 for 10ms at 0s")
    await_true(lambda: acting.faults.failed_restart is not None)
    failed = acting.faults.failed_restart
    assert (failed.role, failed.fault) == ("engine-1", "kill engine-1 for 0.01s at 0s")
    assert failed.problem.what == "engine-1 ended before it was usable" and "exit code 5" in str(failed.problem.got)
    assert acting.faults.end()[0].ended_ns is None
    assert [ended.exit_code for ended in supervisor.ended()] == [5]


def test_the_end_of_the_run_does_not_wait_for_a_restart(supervisor: Supervisor, tmp_path: Path) -> None:
    once = f"p = {str(tmp_path / 'made')!r}\nif os.path.exists(p): time.sleep(600)\nopen(p, 'w').close()\n"
    supervisor.start(python(once + UNTIL_STDIN_ENDS, "engine-1"))
    acting = Acting(supervisor, "kill engine-1 for 10ms at 0s")
    await_true(lambda: acting.records[0].restarted_ns is not None and bool(supervisor.processes()))
    assert acting.faults.is_restarting
    (record,) = acting.faults.end()
    assert record.ended_ns is None and acting.faults.failed_restart is None
    supervisor.stop_all()
    assert supervisor.processes() == []


def test_a_run_that_ends_before_a_restart_leaves_the_process_killed(supervisor: Supervisor) -> None:
    supervisor.start(python(UNTIL_STDIN_ENDS, "engine-1"))
    acting = Acting(supervisor, "kill engine-1 for 20s at 0s")
    acting.await_acted()
    (record,) = acting.faults.end()
    assert record.restarted_ns is None and record.ended_ns is not None
    assert supervisor.processes() == []
