"""For how much of the time a system was available, and what grew."""

from __future__ import annotations

import pytest
from tallies import START_NS, facts

from streamgauge.evaluate import durability
from streamgauge.evaluate.durability import outages
from streamgauge.model import NS_PER_S
from streamgauge.model.samples import ResourceSample

INTERVAL_MS = (10_000.0, 110_000.0)


def found(gaps_ms: list[tuple[float, float]], last_ms: float | None = 111_900, **changes: object) -> durability.Outages:
    """Results every 100 ms from 0.1 s on, but for the gaps; the run is observed until 112 s."""
    values = {"observed_ms": (0.0, 112_000.0), "interval_ms": INTERVAL_MS, "limit_s": 5.0, "died": False, **changes}
    return outages(gaps_ms, None if last_ms is None else 100, last_ms, **values)  # type: ignore[arg-type]


def test_the_example_of_the_documentation() -> None:
    """docs/reference/measurement.md, *Durability*: 2.1 s without a result is no outage, 7 s are."""
    gaps_ms: list[tuple[float, float]] = [(29_900, 32_000), (40_000, 47_000)]
    shown = found(gaps_ms)
    assert (shown.lengths_s, shown.unavailable_s, shown.index) == ([7.0], 7.0, pytest.approx(0.93))
    died = found(gaps_ms, last_ms=108_000, died=True)
    assert (died.lengths_s, died.index) == ([7.0, 2.0], pytest.approx(0.91))


def test_a_silence_of_exactly_the_limit_is_no_outage() -> None:
    assert found([(40_000, 45_000)]).index == 1
    assert found([(40_000, 45_001)]).unavailable_s == pytest.approx(5.001)


def test_only_the_part_in_the_measured_interval_counts() -> None:
    assert found([(6_000, 12_000)]).lengths_s == [2.0]
    assert found([(1_000, 9_000)]).lengths_s == []
    assert found([], last_ms=104_000).lengths_s == [6.0]


def test_the_longest_time_between_results_need_not_be_an_outage() -> None:
    assert (found([(40_000, 44_900)]).longest_s, found([(40_000, 44_900)]).lengths_s) == (4.9, [])
    assert found([(6_000, 12_000), (20_000, 21_500)]).longest_s == 2.0
    assert found([]).longest_s == 0.0


def test_a_system_without_any_result_is_never_available() -> None:
    assert found([], last_ms=None).index == 0


def test_an_interval_that_was_not_observed_has_no_index() -> None:
    assert found([], interval_ms=(10_000.0, 10_000.0)).index is None


def _sample(second: float, rss_mb: float, heap_mb: float | None = None, gc_count: int | None = None) -> ResourceSample:
    return ResourceSample(
        t_ns=START_NS + round(second * NS_PER_S),
        role="engine",
        group="engine",
        rss_mb=rss_mb,
        heap_used_mb=heap_mb,
        gc_count=gc_count,
    )


def test_growth_is_by_hour() -> None:
    _, moments = facts()
    samples = [_sample(second, 500 + second / 60) for second in range(300)]
    trend = durability._growth_by_group(samples, moments)["engine"]
    assert trend is not None
    assert trend.per_hour == pytest.approx(60, abs=0.01)
    assert trend.low <= trend.per_hour <= trend.high


def test_growth_over_less_than_a_minute_is_not_known() -> None:
    _, moments = facts()
    assert durability._growth_by_group([_sample(second, 500) for second in range(59)], moments) == {"engine": None}


def test_the_heap_counts_right_after_a_collection() -> None:
    """It fills by 10 MB a second and is emptied every 10 seconds, each time to 1 MB more."""
    _, moments = facts()
    samples = [_sample(s, 500, heap_mb=100 + 10 * (s % 10) + s // 10, gc_count=s // 10) for s in range(200)]
    points = durability._heap_after_gc(samples, moments)
    assert points == [(float(10 * k), 100.0 + k) for k in range(1, 20)]
    trend = durability._trend(points)
    assert trend is not None and trend.per_hour == pytest.approx(360)
