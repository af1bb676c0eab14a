"""What others can follow of a run while it goes on: made from what is sampled, and silent about what is not known."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.measure.lag import LagMeter
from streamgauge.measure.observer import Observer
from streamgauge.measure.plan import Request, RunPlan, draw
from streamgauge.measure.snapshot import Snapshot, Snapshots, WaitEstimate
from streamgauge.model import NS_PER_S
from streamgauge.model.outcome import Outcome
from streamgauge.model.samples import ResourceSample
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios

APPENDED = {"flow": 50, "speed": 50, "output": 60}
START_NS = 1_000 * NS_PER_S
RATE = {"rate_per_s": "400", "warmup_s": "10", "measured_s": "20"}
PRELOADED = {"shape": "preloaded", "records": "1000", "rate_per_s": "0", "warmup_s": "0", "measured_s": "0"}


class Followed:
    """A run whose clock the test sets; ``published`` are its snapshots."""

    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str = "echo", **changes: str) -> None:
        scenario = scenarios.resolve("ospbench/latency", engine=engine, changes=RATE | changes)
        self.plan: RunPlan = draw(
            Request(scenario, tmp_path / "run", transport_address="127.0.0.1:9"), "the-run", tmp_path / "work"
        )
        supervisor: Any = SimpleNamespace(processes=list)
        self.observer = Observer(self.plan, RunDir.create(tmp_path / "run"), supervisor, with_lag=False)
        self.outcome = Outcome.blank()
        self.published: list[Snapshot] = []
        self.snapshots = Snapshots(self.plan, self.observer, self.outcome, self.published.append)
        self.now_s = 0.0
        clock = SimpleNamespace(monotonic=lambda: self.now_s, time_ns=lambda: START_NS + round(self.now_s * NS_PER_S))
        monkeypatch.setattr("streamgauge.measure.snapshot.time", clock)

    def begin_load(self) -> None:
        self.outcome.engine_ready_ns = START_NS
        self.outcome.begin_load(START_NS, self.plan.request.scenario.load)

    def look(self, at_s: float, appended: dict[str, int] | None = None) -> Snapshot:
        self.now_s = at_s
        assert self.snapshots.look(appended) is appended
        return self.published[-1]

    def report(self, *, sent: int | None = None, consumed: int | None = None) -> None:
        if sent is not None:
            self.observer.progress.on_load_event("load-0", {"event": "progress", "sent": sent})
        if consumed is not None:
            self.observer.progress.on_engine_event("engine", {"event": "progress", "consumed": consumed})


@pytest.fixture
def followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Followed:
    return Followed(tmp_path, monkeypatch)


def test_at_the_beginning_only_its_name_is_known(followed: Followed) -> None:
    followed.snapshots.begin()
    assert followed.published == [Snapshot("the-run", "ospbench/latency", "echo", "starting")]
    assert followed.look(0.0, APPENDED).sent is None, "no load yet"


def test_each_total_is_that_of_the_last_look(followed: Followed) -> None:
    followed.begin_load()
    followed.report(sent=101, consumed=70)
    seen = followed.look(0.25, APPENDED)
    assert (seen.offered, seen.sent, seen.appended, seen.output, seen.lag) == (100, 101, 100, 60, 30)


def test_the_output_of_a_system_that_was_started_again_does_not_shrink(followed: Followed) -> None:
    followed.begin_load()
    assert followed.look(1.0, {"flow": 10, "speed": 10, "output": 9}).output == 9
    assert followed.look(2.0, {"flow": 10, "speed": 10, "output": 4}).output == 9


def test_what_is_not_known_is_none(followed: Followed) -> None:
    followed.begin_load()
    seen = followed.look(1.0, APPENDED)
    assert (seen.lag, seen.wait_s) == (None, None), "the engine has reported nothing"
    followed.report(sent=400, consumed=70)
    seen = followed.look(2.0, None)
    assert (seen.appended, seen.output, seen.lag, seen.wait_s) == (None, None, None, None), "no answer"
    assert seen.sent == 400


def test_a_clock_that_is_set_back_offers_nothing(followed: Followed) -> None:
    followed.begin_load()
    assert followed.look(-0.5, APPENDED).offered is None, "before the start"
    assert followed.look(2.0, APPENDED).offered == 800
    assert followed.look(1.0, APPENDED).offered is None, "a total never falls"
    assert followed.look(3.0, APPENDED).offered == 1200


def test_a_load_that_was_cut_short_offers_no_more(followed: Followed) -> None:
    followed.begin_load()
    followed.outcome.load_end_ns = START_NS + 5 * NS_PER_S
    assert followed.look(60.0, APPENDED).offered == 2000


def test_a_load_without_a_schedule_offers_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    followed = Followed(tmp_path, monkeypatch, shape="unlimited")
    followed.begin_load()
    assert followed.look(1.0, APPENDED).offered is None


def test_output_with_marks_of_commits_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    followed = Followed(tmp_path, monkeypatch, "flink", delivery="exactly-once")
    followed.begin_load()
    seen = followed.look(1.0, APPENDED)
    assert (seen.appended, seen.output) == (100, None)


def test_the_phases(followed: Followed) -> None:
    assert followed.look(0.0).phase == "starting"
    followed.begin_load()
    followed.outcome.engine_ready_ns = None
    assert followed.look(0.0).phase == "filling"
    followed.outcome.engine_ready_ns = START_NS
    load = followed.plan.request.scenario.load
    moments = (5.0, 15.0, load.warmup_s + load.measured_s + load.tail_s / 2)
    assert [followed.look(at_s).phase for at_s in moments] == ["warm-up", "measuring", "tail"]
    followed.observer.begin_drain()
    assert followed.look(40.0).phase == "draining"
    followed.snapshots.end()
    assert followed.published[-1].phase == "evaluating"


def test_preloaded_input_has_phases_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    followed = Followed(tmp_path, monkeypatch, **PRELOADED)
    followed.begin_load()
    assert followed.look(1.0).phase == "preloading"
    followed.observer.begin_drain()
    assert followed.look(2.0).phase == "processing"


def test_in_the_end_the_totals_are_what_counts(followed: Followed) -> None:
    followed.begin_load()
    followed.report(sent=100, consumed=90)
    followed.observer.resources = [ResourceSample(t_ns=1, role="engine", group="engine", cpu_s=1.0)]
    assert len(followed.look(1.0, APPENDED).resources) == 1
    followed.outcome.note_ends({"flow": {0: 30, 1: 21}, "speed": {0: 50}, "output": {0: 40, 1: 41}})
    followed.snapshots.end()
    last = followed.published[-1]
    assert (last.sent, last.appended, last.output, last.lag) == (100, 101, 81, 11)
    assert (last.wait_s, last.resources) == (None, ()), "the engine is gone"


def test_in_the_end_of_a_run_without_load_nothing_is_known(followed: Followed) -> None:
    followed.snapshots.end()
    assert followed.published == [Snapshot("the-run", "ospbench/latency", "echo", "evaluating")]


def test_the_transport_is_not_asked_again(followed: Followed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look at a run asks as often as without anybody who follows it: not at all, after the observer's sample."""
    monkeypatch.setattr(type(followed.plan.transport), "positions", lambda *_: pytest.fail("asked"))
    monkeypatch.setattr(type(followed.plan.transport), "ends", lambda *_: pytest.fail("asked"))
    monkeypatch.setattr(LagMeter, "take", lambda _: pytest.fail("asked"))
    followed.begin_load()
    followed.look(1.0, APPENDED)
    followed.snapshots.end()
    assert len(followed.published) == 2


def test_the_wait_is_the_lag_over_the_speed_of_the_last_seconds() -> None:
    wait = WaitEstimate(10.0)
    assert wait.look(0.0, 100, 0) is None, "no speed is known"
    assert wait.look(1.0, 100, 50) == pytest.approx(2.0)
    assert wait.look(2.0, 0, 200) == 0.0
    assert wait.look(4.0, 300, 200) == pytest.approx(300 / 50)
    assert wait.look(11.0, 300, 250) == pytest.approx(300 / 20), "from the second 1 on"
    assert wait.look(25.0, 300, 250) is None, "it has taken nothing for ten seconds"
    assert wait.look(26.0, None, None) is None
    assert wait.look(27.0, 300, 100) is None, "an engine that was restarted counts from its last commit"


def test_seconds_without_an_answer_do_not_count_as_speed() -> None:
    wait = WaitEstimate(10.0)
    wait.look(0.0, 10, 100)
    assert wait.look(1.0, None, 150) is None
    assert wait.look(2.0, 10, 200) == pytest.approx(10 / 50)
