"""The rules for a sustained rate, on series whose answer is known."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest

from streamgauge.evaluate import sustained
from streamgauge.evaluate.metrics.trend import Series
from streamgauge.evaluate.sustained import Evidence, Finding
from streamgauge.notices import notice

Judge = Callable[[str | None, Evidence], Finding]
RATE = 400.0
SECONDS = 60


def evidence(total_ms: np.ndarray, backlog: np.ndarray | None = None) -> Evidence:
    """Of a series of medians, with the backlog that goes with it (Little's law) unless it is given."""
    records = RATE * total_ms / 1000 if backlog is None else backlog
    seconds = range(len(total_ms))
    series = Series.of(records, seconds)
    return Evidence(
        median_ms=float(np.median(total_ms)),
        medians=Series.of(total_ms.tolist(), seconds),
        backlog=series,
        waiting=Series(series.seconds, series.values / RATE),
        fifths_ms=[float(np.median(part)) if len(part) else None for part in np.array_split(total_ms, 5)],
        drained_s=1.0,
    )


def level(seconds: int = SECONDS) -> np.ndarray:
    return 200.0 + np.random.default_rng(5).normal(0, 20, seconds)


def stepping(seconds: int = SECONDS) -> np.ndarray:
    return level(seconds) + 300.0 * (np.arange(seconds) >= seconds // 2)


def outlying(seconds: int = SECONDS) -> np.ndarray:
    values = level(seconds)
    values[seconds // 2] = 5000.0
    return values


def sawtooth(seconds: int = SECONDS) -> np.ndarray:
    """Batches of 1.1 s, met a little later in each second."""
    return 1100.0 * (1 + np.arange(seconds) / 1.1 % 1)


def falling_behind(share: float, seconds: int = SECONDS) -> np.ndarray:
    return level(seconds) + 1000 * share * np.arange(seconds)


@pytest.mark.parametrize("rule", ["slope", "sustainable"])
def test_only_drift_is_overload(rule: str) -> None:
    for healthy in (level(), outlying(), falling_behind(-0.02), falling_behind(0.002)):
        assert sustained.apply(rule, evidence(healthy)) == Finding(True)
    for share in (0.02, 0.05, 0.5):
        finding = sustained.apply(rule, evidence(falling_behind(share)))
        assert finding.held is False
        assert finding.why.startswith("overloaded: ")


@pytest.mark.parametrize("rule", ["slope", "sustainable"])
@pytest.mark.parametrize("seconds", [20, 30, 60, 120])
def test_steps_and_sawteeth_are_never_overload(rule: str, seconds: int) -> None:
    for series in (stepping(seconds), sawtooth(seconds)):
        assert sustained.apply(rule, evidence(series)).held is not False


def test_a_large_step_fools_the_bound_alone() -> None:
    """Why either half has to rise as well."""
    before_and_after = evidence(200.0 + 40_000.0 * (np.arange(20) >= 10) + np.arange(20) % 2)
    whole = before_and_after.waiting.slope()
    assert whole is not None and whole.high >= sustained.SLOPE_SHARE
    assert sustained.slope(dataclasses.replace(before_and_after, median_ms=1.0)).held is None


def test_sustainable_looks_at_latency_and_queue() -> None:
    calm, rising = level(), falling_behind(0.05)
    only_queue = sustained.apply("sustainable", evidence(calm, RATE * rising / 1000))
    assert only_queue.held is False
    assert only_queue.why.startswith("overloaded: the backlog rose throughout, by 5.")
    assert only_queue.why.endswith("; the limit is 1.0 %")
    only_latency = sustained.apply("sustainable", evidence(rising, RATE * calm / 1000))
    assert only_latency.held is False
    assert only_latency.why.startswith("overloaded: the latency rose throughout, by 50.")
    assert only_latency.why.endswith("; the limit is 10.0 ms/s")


@pytest.mark.parametrize("until", [SECONDS // 3, SECONDS // 2])
def test_sustainable_that_came_to_rest(until: int) -> None:
    assert sustained.apply("sustainable", evidence(level() + 30.0 * np.minimum(np.arange(SECONDS), until))).held is True


def test_halves_save_steps_that_the_bound_alone_would_accuse() -> None:
    """Of noisy steps in runs of ten seconds, the shortest that have two halves."""
    by_bound = by_rule = 0
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(0, 40, 10)
        stepped = evidence(200.0 + noise + 300.0 * (np.arange(10) >= 5))
        trend = stepped.medians.slope()
        assert trend is not None
        by_bound += trend.low >= sustained.LATENCY_RISE_MS_PER_S
        by_rule += sustained.apply("sustainable", stepped).held is False
    assert 0 < by_rule < by_bound / 2


def test_sustainable_cannot_always_tell() -> None:
    noisy = 2000 + np.random.default_rng(3).normal(0, 500, 12)
    finding = sustained.apply("sustainable", evidence(noisy))
    assert finding.held is None
    assert "undecided: the latency may have risen, by" in finding.why
    assert finding.why.endswith("use a longer --for")
    short = sustained.apply("sustainable", evidence(level(4)))
    assert (short.held, "5 whole seconds are needed" in short.why) == (None, True)


NOT_APPLIED = (
    "the CPU limit of the rule ospbench was not applied: the engine shares its cores with transport and load",
)
GOOD = Evidence(100.0, fifths_ms=(100.0, 110.0, 109.0, 120.0, 130.0), drained_s=9.9)


def windowed(rise_ms_per_s: float = 0.0) -> Evidence:
    """30 s of windows every 4 s: few latencies, and a backlog only when a window has ended."""
    seconds = range(30)
    medians = [300.0 + (6 + rise_ms_per_s) * s + 80 * (-1) ** (s // 4) if s % 4 == 3 else None for s in seconds]
    waiting = np.where(np.arange(30) % 4 == 0, 0.3, 0.02)
    return Evidence(median_ms=300.0, medians=Series.of(medians, seconds), waiting=Series.of(waiting, seconds))


def queue(rise_share: float) -> Series:
    return Series.of(0.05 + rise_share * np.arange(30) + np.random.default_rng(4).normal(0, 0.002, 30), range(30))


def test_a_queue_at_rest_decides_where_windows_give_few_results() -> None:
    seldom = windowed()
    assert sustained.apply("sustainable", seldom).held is None, "by latency and backlog alone"
    assert sustained.apply("sustainable", dataclasses.replace(seldom, queued=queue(0.0))) == Finding(True)


def test_a_queue_that_grows_is_overload_whatever_the_latency() -> None:
    found = sustained.apply("sustainable", dataclasses.replace(windowed(), queued=queue(0.05)))
    assert (found.held, "unread input" in found.why) == (False, True)


def test_a_queue_at_rest_does_not_hide_results_that_come_later_and_later() -> None:
    """An engine that takes all records and keeps them in its own memory."""
    found = sustained.apply("sustainable", dataclasses.replace(windowed(rise_ms_per_s=50), queued=queue(0.0)))
    assert found.held is not True


def test_ospbench_holds() -> None:
    assert sustained.apply("ospbench", GOOD) == Finding(True, notes=NOT_APPLIED)
    own_cores = dataclasses.replace(GOOD, shared_cores=False, cpu_share=0.79)
    assert sustained.apply("ospbench", own_cores) == Finding(True)
    unknown = sustained.apply("ospbench", dataclasses.replace(GOOD, shared_cores=False))
    assert unknown.held is True
    assert unknown.notes[0].endswith("not applied: the engine's share of its cores is not known")


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"fifths_ms": (100.0, 101.0, 102.0, 103.0, 104.0)}, "rose from each fifth of the measured interval"),
        ({"median_ms": 10_000.0}, "the median latency is 10.0 s; the limit is 10 s"),
        ({"drained_s": 10.0}, "the last result came 10 s after the end of the load; the limit is 10 s"),
        ({"drained_s": None}, "results were still missing when the drain ended"),
        ({"shared_cores": False, "cpu_share": 0.8}, "the engine used 80 % of its cores; the limit is 80 %"),
        ({"median_ms": None}, "no result of the measured interval was produced"),
    ],
)
def test_each_limit_of_ospbench(change: dict[str, object], why: str) -> None:
    finding = sustained.apply("ospbench", dataclasses.replace(GOOD, **change))  # type: ignore[arg-type]
    assert finding.held is False
    assert finding.why.startswith("overloaded: ") and why in finding.why


def test_ospbench_tells_all_that_is_broken_and_what_it_lacks() -> None:
    both = dataclasses.replace(GOOD, median_ms=11_000.0, drained_s=None)
    assert sustained.apply("ospbench", both).why == (
        "overloaded: the median latency is 11.0 s; the limit is 10 s; results were still missing when the drain ended"
    )
    gap = dataclasses.replace(GOOD, fifths_ms=(1.0, 2.0, None, 3.0, 4.0))
    assert sustained.apply("ospbench", gap).held is None


@pytest.mark.parametrize(("growth", "held"), [(99.0, True), (100.0, False), (-500.0, True)])
def test_scalability_compares_the_first_and_the_last_half_minute(growth: float, held: bool) -> None:
    backlog = np.concatenate([np.full(30, 1000.0), np.full(20, 9000.0), np.full(30, 1000.0 + growth)])
    finding = sustained.apply("scalability", evidence(level(80), backlog))
    assert finding.held is held
    assert finding.notes == ()
    assert bool(finding.why) is not held


def test_scalability_needs_a_minute() -> None:
    short = sustained.apply("scalability", evidence(level(59)))
    assert (short.held, "60 whole seconds are needed" in short.why) == (None, True)


@pytest.mark.parametrize("judge", [sustained.apply, sustained.by_backlog])
@pytest.mark.parametrize(("step", "instead"), [(100.0, False), (101.0, True)])
def test_slope_decides_where_a_single_step_would(step: float, instead: bool, judge: Judge) -> None:
    """By hand: in the last half minute the backlog is 150 records higher, which at 400 records/s over 240 s is 0.2 %
    of the rate and sustained by ``slope``. Without latencies the rule is the same: it needs the backlog alone."""
    values = np.concatenate([np.full(210, 50.0), np.full(30, 200.0)])
    steps = dataclasses.replace(evidence(level(240), values), step_records=step)
    if judge is sustained.by_backlog:
        steps = dataclasses.replace(steps, median_ms=None)
    finding = judge("scalability", steps)
    assert finding.held is instead
    assert finding.notes == ((notice("lag-in-steps"),) if instead else ())
    assert sustained.decided_instead("scalability", finding.notes) == ("slope" if instead else None)
    assert sustained.decided_instead("slope", finding.notes) is None


def test_a_backlog_in_steps_that_grows_is_overload_all_the_same() -> None:
    steps = dataclasses.replace(evidence(falling_behind(0.05)), step_records=400.0)
    assert sustained.apply("scalability", steps).held is False
