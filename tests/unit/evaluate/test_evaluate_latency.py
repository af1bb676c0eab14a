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
    is_drifting,
    medians_of_parts_ms,
    mostly_generator,
    per_second,
)


def of(*values: float) -> Distribution:
    return Distribution.of(np.array(values, np.float64), np.ones(len(values), np.int64))


@given(st.lists(st.integers(-1000, 100_000), min_size=1, max_size=300), st.sampled_from([500, 900, 990, 999]))
def test_percentiles_are_those_of_numpy(values: list[int], permille: int) -> None:
    found = of(*values).percentile(permille, above=0)
    assert found == pytest.approx(np.percentile(values, permille / 10), abs=1e-6)


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
    assert of().figures() == {"count": 0, **nothing}
    assert of().median is None


def test_latencies_of_the_measured_interval_only() -> None:
    found = distributions(tally(row(total=7, latest=4, average=5.5), row(phase="tail"), row(fate="wrong")))
    assert {kind: d.values.tolist() for kind, d in found.items()} == {
        "total": [7.0],
        "latest": [4.0],
        "average": [5.5],
        "generator_share": [3.0],
    }


@pytest.mark.parametrize(
    ("quarters", "drifts"),
    [
        ((100, 110, 120, 126), True),
        ((126, 120, 110, 94), True),
        ((100, 110, 120, 125), False),  # 25 % is the limit
        ((100, 120, 110, 200), False),  # not strictly
        ((100, 100, 120, 200), False),
    ],
)
def test_drift(quarters: tuple[int, ...], drifts: bool) -> None:
    rows = [row(part=part, total=quarters[part // 5], latest=1) for part in range(20)]
    assert is_drifting(medians_of_parts_ms(tally(*rows), "total", 4)) is drifts
    assert not is_drifting(medians_of_parts_ms(tally(*rows), "latest", 4))


def test_a_quarter_without_results_is_no_drift() -> None:
    three_quarters = tally(*(row(part=part, total=part) for part in range(15)))
    assert medians_of_parts_ms(three_quarters, "total", 4) == [2.0, 7.0, 12.0, None]
    assert not is_drifting(medians_of_parts_ms(three_quarters, "total", 4))


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
    found = per_second(tally(*rows), "total", 5)
    assert found["p50"] == [None, 9.5, None, None, None]
    assert found["max"] == [None, 19.0, None, 70.0, None]


def test_warmup_advice() -> None:
    cold = [900.0, 700.0, 500.0, 400.0, 300.0, 200.0, 150.0, 120.0, 110.0, 105.0]
    steady = [100.0, 101.0, 99.0, 100.0, 100.0] * 6
    assert advised_warmup_s([*cold, *steady], warmup_s=5) == 10
    assert advised_warmup_s([*cold, *steady], warmup_s=10) is None
    assert advised_warmup_s(steady, warmup_s=0) is None
    assert advised_warmup_s(cold, warmup_s=0) is None  # too short to tell
