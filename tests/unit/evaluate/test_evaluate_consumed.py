"""What is told by how much of the input an engine had consumed."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tallies import row, tally

from streamgauge.evaluate import verdict
from streamgauge.evaluate.facts import Moments
from streamgauge.evaluate.metrics import consumed, processing, resources, throughput
from streamgauge.evaluate.tally import Tally, answered_inputs, answered_until_ms
from streamgauge.model import NS_PER_MS, NS_PER_S, ResultKind
from streamgauge.model.outcome import Outcome
from streamgauge.model.samples import PositionsSample

START_NS = 1_767_225_600 * NS_PER_S


class Run(SimpleNamespace):
    """A run directory that holds these positions."""

    def samples(self, kind: type[PositionsSample]) -> list[PositionsSample]:
        assert kind is PositionsSample
        return list(self.positions)


def position(at_s: float, appended: int, consumed_records: int | None) -> PositionsSample:
    t_ns = START_NS + round(at_s * NS_PER_S)
    return PositionsSample(t_ns=t_ns, appended={"records": appended}, consumed=consumed_records)


@pytest.mark.parametrize(
    ("last", "drain", "expected"),
    [
        (100, "quiet", {"matched": 100, "lost": 0, "unfinished": 0}),
        (150, "quiet", {"matched": 100, "lost": 0, "unfinished": 0}),
        (99, "quiet", {"matched": 99, "lost": 1, "unfinished": 0}),
        (40, "deadline", {"matched": 40, "lost": 0, "unfinished": 60}),
        (None, "deadline", {"matched": 0, "lost": 0, "unfinished": 100}),
    ],
)
def test_without_results_everything_must_be_consumed(
    monkeypatch: pytest.MonkeyPatch, last: int | None, drain: str, expected: dict[str, int]
) -> None:
    monkeypatch.setattr(throughput, "rows_recorded", lambda run, facts: {"records": 100})
    run = Run(positions=[position(1, 100, 10), position(2, 100, last)] if last else [position(1, 100, None)])
    facts: Any = SimpleNamespace(outcome=SimpleNamespace(drain=drain))
    counts = consumed.results(run, facts)  # type: ignore[arg-type]
    assert {name: counts[name] for name in expected} == expected
    assert (counts["expected"], counts["wrong"], counts["unexpected"]) == (100, 0, 0)
    assert consumed.is_reported(run) is (last is not None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("levels", "silent_s", "fails"),
    [
        ([0, 100, 200, 300, 400, 500, 600], 0.0, False),  # slow, and still at work
        ([0, 500, 500, 500, 500, 500, 500], 5.0, True),
        ([0, 0, 0, 0, 0, 0, 0], 6.0, True),
        ([None, 500, 500, 500, None, 500, None], 4.0, True),
        ([None, None], None, True),
    ],
)
def test_without_results_silent_is_who_consumes_nothing(
    levels: list[int | None], silent_s: float | None, fails: bool
) -> None:
    """A slow one that was still consuming when the drain ended is overloaded; it has not failed."""
    samples = [position(second, 1000, level) for second, level in enumerate(levels)]
    assert consumed.silent_s(samples) == silent_s
    moments: Any = SimpleNamespace(load_start_ns=START_NS, drain_end_ns=START_NS + 60 * NS_PER_S)
    facts: Any = SimpleNamespace(moments=moments, quiet_s=3.0, outcome=SimpleNamespace(drain="deadline"))
    why = verdict.silence(facts, {"unfinished": 400, "expected": 1000}, None, silent_s)
    assert bool(why) == fails
    if silent_s:
        assert f"no input was consumed in the last {silent_s:.1f} s" in why[0]


def test_when_everything_was_consumed() -> None:
    positions = [position(1, 10, None), position(2, 10, 9), position(3, 10, 10), position(4, 10, 10)]
    assert consumed.consumed_all_ns(positions, 10) == START_NS + 3 * NS_PER_S
    assert consumed.consumed_all_ns(positions, 11) is None
    # A run that looks more often notes when it first saw so many: by the sample after, if that came in between.
    positions[3] = positions[3].with_changes(consumed_since_ns=START_NS + 5 * NS_PER_S // 2)
    assert consumed.consumed_all_ns(positions, 10) == START_NS + 5 * NS_PER_S // 2
    again = [*positions, position(5, 10, 6), position(6, 10, None), position(7, 10, 10), position(8, 10, 10)]
    assert consumed.consumed_all_ns(again, 10) == START_NS + 7 * NS_PER_S, "a failure made it read again"
    assert consumed.consumed_all_ns(again[:-2], 10) is None


START_MS = START_NS / NS_PER_MS


def seen(
    first_s: float | None, last_s: float | None, answered: int, consumed_s: float | None = None
) -> processing.Seen:
    moments_ms = (None if at is None else START_MS + 1000 * at for at in (first_s, last_s, consumed_s))
    first_ms, last_ms, consumed_ms = moments_ms
    return processing.Seen(first_ms, last_ms, answered, None, consumed_ms)


def preloaded(ready_s: int = 5, **more: Any) -> Any:
    outcome = Outcome.blank().with_changes(engine_start_ns=START_NS, engine_ready_ns=START_NS + ready_s * NS_PER_S)
    return SimpleNamespace(outcome=outcome.with_changes(**more), plan=SimpleNamespace(shape="preloaded"))


@pytest.fixture
def thousand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Records of 60 bytes, one appended each millisecond: those of the first seconds until some moment."""
    monkeypatch.setattr(processing, "input_size", lambda run, facts, until_ms: (1000, 60_000, until_ms or 0))


@pytest.mark.usefixtures("thousand")
def test_how_fast_what_was_there_was_processed() -> None:
    run, facts = Run(), preloaded()
    figures = processing.measure(run, facts, seen(6, 15, 1000, 16))  # type: ignore[arg-type]
    assert figures is not None
    assert figures.figures() == {
        "records": 1000,
        "bytes": 60_000,
        "startup_s": 5.0,
        "seconds": 10.0,
        "records_per_s": 100.0,
        "mb_per_s": pytest.approx(0.006),
        "generated_per_s": None,
        "served_per_s": None,
    }
    of_source = {
        "load_start_ns": START_NS - 8 * NS_PER_S,
        "load_end_ns": START_NS - 4 * NS_PER_S,
        "served_per_s": 900.0,
    }
    beside = processing.measure(run, preloaded(**of_source), seen(6, 15, 1000))  # type: ignore[arg-type]
    assert beside is not None and (beside.generated_per_s, beside.served_per_s) == (250.0, 900.0)
    # A result before it said that it was ready: it had begun by then.
    early = processing.measure(run, facts, seen(3, 13, 1000))  # type: ignore[arg-type]
    assert early is not None and early.seconds == 10.0
    unfinished = processing.measure(run, facts, seen(None, None, 0))  # type: ignore[arg-type]
    assert unfinished is not None and unfinished.figures()["records_per_s"] is None
    facts.outcome.engine_ready_ns = None
    assert processing.measure(run, facts, seen(None, None, 0)) is None  # type: ignore[arg-type]
    facts.plan.shape = "constant"
    assert processing.measure(run, facts, seen(None, None, 0)) is None  # type: ignore[arg-type]


def test_a_record_is_answered_when_it_has_a_result() -> None:
    """Not where the deadline of the drain came first: what was done until then would count for all records."""
    fates = {"matched": 5, "wrong": 2, "unfinished": 90, "lost": 1}
    assert answered_inputs(tally(*(row(fate=fate, inputs=count) for fate, count in fates.items()))) == 7


@pytest.mark.usefixtures("thousand")
@pytest.mark.parametrize(
    ("answered", "consumed_s", "seconds", "at_most", "warning"),
    [
        (1000, 30, 10.0, None, None),
        (999, 30, 25.0, 100.0, "within bounds: the engine reports late"),
        (999, 14, 10.0, 100.0, "within bounds"),
        (999, None, None, None, "not known"),
    ],
)
def test_records_without_a_result_are_processed_after_the_last_one(
    answered: int, consumed_s: int | None, seconds: float | None, at_most: float | None, warning: str | None
) -> None:
    figures = processing.measure(Run(), preloaded(), seen(6, 15, answered, consumed_s))  # type: ignore[arg-type]
    assert figures is not None and figures.seconds == seconds
    assert figures.figures().get("records_per_s_at_most") == at_most
    assert [warning in text for text in figures.warnings("broker")] == ([True] if warning else [])


@pytest.mark.usefixtures("thousand")
@pytest.mark.parametrize(("delay_ms", "at_most"), [(None, 100.0), (5000.0, 50.0), (20_000.0, 100.0)])
def test_an_engine_that_reports_soon_narrows_the_bounds(delay_ms: float | None, at_most: float) -> None:
    """All was known to be consumed after 25 s; the last result came after 10 s."""
    found = replace(seen(6, 15, 999, 30), delay_ms=delay_ms)
    figures = processing.measure(Run(), preloaded(), found)  # type: ignore[arg-type]
    assert figures is not None
    assert (figures.per_s, figures.figures()["records_per_s_at_most"]) == (40.0, at_most)


@pytest.mark.usefixtures("thousand")
@pytest.mark.parametrize(
    ("kept_s", "consumed_s", "seconds", "per_s"),
    [
        (1.0, 18, 10.0, 100.0),  # its last result is that of the last record
        (0.995, None, 10.0, 99.5),  # the last five were dropped: they are left out
        (0.5, 18, 13.0, 1000 / 13),  # half of the input came after the last record that it kept
    ],
)
def test_a_filter_is_done_with_its_last_result(
    kept_s: float, consumed_s: int | None, seconds: float, per_s: float
) -> None:
    """Not when the engine reports that all is consumed: Flink did so 2.6 s later."""
    found = processing.Seen(START_MS + 6500, START_MS + 15_000, 250, round(1000 * kept_s), None)
    if consumed_s is not None:
        found = replace(found, consumed_ms=START_MS + 1000 * consumed_s)
    figures = processing.measure(Run(), preloaded(), found)  # type: ignore[arg-type]
    assert figures is not None and figures.seconds == pytest.approx(seconds)
    assert figures.per_s == pytest.approx(per_s)
    assert bool(figures.warnings("broker")) is (kept_s == 0.5)


def test_what_shows_the_end() -> None:
    """How late an engine reports is not known in a run with a fault; what a filter keeps only of one."""
    run = Run(positions=[position(3, 10, 10)])
    stamps = SimpleNamespace(appended_per_second=np.array([4, 6]))
    figures: Any = SimpleNamespace(stamps=stamps, tally=tally(row(answered_ms=900, latest=200)))

    def shown(kind: ResultKind, faults: list[str]) -> processing.Seen:
        engine = SimpleNamespace(consumed_delay_s=1.5)
        workload, manifest = SimpleNamespace(kind=kind), SimpleNamespace(engine=engine)
        facts: Any = SimpleNamespace(workload=workload, manifest=manifest, faults=faults)
        return processing.Seen.of(run, facts, figures, 1.0, 2.0)  # type: ignore[arg-type]

    assert shown(ResultKind.FILTER, []) == processing.Seen(1.0, 2.0, 1, 700, START_MS + 3000, 1500.0)
    assert shown(ResultKind.RUNNING, ["kill"]) == processing.Seen(1.0, 2.0, 1, None, START_MS + 3000, None)


def test_until_when_a_filter_kept_records() -> None:
    """By hand: answered at 900 and 950 ms, 200 and 300 ms after the append."""
    rows = [row(answered_ms=900, latest=200), row(answered_ms=950, latest=300)]
    assert answered_until_ms(tally(*rows)) == 700
    for fate in ("wrong", "lost", "unfinished"):
        assert answered_until_ms(tally(*rows, row(fate=fate))) is None, "the missing one may be later"
    assert answered_until_ms(Tally.empty()) is None


@pytest.mark.parametrize(("served", "warns"), [(None, False), (130.0, False), (110.0, True)])
def test_a_transport_that_serves_hardly_faster_than_the_engine_takes(served: float | None, warns: bool) -> None:
    figures = processing.Processing(1000, 60_000, 5.0, 10.0, served_per_s=served)
    warnings = figures.warnings("broker")
    assert [str(warning) for warning in warnings] == warns * [
        "the broker served 110 records/s to a plain reader and the engine took 100/s: it may have waited for the broker"
    ]


def test_dropped_inputs_leave_the_backlog_when_they_are_consumed(monkeypatch: pytest.MonkeyPatch) -> None:
    moments = Moments(START_NS, START_NS, *(START_NS + second * NS_PER_S for second in (4, 4, 4)))
    run: Any = Run(positions=[position(0.9, 100, 60), position(1.9, 200, 200), position(2.9, 300, None)])
    facts: Any = SimpleNamespace(inputs=[SimpleNamespace(name="records")])
    kept: Any = SimpleNamespace(backlog=np.array([1.0, 2.0, 3.0, 0.0]), backlog_end=5)
    monkeypatch.setattr(consumed, "_with_backlog", lambda *parts: (parts[-3], parts[-2].tolist(), parts[-1]))
    # Three in four are dropped; forty were waiting in the first second.
    measured, backlog, end = consumed.with_dropped_inputs(run, facts, moments, kept, 0.25)  # type: ignore[misc]
    assert backlog == [1.0 + 0.75 * 40, 2.0, 3.0, 0.0]
    assert (measured.seconds.tolist(), measured.values.tolist()) == ([0, 1], [31.0, 2.0]), "the others are not known"
    assert end == 5


@pytest.mark.parametrize(
    ("shape", "last_output_s", "expected_s"),
    [("constant", 9.0, (1, 5)), ("preloaded", 9.0, (6, 9)), ("preloaded", None, (6, 12))],
)
def test_resources_are_those_of_the_time_in_which_the_engine_worked(
    shape: str, last_output_s: float | None, expected_s: tuple[int, int]
) -> None:
    """The load goes from 1 to 5 s, the engine is usable at 6 s, and the drain ends at 12 s."""
    at_ns = [START_NS + second * NS_PER_S for second in range(15)]
    moments = Moments(at_ns[1], at_ns[1], at_ns[5], at_ns[5], at_ns[12])
    outcome = SimpleNamespace(engine_ready_ns=at_ns[6])
    facts: Any = SimpleNamespace(plan=SimpleNamespace(shape=shape), outcome=outcome)
    last_ms = None if last_output_s is None else (START_NS + round(last_output_s * NS_PER_S)) // NS_PER_MS
    assert resources.working_ns(facts, moments, last_ms) == tuple(at_ns[second] for second in expected_s)
