"""A run that is evaluated in slices is judged as if it had been evaluated whole."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from sliced import LOAD, SlicedRun

from attempts import ATTEMPTS, until_valid
from streamgauge import registry
from streamgauge.conformance.suite import Bench
from streamgauge.evaluate import evaluate, evaluate_without_spark
from streamgauge.measure.evaluation import evaluate_again
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.measure.runner import run_scenario
from streamgauge.model.samples import DiskSample
from streamgauge.model.summary import Summary
from streamgauge.report import write
from streamgauge.rundir import RunDir
from streamgauge.studies import scenario as scenarios

COUNTING = str(Path(__file__).with_name("counting_engine.py"))
SLICED = {"slice_s": "3", "warmup_s": "1", "measured_s": "10", "rate_per_s": "200", "quiet_s": "2"}
Change = Callable[[SlicedRun], None]


def _again(run: SlicedRun) -> None:
    """Results of the second slice come once more: two of them in the same slice, the others two slices later."""
    known = [one for one in run.results if one.word == "car"]
    early = [one for one in known if 3 <= (one.emitted_ms - known[0].emitted_ms) / 1000 < 5][:6]
    for one in early[:2]:
        run.add(one.word, one.n, 5.9)
    for one in early[2:]:
        run.add(one.word, one.n, 9.5)
    # So that the last result of the word is the largest again.
    run.add("car", known[-1].n, 14.0)


def _nonsense(run: SlicedRun) -> None:
    """A result without a number, one of a word that no record has, one far ahead; the right ones follow."""
    run.add("red", None, 4.2)
    run.add("house", 0, 5.0)
    run.add("nobody", 1, 6.0)
    run.add("blue", 100_000, 7.0)


def _last_is_wrong(run: SlicedRun) -> None:
    """The last result of a word is too large: its last contribution is wrong."""
    run.add("grün", 100_000, 16.0)


def _everything(run: SlicedRun) -> None:
    """A different mistake with each word."""
    _again(run)
    _nonsense(run)
    run.ahead("red", 30)


ORDINARY: dict[str, tuple[SlicedRun, Change | None]] = {
    "everything": (SlicedRun.of(lost=(60, 74, 170, 171, 390), pause_s=(4, 8)), _everything),
}
CASES: dict[str, tuple[SlicedRun, Change | None]] = {
    "right": (SlicedRun.of(), None),
    "published now and then": (SlicedRun.of(every=4), None),
    "lost": (SlicedRun.of(lost=(60, 74, 170, 171, 390)), None),
    "late": (SlicedRun.of(pause_s=(4, 10)), None),
    "late to the end": (SlicedRun.of(pause_s=(7, 14)), None),
    "again": (SlicedRun.of(), _again),
    "nonsense": (SlicedRun.of(), _nonsense),
    "one too many": (SlicedRun.of(), lambda run: run.ahead("red", 30)),
    "last is wrong": (SlicedRun.of(), _last_is_wrong),
    "state lost": (SlicedRun.of(words=1), lambda run: run.add("red", 3, 15.0)),
    "no result of a word": (
        SlicedRun.of(),
        lambda run: setattr(run, "results", [one for one in run.results if one.word != "blue"]),
    ),
}


@pytest.mark.parametrize("drain", ["quiet", pytest.param("deadline", marks=pytest.mark.full)])
def test_in_slices_as_whole(spark: Any, tmp_path: Path, drain: str) -> None:
    _compare(spark, tmp_path, "everything", drain)


@pytest.mark.full
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("drain", ["quiet", "deadline"])
def test_each_mistake_in_slices_as_whole(spark: Any, tmp_path: Path, name: str, drain: str) -> None:
    if name == "state lost" and drain == "deadline":
        pytest.skip("what a smaller last result no longer counts is called lost also in a run that was not done")
    _compare(spark, tmp_path, name, drain)


def _compare(spark: Any, tmp_path: Path, name: str, drain: str) -> None:
    run, change = {**ORDINARY, **CASES}[name]
    run = SlicedRun(3, list(run.records), list(run.results), drain)
    if change is not None:
        change(run)
    whole = run.evaluated_whole(spark, tmp_path / "whole")
    directory, sliced = run.evaluated_in_slices(spark, tmp_path / "sliced")
    assert len(directory.slices()) == 4
    assert sliced.results == whole.results
    if name == "everything":
        missing = "lost" if drain == "quiet" else "unfinished"
        assert {what for what in (missing, "duplicates", "unexpected", "matched") if whole.results[what]} == {
            missing,
            "duplicates",
            "unexpected",
            "matched",
        }
    assert sliced.verdict == whole.verdict
    assert sliced.reasons == whole.reasons
    assert sliced.rate_per_s == whole.rate_per_s
    if name not in ("last is wrong", "state lost"):
        # What is known to be wrong only in the end stays among the latencies of an earlier slice.
        assert sliced.latency_ms == whole.latency_ms
        assert sliced.backlog == whole.backlog
        seconds = [pq.read_table(tmp_path / one / "measures" / "seconds.parquet") for one in ("whole", "sliced")]
        for column in ("offered", "sent", "appended", "output", "late_max_ms", "backlog"):
            assert seconds[1].column(column).to_pylist() == seconds[0].column(column).to_pylist(), column
    if name == "right":
        for column in ("total_p50", "total_max", "latest_p99"):
            assert seconds[1].column(column).to_pylist() == seconds[0].column(column).to_pylist(), column


def test_a_run_without_its_last_slice_is_invalid_and_keeps_what_was_evaluated(spark: Any, tmp_path: Path) -> None:
    directory, summary = SlicedRun.of().evaluated_in_slices(spark, tmp_path / "run", last=False)
    assert summary.verdict == "INVALID"
    assert summary.durability is not None
    assert (summary.durability.slices, summary.durability.evaluated_s) == (3, 9.0)
    assert not summary.durability.complete
    assert summary.durability.index == 1, "what was not evaluated is no outage"
    assert summary.reasons[0] == "the run was evaluated only up to second 9 of 19"
    assert 0 < (summary.results["expected"] or 0) < LOAD.records
    # Rates are those of the time that was evaluated, and no second after it counts as one in which nothing waited.
    rates = summary.rate_per_s
    assert (rates.achieved, rates.appended) == pytest.approx((40, 40), rel=0.1)
    assert pq.read_table(directory.measures("seconds")).num_rows == 9
    assert evaluate(spark, directory).as_json() == summary.as_json()
    # As after a kill -9: nothing but the slices says how far the run came.
    directory.outcome_path.unlink()
    again = evaluate_again(directory, "local[*]", NullReporter())
    assert (again.results, again.interrupted) == (summary.results, True)
    assert again.durability is not None and again.durability.evaluated_s == 9.0


@pytest.mark.full
def test_a_run_that_is_interrupted_before_its_first_slice_has_a_summary_without_figures(tmp_path: Path) -> None:
    run = SlicedRun.of().without_slices(tmp_path / "run")
    summary = evaluate_without_spark(run)
    assert (summary.verdict, summary.interrupted) == ("INVALID", True)
    assert summary.results["matched"] == 0
    assert pq.read_table(run.measures("heatmap")).num_rows == 0
    write(run)


def test_nothing_that_was_evaluated_stays(spark: Any, tmp_path: Path) -> None:
    directory, _ = SlicedRun.of().evaluated_in_slices(spark, tmp_path / "run")
    assert not list(directory.path.glob("ledger/*"))
    assert not list(directory.path.glob("slices/*/recorded"))
    assert [one.parent.name for one in directory.path.glob("slices/*/carried")] == ["0004"]
    assert not (directory.slice_(4).path / "carried" / "keys").exists()


def _live(shared: Bench, engine: str, program: tuple[str, ...] = (), **changes: str) -> tuple[RunDir, Summary]:
    """On the shared broker, as on a user's own."""
    scenario = scenarios.resolve("streambench/durability", engine=engine, changes={**SLICED, **changes})

    def once(_: int) -> tuple[RunDir, Summary]:
        request = Request(scenario, shared.out(engine), transport_address=shared.transport_address, program=program)
        return run_scenario(request, NullReporter(), shared.evaluator)

    return until_valid(once, lambda done: done[1].verdict == "INVALID", ATTEMPTS)


def _single_word_in(records: range, tail_from: int) -> int:
    """A record of one word that comes once more in the tail: the loss shows at the last record of the word."""
    scenario = scenarios.resolve("streambench/durability", engine="command", changes=SLICED)
    values = (
        registry.dataset(scenario.workload, scenario.parameters, scenario.seed, scenario.load)
        .build(0, scenario.load.records)["records"]
        .values
    )
    words = [value.decode().split("\t")[1].split() for value in values]
    last = {word: n for n, of_record in enumerate(words) for word in of_record}
    return next(n for n in records if len(words[n]) == 1 and last[words[n][0]] >= tail_from)


@pytest.mark.full
def test_an_engine_that_loses_a_record_in_the_second_slice_fails_by_exactly_that(shared: Bench) -> None:
    """Of 200 a second, record 800 is due at 4 s; the tail begins with record 2200."""
    lost = _single_word_in(range(800, 1100), tail_from=2200)
    run, summary = _live(shared, "command", (sys.executable, COUNTING, str(lost)))
    assert summary.verdict == "FAILED"
    (reason,) = summary.reasons
    assert reason.startswith("1 of ") and "lost" in reason
    results = summary.results
    assert (results["lost"], results["wrong"], results["duplicates"], results["unexpected"]) == (1, 0, 0, 0)
    assert results["matched"] == (results["expected"] or 0) - 1
    found = summary.durability
    assert found is not None
    assert (found.failed_records, found.index, found.slices, found.complete) == (1, 1.0, 4, True)
    # Nothing that was evaluated is left, and nothing else has to be kept to look at it again.
    assert not list(run.path.glob("slices/*/recorded")) and not list(run.path.glob("ledger/*"))
    assert run.samples(DiskSample)
    assert evaluate_again(run, "local[1]", NullReporter()).as_json() == summary.as_json()
    assert "durability index" in run.report_path.read_text()


@pytest.mark.full
def test_a_real_engine_in_slices(shared: Bench) -> None:
    _, summary = _live(shared, "kafka-streams", measured_s="12")
    assert summary.verdict == "VALID", summary.reasons
    assert summary.durability is not None and summary.durability.failed_records == 0
