"""Percentiles and what is made of them, by hand and against numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tallies import row, tally

from streamgauge.evaluate.metrics.latency import (
    Distribution,
    advised_warmup_s,
    distributions,
    medians_of_parts_ms,
    mostly_generator,
    p99_by_window,
    per_second,
    window_s,
)
from streamgauge.evaluate.summary import arrival_mean_ms


def of(*values: float) -> Distribution:
    return Distribution.of(np.array(values, np.float64), np.ones(len(values), np.int64))


@given(st.lists(st.integers(-1000, 100_000), min_size=1, max_size=300), st.sampled_from([500, 900, 990, 999]))
def test_percentiles_are_those_of_numpy(values: list[int], permille: int) -> None:
    percentile = of(*values).percentile(permille, above=0)
    assert percentile == pytest.approx(np.percentile(values, permille / 10), abs=1e-6)


def test_counted_samples_are_the_same_as_single_ones() -> None:
    counted = Distribution.of(np.array([5.0, 1.0, 5.0]), np.array([2, 4, 1]))
    assert counted.figures() == of(1, 1, 1, 1, 5, 5, 5).figures()
    assert (counted.count, counted.max, counted.mean) == (7, 5.0, pytest.approx(19 / 7))


@pytest.mark.parametrize(("name", "enough"), [("p50", 20), ("p90", 92), ("p99", 902), ("p999", 9002)])
def test_a_percentile_needs_ten_samples_above_it(name: str, enough: int) -> None:
    assert of(*range(enough)).figures()[name] is not None
    assert of(*range(enough - 1)).figures()[name] is None
    assert of(*range(enough - 1)).figures()["max"] == enough - 2


def test_no_samples() -> None:
    nothing = dict.fromkeys(("p50", "p90", "p99", "p999", "max", "mean"))
    assert of().figures() == {"count": 0, "missing": 0, **nothing}
    assert of().median is None


def test_latencies_of_the_measured_interval_only() -> None:
    by_kind = distributions(tally(row(total=7, latest=4, average=5.5), row(phase="tail"), row(fate="wrong")))
    assert {kind: d.values.tolist() for kind, d in by_kind.items()} == {
        "total": [7.0],
        "latest": [4.0],
        "average": [5.5],
        "generator_share": [3.0],
    }


def censored(values: list[float], bounds: list[float]) -> Distribution:
    ones = np.ones(len(values), np.int64), np.ones(len(bounds), np.int64)
    return Distribution.of(np.array(values, np.float64), ones[0], np.array(bounds, np.float64), ones[1])


def test_processing_time_is_known_where_the_transport_stamps_what_it_hands_over() -> None:
    rows = [row(total=900, latest=800, processing_time=10.0), row(total=1900, latest=1800, processing_time=12.0)]
    kinds = distributions(tally(*rows))
    assert kinds["processing_time"].values.tolist() == [10.0, 12.0]
    assert kinds["total"].values.tolist() == [900.0, 1900.0]
    assert "processing_time" not in distributions(tally(row(total=900, latest=800)))


def test_a_result_of_records_that_were_never_handed_over_has_no_processing_time() -> None:
    missing = row(fate="lost", total=5000, latest=4900)
    handed_and_lost = row(fate="lost", total=5000, latest=4900, processing_time=3000.0)
    kinds = distributions(tally(row(processing_time=10.0), missing, handed_and_lost))
    assert (kinds["processing_time"].count, kinds["processing_time"].missing, kinds["total"].missing) == (1, 1, 2)


def test_missing_results_are_longer_than_all_others() -> None:
    """1,000 results of 1 … 1,000 ms, 100 of which never came: the run ended after each had taken 5 s."""
    figures = censored([float(n) for n in range(1, 901)], [5000.0] * 100).figures()
    assert (figures["count"], figures["missing"]) == (900, 100)
    assert figures["p50"] == pytest.approx(500.5)
    assert figures["p90"] == pytest.approx(900.0), "just as many are missing as lie above it"
    assert (figures["p99"], figures["p99_at_least"]) == (None, 5000.0)
    assert (figures["max"], figures["max_at_least"]) == (None, 5000.0)
    assert (figures["mean"], figures["mean_at_least"]) == (None, pytest.approx((900 * 450.5 + 100 * 5000) / 1000))
    assert "p50_at_least" not in figures and "p90_at_least" not in figures


def test_one_more_missing_result_leaves_the_percentile_unknown() -> None:
    values = [float(n) for n in range(1, 900)]
    assert censored(values, [5000.0] * 99).percentile(900) is not None
    assert censored(values, [5000.0] * 100).percentile(900) is None


def test_the_lower_bound_of_a_result_that_was_due_late_is_short() -> None:
    """Results that were due just before the end had taken 1 ms then: the bound must not claim more."""
    figures = censored([100.0] * 80, [1.0] * 20).figures()
    assert (figures["p50"], figures["p90"], figures["p90_at_least"]) == (100.0, None, 100.0)
    assert censored([100.0] * 40, [1.0] * 60).figures()["p50_at_least"] == 1.0


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=200), st.lists(st.integers(0, 1000), max_size=50))
def test_a_lower_bound_never_exceeds_what_came_later(values: list[int], waits: list[int]) -> None:
    """Whatever the missing results would have taken in the end, the percentile is at least its bound."""
    bound = censored([float(v) for v in values], [float(w) for w in waits]).at_least().percentile(900, above=0)
    in_the_end = of(*values, *(wait + 17 * place for place, wait in enumerate(waits))).percentile(900, above=0)
    assert bound is not None and in_the_end is not None and bound <= in_the_end + 1e-9


def test_missing_results_of_a_run_and_of_each_second() -> None:
    came = [row(second=1, total=10, latest=8) for _ in range(30)]
    silent = [row(second=2, total=60_000, latest=59_998, fate=fate) for fate in ("unfinished", "lost") * 20]
    by_kind = distributions(tally(*came, *silent, row(phase="tail", fate="unfinished")))
    assert (by_kind["total"].count, by_kind["total"].missing) == (30, 40)
    assert by_kind["total"].figures()["p50_at_least"] == 60_000
    assert by_kind["latest"].figures()["p50_at_least"] == 59_998
    by_second = per_second(tally(*came, *silent), "total", 4)
    assert by_second["p50"] == [None, 10.0, None, None]
    assert by_second["max"] == [None, 10.0, None, None]


def test_medians_of_parts_have_none_where_nothing_was_expected() -> None:
    three_quarters = tally(*(row(part=part, total=part) for part in range(15)))
    assert medians_of_parts_ms(three_quarters, "total", 4) == [2.0, 7.0, 12.0, None]


def test_medians_of_fifths_of_what_was_measured() -> None:
    rows = [row(part=part, total=part) for part in range(20)]
    ignored = (row(part=0, total=900, phase="warmup"), row(part=19, total=900, phase="tail"), row(fate="wrong"))
    assert medians_of_parts_ms(tally(*rows, *ignored), "total", 5) == [1.5, 5.5, 9.5, 13.5, 17.5]


def test_percentiles_that_are_mostly_the_generators() -> None:
    total, share = of(*[10] * 200), of(*[5] * 190, *[6] * 10)
    assert mostly_generator(total, share) == []
    assert mostly_generator(total, of(*[5] * 100, *[6] * 100)) == ["p50", "p90"]


def test_series_by_the_second_of_the_anchor() -> None:
    rows = [row(second=1, total=n, phase="warmup") for n in range(20)] + [row(second=3, total=70)]
    series = per_second(tally(*rows), "total", 5)
    assert series["p50"] == [None, 9.5, None, None, None]
    assert series["max"] == [None, 19.0, None, 70.0, None]


def test_warmup_advice() -> None:
    cold = [900.0, 700.0, 500.0, 400.0, 300.0, 200.0, 150.0, 120.0, 110.0, 105.0]
    steady = [100.0, 101.0, 99.0, 100.0, 100.0] * 6
    assert advised_warmup_s([*cold, *steady], warmup_s=5) == 10
    assert advised_warmup_s([*cold, *steady], warmup_s=10) is None
    assert advised_warmup_s(steady, warmup_s=0) is None
    assert advised_warmup_s(cold, warmup_s=0) is None  # too short to tell


def test_a_window_has_enough_results_for_a_99th_percentile() -> None:
    rows = [row(second=n // 400, total=n % 400 + (1000 if n // 400 >= 16 else 0)) for n in range(400 * 20)]
    counted = tally(*rows)
    assert window_s(counted, 5, 16) == 3
    by_second = p99_by_window(counted, "total", 20, 5, 16, 3)
    assert len(by_second) == 20
    values = np.sort(np.tile(np.arange(400), 3))
    assert by_second[5] == pytest.approx(np.percentile(values, 99))
    assert by_second[5:8] == [by_second[5]] * 3
    assert by_second[0:2] == [None, None], "a window that is cut short has too few"
    assert by_second[11:16] == [by_second[11]] * 5, "the last one takes what is left over"
    assert by_second[15] is not None and by_second[15] < 400 < (by_second[16] or 0), "none reaches over the end"
    assert p99_by_window(counted, "total", 20, 5, 16, 1)[6] is None
    assert window_s(tally(row(second=0)), 0, 5) == 60
    assert p99_by_window(tally(row(second=0)), "total", 3, 0, 3, 60) == [None] * 3


def test_the_mean_over_records_is_not_known_where_some_have_no_result() -> None:
    """Three inputs that waited 10 ms, one that waited 30 ms: 15 ms. What did not come has waited longer than any."""
    known = (row(average=10.0, inputs=3), row(average=30.0))
    assert arrival_mean_ms(tally(*known)) == 15.0
    assert arrival_mean_ms(tally(*known, row(fate="unfinished"))) is None
