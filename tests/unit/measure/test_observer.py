"""What a run learns from each look at its streams, and when it counts as drained."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.errors import EnvironmentProblem
from streamgauge.measure.faults import parse as parse_fault
from streamgauge.measure.observer import Observer
from streamgauge.measure.plan import Request, draw
from streamgauge.model import Positions
from streamgauge.model.samples import BatchSample, ClockSample, MachineSample, PositionsSample
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios

FAULT = ("kill taskmanager-1 at 5s",)


class ScriptedTransport:
    """Answers each look with the next of these; None: it does not answer."""

    def __init__(self) -> None:
        self.answers: list[Positions | None] = []

    def positions(self, streams: object, group: str | None) -> Positions:
        answer = self.answers.pop(0)
        if answer is None:
            raise EnvironmentProblem("the broker does not answer")
        return answer


def holding(flow: int, speed: int, output: int, committed: int | None = None) -> Positions:
    appended = {"flow": flow, "speed": speed, "output": output}
    ends = {"flow": {0: flow - 1, 1: 1}, "speed": {0: speed, 1: 0}, "output": {0: output}}
    return Positions(appended, {} if committed is None else {"flow": {0: committed}}, ends)


class Watched:
    """An observer of a run of an engine that reports itself what it has consumed."""

    def __init__(self, out: Path, engine: str = "echo", *faults: str, **changes: str) -> None:
        resolved = scenarios.resolve("ospbench/latency", engine=engine, changes=changes)
        scenario = replace(resolved, quiet_s=0.0)
        scenario = replace(scenario, faults=tuple(parse_fault(fault) for fault in faults))
        plan = draw(Request(scenario, out, transport_address="127.0.0.1:9"), "run", out.parent / "work")
        self.transport = ScriptedTransport()
        self.run = RunDir.create(out)
        supervisor: Any = SimpleNamespace(processes=list)
        transport: Any = self.transport
        self.observer = Observer(replace(plan, transport=transport), self.run, supervisor, with_lag=False)

    def look(self, positions: Positions | None) -> Mapping[str, int] | None:
        self.transport.answers.append(positions)
        return self.observer.sample(measured_start_ns=None)

    def consume(self, records: int) -> None:
        self.observer.progress.on_engine_event("engine", {"event": "progress", "consumed": records})

    def is_quiet(self, positions: Positions, *, engine_lives: bool = True) -> bool:
        appended = self.look(positions)
        assert appended is not None
        return self.observer.is_quiet(appended, engine_lives=engine_lives)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "run")


def test_a_look_is_written_and_returned(watched: Watched) -> None:
    assert watched.look(holding(5, 6, 3)) == {"flow": 5, "speed": 6, "output": 3}
    watched.consume(9)
    watched.look(holding(7, 7, 8))
    lines = watched.run.samples(PositionsSample)
    assert [(line.appended["output"], line.consumed) for line in lines] == [(3, None), (8, 9)]
    assert len(watched.run.samples(MachineSample)) == len(watched.run.samples(ClockSample)) == 2


def test_what_is_committed_counts_where_the_engine_reports_nothing(watched: Watched) -> None:
    watched.look(holding(5, 6, 3, committed=4))
    assert watched.observer.progress.consumed == 4
    watched.consume(9)
    assert watched.observer.progress.consumed == 9


def test_the_lag_of_each_partition(watched: Watched) -> None:
    def lag() -> Mapping[str, Sequence[int]] | None:
        return watched.run.samples(PositionsSample)[-1].lag_by_partition

    watched.look(holding(5, 6, 3))
    assert lag() is None, "nothing was committed or reported"
    watched.look(holding(5, 6, 3, committed=3))
    assert lag() == {"flow": [1, 1], "speed": [6, 0]}
    offsets = {stream.address: {"0": 4} for stream in watched.observer._plan.inputs}
    watched.observer.progress.on_engine_event("engine", {"event": "progress", "consumed": 8, "offsets": offsets})
    watched.look(holding(5, 9, 3, committed=3))
    assert lag() == {"flow": [0, 1], "speed": [5, 0]}, "the engine's own word goes first"
    watched.look(holding(4, 9, 3))
    assert lag() == {"flow": [0, 1], "speed": [5, 0]}, "never negative"


def test_each_batch_is_written_once(watched: Watched) -> None:
    for batch in (7, 8):
        event = {"event": "batch", "batch": batch, "duration_ms": 120.5, "rows": 40}
        watched.observer.progress.on_engine_event("engine", event)
    watched.look(holding(5, 6, 3))
    watched.look(holding(5, 6, 3))
    written = [(batch.batch, batch.duration_ms, batch.rows) for batch in watched.run.samples(BatchSample)]
    assert written == [(7, 120.5, 40), (8, 120.5, 40)]


def test_a_transport_that_does_not_answer_is_no_position(watched: Watched) -> None:
    watched.look(holding(1, 1, 1))
    assert watched.look(None) is None
    assert len(watched.run.samples(PositionsSample)) == 1
    assert len(watched.run.samples(MachineSample)) == 2


def test_a_run_is_not_drained_while_its_engine_is_behind(watched: Watched) -> None:
    watched.consume(9)
    assert not watched.is_quiet(holding(5, 5, 9))
    assert watched.is_quiet(holding(5, 5, 9), engine_lives=False), "a dead engine does not catch up"
    watched.consume(10)
    assert watched.is_quiet(holding(5, 5, 10))


def test_a_run_is_not_drained_by_a_report_that_no_sample_holds(watched: Watched) -> None:
    watched.consume(9)
    appended = watched.look(holding(5, 5, 10))
    assert appended is not None
    watched.consume(10)
    assert not watched.observer.is_quiet(appended, engine_lives=True)
    assert watched.is_quiet(holding(5, 5, 10))
    assert watched.run.samples(PositionsSample)[-1].consumed == 10


def test_a_run_is_not_drained_while_the_transport_does_not_answer(watched: Watched) -> None:
    watched.consume(10)
    appended = watched.look(holding(5, 5, 10))
    assert appended is not None and watched.observer.is_quiet(appended, engine_lives=True)
    watched.look(None)
    assert not watched.observer.is_quiet(appended, engine_lives=True)


def test_the_live_view_shows_what_waits(watched: Watched) -> None:
    appended = watched.look(holding(50, 50, 60))
    assert appended is not None
    assert watched.observer.tick("measuring", 1.0, appended).lag is None
    watched.consume(70)
    tick = watched.observer.tick("measuring", 2.0, appended)
    assert (tick.phase, tick.elapsed_s, tick.lag, tick.output_per_s) == ("measuring", 2.0, 30, 0.0)


@pytest.mark.parametrize(("faults", "committed", "quiet"), [((), 6, True), (FAULT, 6, False), (FAULT, 11, True)])
def test_after_a_fault_only_what_is_committed_is_done(
    faults: tuple[str, ...], committed: int, quiet: bool, tmp_path: Path
) -> None:
    watched = Watched(tmp_path / "run", "flink", *faults)
    watched.consume(11)
    watched.look(holding(5, 6, 3, committed))
    assert watched.is_quiet(holding(5, 6, 3, committed)) is quiet


@pytest.mark.parametrize(("disturbed", "quiet_s"), [(False, 60.0), (True, 0.0)])
def test_an_outage_by_a_fault_is_no_pause_of_the_engine(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, disturbed: bool, quiet_s: float
) -> None:
    now_s = 100.0
    clock = SimpleNamespace(monotonic=lambda: now_s, time_ns=time.time_ns)
    monkeypatch.setattr("streamgauge.measure.observer.time", clock)
    for speed in (5, 6):
        watched.transport.answers.append(holding(5, speed, 5 + speed))
        watched.observer.sample(measured_start_ns=0, disturbed=disturbed)
        now_s += 20.0
    assert watched.observer.quiet_s == quiet_s


@pytest.mark.parametrize(
    ("engine", "faults", "changes", "short"),
    [
        ("spark", (), {"stage": "parse"}, True),
        ("spark", ("kill driver for 1s at 5s",), {"stage": "parse"}, False),
        ("spark", (), {"stage": "parse", "realtime": "true"}, False),
        ("spark", (), {"stage": "tumbling"}, False),  # its results come with a later batch
        ("flink", (), {"stage": "parse"}, False),
    ],
)
def test_a_finished_micro_batch_has_published_its_results(
    engine: str,
    faults: tuple[str, ...],
    changes: dict[str, str],
    short: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An engine that once paused for 20 s has consumed everything."""
    watched = Watched(tmp_path / "run", engine, *faults, **changes)
    now_s = 100.0
    clock = SimpleNamespace(monotonic=lambda: now_s, time_ns=time.time_ns)
    monkeypatch.setattr("streamgauge.measure.observer.time", clock)
    appended: Mapping[str, int] | None = None
    for speed in (5, 6):
        watched.consume(speed)
        watched.transport.answers.append(holding(5, speed, 5 + speed))
        appended = watched.observer.sample(measured_start_ns=0)
        now_s += 20.0
    assert appended is not None
    watched.observer.is_quiet(appended, engine_lives=True)
    assert watched.observer.quiet_s >= 60.0, "not everything was consumed"
    watched.consume(11)
    watched.transport.answers.append(holding(5, 6, 11))
    appended = watched.observer.sample(measured_start_ns=0)
    assert appended is not None
    watched.observer.is_quiet(appended, engine_lives=True)
    assert (watched.observer.quiet_s == 0.0) is short
