"""Whether the latency had settled: one judgement, and a sentence that agrees with it."""

from __future__ import annotations

import re

import numpy as np
import pytest

from streamgauge.evaluate import steadiness
from streamgauge.evaluate.metrics.trend import Series


def series(values: np.ndarray) -> Series:
    return Series.of(values.tolist(), range(len(values)))


def test_a_latency_that_falls_is_drifting() -> None:
    """From 167 to 98 ms in 30 s, as a cold engine does it."""
    noise = np.random.default_rng(1).normal(0, 4, 30)
    judgement = steadiness.judge(series(np.linspace(167, 98, 30) + noise))
    assert judgement.state == "drifting"
    assert judgement.sentence.startswith("the median latency fell by 5")
    assert judgement.sentence.endswith("the run had not settled")


def test_a_small_change_is_told_and_does_not_matter() -> None:
    judgement = steadiness.judge(series(np.linspace(100, 110, 30)))
    assert judgement.state == "steady"
    assert judgement.sentence.startswith("the median latency rose by 10 % of its level over the measured interval")
    assert judgement.sentence.endswith("within the limit of 25 %")


def test_noise_is_no_drift() -> None:
    judgement = steadiness.judge(series(100 + np.random.default_rng(2).normal(0, 10, 30)))
    assert (judgement.state, judgement.sentence[:31]) == ("steady", "no drift of the median latency:")


def test_noise_that_could_hide_a_drift_is_said() -> None:
    judgement = steadiness.judge(series(np.linspace(100, 160, 30) + np.random.default_rng(2).normal(0, 60, 30)))
    assert judgement.state == "steady"
    assert "the run was too short to rule it out" in judgement.sentence


def test_a_large_change_that_is_not_certain_is_undecided() -> None:
    judgement = steadiness.judge(series(100 + np.random.default_rng(3).normal(0, 40, 30)))
    assert judgement.state is None
    assert judgement.sentence.startswith("whether the run had settled is undecided: the median latency rose by ")


def test_less_than_the_stamps_resolve_is_no_drift() -> None:
    judgement = steadiness.judge(series(np.array([1.0] * 15 + [2.0] * 15)))
    assert judgement.state == "steady"


def test_too_short() -> None:
    judgement = steadiness.judge(series(np.array([100.0, 200.0, 300.0, 400.0])))
    assert (judgement.state, "only 4 whole seconds" in judgement.sentence) == ("steady", True)


def test_a_latency_below_the_stamps_resolution_has_no_absurd_percentage() -> None:
    judgement = steadiness.judge(series(np.array([0.0, 3.0] * 10)))
    assert judgement.state == "steady"
    assert max(abs(int(figure)) for figure in re.findall(r"([+-]?\d+) %", judgement.sentence)) < 1000


@pytest.mark.parametrize("block", range(10))
def test_state_sentence_and_trend_agree(block: int) -> None:
    """On a thousand series: level, rising, falling, with steps, with memory, short and long."""
    states = set()
    for seed in range(100 * block, 100 * (block + 1)):
        random = np.random.default_rng(seed)
        length = int(random.integers(5, 120))
        level = random.choice([2.0, 50.0, 200.0, 3000.0])
        trend = random.choice([0.0, 0.0, 0.1, 0.3, 1.0, -0.1, -0.3, -0.6]) * np.linspace(0, 1, length)
        step = random.choice([0.0, 0.0, 0.5]) * (np.arange(length) > length / 2)
        medians = series(level * np.maximum(1 + trend + step + random.normal(0, random.uniform(0.01, 0.3), length), 0))
        slope, judgement = medians.slope(), steadiness.judge(medians)
        states.add(judgement.state)
        assert slope is not None
        reports_drift = "had not settled" in judgement.sentence
        assert reports_drift is (judgement.state == "drifting")
        if judgement.state == "drifting":
            direction = {"rose": 1, "fell": -1}[re.findall(r"rose|fell", judgement.sentence)[0]]
            assert slope.per_s * direction > 0
            assert slope.low * direction > 0 and slope.high * direction > 0
        if "no drift" in judgement.sentence:
            assert slope.low <= 0 <= slope.high
        if judgement.state == "steady" and judgement.sentence.startswith("the median latency"):
            assert not slope.low <= 0 <= slope.high
        level_ms, change_ms = float(np.median(medians.values)), abs(slope.per_s) * length
        near_ms = 0.0 if slope.low <= 0 <= slope.high else min(abs(slope.low), abs(slope.high)) * length
        assert (judgement.state == "steady") is (change_ms <= max(0.25 * level_ms, 2.0))
        assert judgement.state is not None or near_ms <= 0.1 * level_ms
    assert states == {"steady", "drifting", None}
