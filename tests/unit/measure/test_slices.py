"""Where a run is cut into slices, what is removed after each, and which runs are refused."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge import stored
from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.measure import footprint, slices
from streamgauge.measure.faults import parse as parse_fault
from streamgauge.measure.slices import Slicing
from streamgauge.model import NS_PER_S, Stream
from streamgauge.model.outcome import Outcome
from streamgauge.model.slices import SliceBounds
from streamgauge.processes import proctable
from streamgauge.rundir import RunDir
from streamgauge.shapes import LoadPlan
from streamgauge.studies import scenario as scenarios

STREAMS = (Stream("records", "t.records", 2, "input"), Stream("output", "t.output", 1, "output"))
LOAD = LoadPlan(100, 1.0, 10.0, 1.0)


class Topics:
    """Ten records a second in each partition, since ``start_ms``; notes what is removed."""

    def __init__(self, start_ms: int) -> None:
        self.start_ms = start_ms
        self.removed: list[tuple[str, dict[int, int]]] = []

    def offsets_at(self, streams: Sequence[Stream], moment_ms: int) -> dict[str, dict[int, int]]:
        offset = (moment_ms - self.start_ms) // 100
        return {stream.name: dict.fromkeys(range(stream.partitions), offset) for stream in streams}

    def trim(self, stream: Stream, below: Mapping[int, int]) -> None:
        self.removed.append((stream.name, dict(below)))


class DisturbedTopics(Topics):
    """The first question has no answer, and the first slice cannot be removed."""

    def __init__(self, start_ms: int) -> None:
        super().__init__(start_ms)
        self.disturbed = ["offsets", "trim"]

    def _answer(self, question: str) -> None:
        if question in self.disturbed:
            self.disturbed.remove(question)
            raise EnvironmentProblem("no answer", got="timed out")

    def offsets_at(self, streams: Sequence[Stream], moment_ms: int) -> dict[str, dict[int, int]]:
        self._answer("offsets")
        return super().offsets_at(streams, moment_ms)

    def trim(self, stream: Stream, below: Mapping[int, int]) -> None:
        self._answer("trim")
        super().trim(stream, below)


class Evaluations:
    """An evaluator that notes what it is asked for, and fails at one slice."""

    def __init__(self, fails_at: int = 0) -> None:
        self.numbers: list[int] = []
        self.fails_at = fails_at
        self.abandoned = False
        self.asked = threading.Event()

    def evaluate_slice(self, run: RunDir, number: int, say: Any, warn: Any) -> None:
        self.asked.set()
        if number == self.fails_at:
            raise EnvironmentProblem("evaluate ended", got="exit code 137")
        self.numbers.append(number)

    def abandon(self) -> None:
        self.abandoned = True


def begun(
    tmp_path: Path, evaluator: Evaluations, ago_s: float, taken: Any = None, made: type[Topics] = Topics
) -> tuple[Slicing, Topics, Outcome]:
    """Slices of 3 s of a load that began that long ago; what is due is evaluated at once."""
    outcome = Outcome.blank()
    outcome.begin_load(time.time_ns() - round(ago_s * NS_PER_S), LOAD)
    assert outcome.load_start_ns is not None
    plan: Any = SimpleNamespace(request=SimpleNamespace(scenario=SimpleNamespace(slice_s=3)), streams=STREAMS)
    slicing = Slicing(plan, RunDir(tmp_path), evaluator, lambda: taken or {}, lambda text: None)  # type: ignore[arg-type]
    topics = made(outcome.load_start_ns // 1_000_000)
    slicing._clients = topics  # type: ignore[assignment]
    slicing.begin(outcome)
    return slicing, topics, outcome


def ended(outcome: Outcome, after_s: float) -> Outcome:
    assert outcome.load_start_ns is not None
    outcome.drain_end_ns = outcome.load_start_ns + round(after_s * NS_PER_S)
    outcome.note_ends({"records": {0: 120, 1: 121}, "output": {0: 119}})
    return outcome


def bounds(tmp_path: Path, number: int) -> SliceBounds:
    return stored.read(RunDir(tmp_path).slice_(number).slice_bounds_path, SliceBounds)


def test_a_run_is_cut_until_the_end_of_the_measured_interval(tmp_path: Path) -> None:
    """At 3, 6 and 9 s; the measured interval ends at 11 s, and what comes then is in the last slice."""
    evaluator = Evaluations()
    slicing, _, outcome = begun(tmp_path, evaluator, ago_s=100)
    slicing.finish(ended(outcome, 17), lambda text: None)
    assert slicing.problem is None
    assert evaluator.numbers == [1, 2, 3, 4]
    assert outcome.load_start_ns is not None
    start_ms = outcome.load_start_ns // 1_000_000
    cut = [bounds(tmp_path, number) for number in (1, 2, 3, 4)]
    assert [one.until_ms for one in cut] == [start_ms + 3000, start_ms + 6000, start_ms + 9000, None]
    assert [one.last for one in cut] == [False, False, False, True]
    assert [one.begins["records"] for one in cut] == [{"0": n, "1": n} for n in (0, 30, 60, 90)]
    assert cut[3].ends == {"records": {"0": 120, "1": 121}, "output": {"0": 119}}


def test_a_run_that_ended_early_has_no_slices_beyond_its_end(tmp_path: Path) -> None:
    """Its engine died after 4 s. What is left is evaluated after the run."""
    evaluator = Evaluations()
    slicing, _, outcome = begun(tmp_path, evaluator, ago_s=4)
    slicing.finish(ended(outcome, 4), lambda text: None)
    assert evaluator.numbers == [1, 2]
    assert bounds(tmp_path, 2).last


def test_of_an_input_only_what_the_engine_has_read_is_removed(tmp_path: Path) -> None:
    slicing, topics, outcome = begun(tmp_path, Evaluations(), ago_s=100, taken={"records": {0: 25}})
    slicing.finish(ended(outcome, 17), lambda text: None)
    assert topics.removed[:2] == [("records", {0: 25, 1: 0}), ("output", {0: 30})]
    assert topics.removed[-2:] == [("records", {0: 25, 1: 0}), ("output", {0: 90})]


def test_a_broker_that_does_not_answer_for_a_while_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "RETRY_S", 0.01)
    evaluator = Evaluations()
    slicing, topics, outcome = begun(tmp_path, evaluator, ago_s=100, made=DisturbedTopics)
    assert slicing._thread is not None
    slicing._thread.join()
    slicing.finish(ended(outcome, 17), lambda text: None)
    assert (slicing.problem, evaluator.numbers) == (None, [1, 2, 3, 4])
    assert topics.removed[1] == ("output", {0: 60}), "the second slice removes the first, too"
    assert any(text.startswith("the records of slice 1 could not be removed") for text in slicing.warnings)


def test_the_last_slices_wait_for_a_broker_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The patience does not end with the load."""
    monkeypatch.setattr(slices, "RETRY_S", 0.01)
    evaluator = Evaluations()
    slicing, _, outcome = begun(tmp_path, evaluator, ago_s=0, made=DisturbedTopics)
    slicing.finish(ended(outcome, 17), lambda text: None)
    assert (slicing.problem, evaluator.numbers) == (None, [1, 2, 3, 4])


def test_a_broker_that_stays_away_ends_the_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "PATIENCE_S", 0.0)
    slicing, _, outcome = begun(tmp_path, Evaluations(), ago_s=100, made=DisturbedTopics)
    slicing.finish(ended(outcome, 17), lambda text: None)
    assert slicing.problem == "no answer, timed out"


def test_an_evaluation_that_fails_ends_it_and_keeps_the_slices_before(tmp_path: Path) -> None:
    evaluator = Evaluations(fails_at=3)
    slicing, topics, outcome = begun(tmp_path, evaluator, ago_s=100)
    slicing.finish(ended(outcome, 17), lambda text: None)
    assert slicing.problem == "evaluate ended, exit code 137"
    assert evaluator.numbers == [1, 2]
    assert topics.removed[-1] == ("output", {0: 60}), "what was not evaluated is not removed"


def test_a_run_that_is_given_up_repeats_no_step(tmp_path: Path) -> None:
    evaluator = Evaluations()
    slicing, _, _ = begun(tmp_path, evaluator, ago_s=0)
    slicing.abandon()
    assert evaluator.abandoned


class BusyEvaluations(Evaluations):
    """Never done with the first slice, until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.release = threading.Event()

    def evaluate_slice(self, run: RunDir, number: int, say: Any, warn: Any) -> None:
        self.asked.set()
        self.release.wait(60)
        raise EnvironmentProblem("evaluate ended")


def test_an_interrupt_while_a_slice_is_awaited_gives_it_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The evaluator is stopped then, and would be started again for the slice that it did not finish."""

    def interrupt() -> None:
        raise KeyboardInterrupt

    evaluator = BusyEvaluations()
    slicing, _, outcome = begun(tmp_path, evaluator, ago_s=100)
    assert evaluator.asked.wait(60) and slicing._thread is not None
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(slicing._thread, "join", interrupt)
        slicing.finish(ended(outcome, 17), lambda text: None)
    assert evaluator.abandoned
    evaluator.release.set()
    slicing._thread.join()


def test_slices_that_wait_are_worth_a_warning(tmp_path: Path) -> None:
    evaluator = Evaluations()
    slicing, _, outcome = begun(tmp_path, evaluator, ago_s=11)
    assert evaluator.asked.wait(60)
    slicing.finish(ended(outcome, 11), lambda text: None)
    assert [text.partition(" s behind")[0] for text in slicing.warnings] == ["the evaluation is 2 slices of 3"]


def resolved(**changes: str) -> Any:
    return scenarios.resolve("streambench/durability", engine="kafka-streams", changes=changes)


def test_the_scenario_can_be_cut() -> None:
    assert resolved().slice_s == 60
    slices.check(resolved())


@pytest.mark.parametrize(
    ("scenario", "got"),
    [
        (resolved(shape="ramp", to_per_s="9"), "shape ramp"),
        (resolved(delivery="exactly-once"), "transactions"),
        (replace(resolved(), faults=(parse_fault("kill streams-1 at 3s"),)), "--fault 'kill streams-1 at 3s'"),
        (scenarios.resolve("streambench/latency", engine="echo", changes={"slice_s": "5"}), "workload"),
        (
            scenarios.resolve("streambench/latency", engine="flink", changes={"program": "statistics", "slice_s": "5"}),
            "workload",
        ),
    ],
)
def test_what_cannot_be_cut_is_refused(scenario: Any, got: str) -> None:
    with pytest.raises(UsageError) as refused:
        slices.check(scenario)
    assert got in str(refused.value.got)
    assert "slice_s=0" in str(refused.value.hint)


def test_a_long_run_is_sampled_less_often() -> None:
    assert footprint.sample_every_s(resolved(measured_s="600")) == 1
    assert footprint.sample_every_s(resolved(measured_s="172800")) == 24
    assert footprint.sample_every_s(resolved(measured_s="172800", slice_s="0")) == 1


def test_the_footprint_counts_files_on_disk(tmp_path: Path) -> None:
    run, work = RunDir(tmp_path / "run"), tmp_path / "work"
    (work / "broker").mkdir(parents=True)
    (work / "broker" / "log").write_bytes(b"x" * 3_000_000)
    run.path.mkdir()
    own, disk = footprint.footprint(1, run, work)
    assert (disk.run_mb, set(disk.work_mb)) == (0.0, {"broker"})
    assert 2.9 < disk.work_mb["broker"] < 3.2
    assert own.role == "streamgauge" and (own.rss_mb or 0) > 10


def test_own_memory_is_in_the_unit_of_the_other_processes(tmp_path: Path) -> None:
    own, _ = footprint.footprint(1, RunDir(tmp_path), tmp_path)
    stat = proctable.read(os.getpid())
    assert stat is not None and own.rss_mb == pytest.approx(stat.rss_mb, rel=0.02)
