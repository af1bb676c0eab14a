"""Repetitions against each other: intervals, the word that they allow, and how often the word is wrong."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from streamgauge.evaluate.comparison import (
    ratio,
    ratio_interval,
    resampled_interval,
    runs_needed,
    word,
)


def test_interval_of_the_median() -> None:
    """Of five runs a resampled median is the lowest or the highest value in more than 2.5 % of all cases."""
    values = [104.0, 100.0, 101.0, 103.0, 102.0]
    assert resampled_interval(values) == (100.0, 104.0)
    assert resampled_interval([7.0]) == (7.0, 7.0)


def test_the_same_seed_gives_the_same_interval() -> None:
    a, b = [100.0, 107.0, 111.0, 120.0, 131.0], [103.0, 108.0, 119.0, 122.0, 140.0]
    assert ratio_interval(a, b, seed=5) == ratio_interval(a, b, seed=5)
    assert resampled_interval(a, seed=5, level=0.5) == resampled_interval(a, seed=5, level=0.5)


def test_ratio_by_hand() -> None:
    assert ratio([250.0, 251.0, 400.0], [275.0, 276.1, 100.0]) == pytest.approx(275.0 / 251.0)


def test_runs_that_agree_are_known_to_the_stamps_resolution() -> None:
    low, high = ratio_interval([253.0] * 5, [278.0] * 5)
    assert (low, high) == (pytest.approx(277.5 / 253.5), pytest.approx(278.5 / 252.5))
    assert low < 1.1 < high
    assert word(low, high, 5) == "slower"


def test_a_latency_of_nothing_has_a_ratio() -> None:
    low, high = ratio_interval([0.0] * 3, [0.0] * 3)
    assert 0 < low < 1 < high < math.inf
    assert ratio([0.0], [0.0]) == 1.0


@pytest.mark.parametrize(
    ("low", "high", "runs", "expected"),
    [
        (1.051, 1.2, 5, "slower"),
        (1.05, 1.2, 5, "cannot tell"),
        (0.7, 0.949, 5, "faster"),
        (0.95, 1.05, 5, "same"),
        (0.94, 1.0, 5, "cannot tell"),
        (1.0, 1.06, 5, "cannot tell"),
        (1.051, 1.2, 2, "cannot tell"),
        (0.99, 1.01, 2, "cannot tell"),
        (1.051, 1.2, 3, "slower"),
    ],
)
def test_the_word(low: float, high: float, runs: int, expected: str) -> None:
    assert word(low, high, runs) == expected


def words(true_ratio: float, noise: float, pairs: int) -> Counter[str]:
    random = np.random.default_rng(20)
    counts: Counter[str] = Counter()
    for _ in range(pairs):
        a = (1000 * np.exp(random.normal(0, noise, 5))).tolist()
        b = (1000 * true_ratio * np.exp(random.normal(0, noise, 5))).tolist()
        counts[word(*ratio_interval(a, b), 5)] += 1
    return counts


@pytest.mark.parametrize("noise", [0.02, 0.05, 0.10])
def test_equal_engines_are_practically_never_told_apart(noise: float) -> None:
    counts = words(1.0, noise, pairs=200)
    assert counts["slower"] + counts["faster"] <= 0.02 * 200


def test_a_tenth_is_seen_through_little_noise() -> None:
    counts = words(1.1, 0.01, pairs=100)
    assert counts["slower"] >= 95
    assert not counts["faster"]


def test_how_many_runs_would_tell() -> None:
    a, b = [200.0, 210.0, 190.0, 205.0, 195.0], [230.0, 200.0, 210.0, 222.0, 215.0]
    needed = runs_needed(a, b)
    assert needed is not None
    assert needed > 5
    assert runs_needed([250.0], [300.0]) == 3
    assert runs_needed([4.0] * 5, [4.0] * 5) is None, "1 ms is more than 5 % of 4 ms"


def test_values_that_are_no_latencies_have_no_resolution() -> None:
    """Two and four cores, three searches each, without scatter."""
    a, b = [2.0, 2.0, 2.0], [4.0, 4.0, 4.0]
    assert ratio_interval(a, b, resolution=0) == (2.0, 2.0)
    assert ratio_interval(a, b)[0] == 1.4, "half a millisecond at either end"
    assert runs_needed([1000.0, 1100.0, 1050.0], [1000.0, 1110.0, 1060.0], resolution=0) is not None
