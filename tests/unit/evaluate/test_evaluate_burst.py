"""Bursts, worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tallies import START_NS, row, tally
from written_runs import manifest

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import burst
from streamgauge.evaluate.metrics.burst import PeriodicBursts, SingleBurst
from streamgauge.evaluate.metrics.generator import Ledger
from streamgauge.evaluate.metrics.throughput import Stamps
from streamgauge.evaluate.tally import Tally
from streamgauge.model import NS_PER_MS, NS_PER_S, LoadPlan
from streamgauge.model.outcome import Outcome

NONE = np.zeros(0, np.int64)


def facts_of(plan: LoadPlan, **outcome: Any) -> tuple[Facts, Moments]:
    at_s = (0.0, plan.warmup_s, plan.warmup_s + plan.measured_s, plan.duration_s, plan.duration_s + 5)
    moments = Moments(*(START_NS + round(second * NS_PER_S) for second in at_s))
    return Facts(
        manifest=manifest(), outcome=Outcome.blank().with_changes(**outcome), plan=plan, streams=(), moments=moments
    ), moments


def sent(plan: LoadPlan, late_ms: dict[int, float] | None = None) -> Ledger:
    """All records in time but the last ones of some bursts, by number of the burst."""
    n_seq = np.arange(plan.records)
    late_ns = np.zeros(plan.records, np.int64)
    for number, ms in (late_ms or {}).items():
        segment = plan.bursts[number]
        late_ns[segment.first + segment.records - 1] = round(ms * NS_PER_MS)
    sent_ns = START_NS + plan.offsets_ns(n_seq) + late_ns
    return Ledger(n_seq, np.ones_like(n_seq), sent_ns, n_seq, sent_ns, np.zeros_like(n_seq))


def periodic(
    plan: LoadPlan, late_ms: dict[int, float] | None = None, medians_ms: dict[int, int] | None = None
) -> PeriodicBursts:
    """``medians_ms`` by second, 100 where nothing else is said; 25 results a second, 1100 in second 19."""
    known, moments = facts_of(plan)
    results = [
        row(second=second, total=(medians_ms or {}).get(second, 100), latest=1)
        for second in range(int(plan.duration_s))
        for _ in range(1100 if second == 19 else 25)
    ]
    stamps = Stamps(NONE, NONE, 0, NONE)
    bursts = burst.measure(known, moments, tally(*results), sent(plan, late_ms), stamps, "total")
    assert isinstance(bursts, PeriodicBursts)
    return bursts


EVERY_TEN = LoadPlan(
    100, 10.0, 30.0, 1.0, shape="periodic-burst", burst_records=400, burst_s=0.2, burst_every_s=10.0
)  # fmt: skip
"""Bursts begin at 9.8 s (warm-up), 19.8, 29.8 and 39.8 s; the ten seconds after the last one are not all measured."""


def test_latency_around_a_burst() -> None:
    medians_ms = {
        # Before the first: the median of four seconds is 115.
        15: 100, 16: 110, 17: 120, 18: 900,
        # The limit is 172.5: three seconds are elevated.
        19: 300, 20: 500, 21: 173, 22: 172, 23: 100,
        # Before the second 100, the limit 150: one second is elevated, the next one is not.
        29: 90, 33: 151, 34: 150,
    }  # fmt: skip
    first, second, last = periodic(EVERY_TEN, medians_ms=medians_ms).bursts
    assert (first.start_s, first.p50_before_ms, first.p50_peak_ms, first.elevated_s) == (19.8, 115.0, 500.0, 3)
    assert (second.start_s, second.p50_before_ms, second.p50_peak_ms, second.elevated_s) == (29.8, 100.0, 151.0, 1)
    assert (last.start_s, last.p50_before_ms, last.p50_peak_ms, last.elevated_s) == (39.8, None, None, None)
    # 25 results a second are too few for a p99; only the second of the first burst has more.
    assert [each.p99_peak_ms for each in (first, second, last)] == [300.0, None, None]
    figures = periodic(EVERY_TEN, medians_ms=medians_ms).figures()
    assert {name: figures.as_json()[name] for name in ("kind", "wide", "elevated_s", "p99_peak_ms")} == {
        "kind": "periodic", "wide": 0, "elevated_s": 2.0, "p99_peak_ms": 300.0
    }  # fmt: skip
    assert figures.bursts[0].as_json() == {
        "start_s": 19.8, "width_ms": 199.524, "wide": False, "p50_before_ms": 115.0, "p50_peak_ms": 500.0,
        "p99_peak_ms": 300.0, "elevated_s": 3,
    }  # fmt: skip


def test_the_width_of_a_burst_is_from_its_first_to_its_last_record() -> None:
    # 420 records within 200 ms: the last one is due 419/420 of that after the first.
    bursts = periodic(EVERY_TEN, {1: 60.0, 2: 0.0})
    assert [each.width_ms for each in bursts.bursts] == pytest.approx([259.52381, 199.52381, 199.52381], abs=1e-5)


ELEVEN_BURSTS = LoadPlan(
    100, 0.0, 11.0, 1.0, shape="periodic-burst", burst_records=100, burst_s=0.175, burst_every_s=1.0
)  # fmt: skip


def test_a_generator_too_slow_for_its_bursts_makes_the_run_invalid() -> None:
    due_ms = 175 * 116 / 117  # 117.5 records, rounded down and up in turn
    late_ms = 250.0 - due_ms
    two = periodic(ELEVEN_BURSTS, {0: late_ms + 1, 5: late_ms + 9, 7: late_ms - 2})
    assert [each.wide for each in two.bursts] == [number in (0, 5) for number in range(11)]
    assert two.reasons() == []
    assert two.warnings() == ["2 of 11 bursts took longer than 250 ms to send, the longest 259.0 ms"]
    three = periodic(ELEVEN_BURSTS, {0: late_ms + 1, 5: late_ms + 9, 7: late_ms + 2})
    assert three.figures().wide == 3
    assert three.reasons() == [
        "3 of 11 bursts took longer than 250 ms to send, the longest 259.0 ms; the limit is 20 % of them"
    ]
    assert three.warnings() == []


def test_a_burst_that_is_planned_to_be_wide_may_be() -> None:
    plan = LoadPlan(100, 0.0, 10.0, 1.0, shape="periodic-burst", burst_records=99, burst_s=1.0, burst_every_s=2.0)
    assert periodic(plan).wide_limit_ms == 1075.0
    assert periodic(plan).reasons() == []


BACKLOG = LoadPlan(100, 2.0, 8.0, 1.0, shape="single-burst", burst_records=5000, burst_s=2.0)
ENGINE_START_NS = START_NS + round(2.25 * NS_PER_S)


def single(results: Tally, *, first_output_ms: int | None, appended: int = 5000) -> SingleBurst:
    known, moments = facts_of(BACKLOG, engine_start_ns=ENGINE_START_NS)
    stamps = Stamps(NONE, NONE, 0, NONE, first_output_ms=first_output_ms, backlog_appended=appended)
    bursts = burst.measure(known, moments, results, Ledger.empty(), stamps, "total")
    assert isinstance(bursts, SingleBurst)
    return bursts


def at_ms(second: float) -> int:
    return START_NS // NS_PER_MS + round(1000 * second)


def test_first_output_and_catch_up_count_from_the_engines_start() -> None:
    results = tally(
        row(phase="warmup", in_burst=1, answered_ms=at_ms(4.0)),
        row(phase="warmup", in_burst=1, answered_ms=at_ms(6.5)),
        row(answered_ms=at_ms(9.0)),  # of the base rate: catching up does not wait for it
    )
    figures = single(results, first_output_ms=at_ms(3.5))
    assert figures.figures().as_json() == {
        "kind": "single",
        "records": 5000,
        "first_output_s": 1.25,
        "caught_up_s": 4.25,
    }
    assert figures.reasons() == []
    assert len(figures.warnings()) == 1, "that the latencies hold a wait"


@pytest.mark.parametrize("fate", ["lost", "unfinished", "wrong"])
def test_an_engine_that_leaves_some_of_the_backlog_has_not_caught_up(fate: str) -> None:
    results = tally(row(in_burst=1, answered_ms=at_ms(4.0)), row(in_burst=1, fate=fate, answered_ms=at_ms(4.0)))
    figures = single(results, first_output_ms=at_ms(3.5))
    assert (figures.first_output_s, figures.caught_up_s) == (1.25, None)
    assert "1 of the 2 results of the backlog had no right answer" in figures.warnings()[1]


def test_no_output_at_all() -> None:
    figures = single(tally(row(in_burst=1, fate="lost")), first_output_ms=None)
    assert (figures.first_output_s, figures.caught_up_s) == (None, None)


def test_a_backlog_that_was_not_there_makes_the_run_invalid() -> None:
    results = tally(row(in_burst=1, answered_ms=at_ms(4.0)))
    assert single(results, first_output_ms=at_ms(4.0), appended=4995).reasons() == []
    assert single(results, first_output_ms=at_ms(4.0), appended=4994).reasons() == [
        "the backlog was incomplete when the engine was started: 4994 of its 5000 records had been appended; "
        "the limit is 99.9 %"
    ]


def test_no_bursts_and_no_start_of_the_engine() -> None:
    nothing = Stamps(NONE, NONE, 0, NONE), "total"
    ledger = Ledger.empty()
    for plan in (LoadPlan(100, 1.0, 10.0, 1.0), BACKLOG):
        assert burst.measure(*facts_of(plan), tally(row()), ledger, *nothing) is None
