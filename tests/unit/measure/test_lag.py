"""The lag of a running engine, averaged over time."""

from __future__ import annotations

import random
from itertools import count

import numpy as np
import pytest

from streamgauge.evaluate.metrics.trend import Series
from streamgauge.measure.lag import EVERY_S, JITTER, Lag, LagMeter, Lags, Look

RATE = 1000


def metered(looks: list[tuple[float, Look | None]]) -> LagMeter:
    clock = iter([at_s for at_s, look in looks if look is not None])
    answers = iter([look for _, look in looks])
    meter = LagMeter(lambda: next(answers), clock=lambda: next(clock))
    for _ in looks:
        meter.look()
    return meter


def test_each_look_speaks_for_the_time_since_the_one_before() -> None:
    """A lag of 10 for 0.1 s and of 40 for 0.3 s."""
    meter = metered([(0.0, (100, 100, None)), (0.1, (110, 100, None)), (0.4, (150, 110, None))])
    assert meter.take() == Lags(by_output=Lag(pytest.approx(32.5), 10.0))
    assert meter.take() == Lags(), "nobody has looked since"


def test_what_was_consumed_counts_apart() -> None:
    meter = metered([(0.0, (100, 0, 90)), (1.0, (200, 0, 150))])
    assert meter.take() == Lags(by_output=Lag(200.0, 200.0), by_consumed=Lag(50.0, 50.0))


def test_a_look_without_an_answer_is_left_out() -> None:
    meter = metered([(0.0, (100, 90, None)), (0.5, None), (1.0, (200, 180, None))])
    assert meter.take() == Lags(by_output=Lag(20.0, 20.0))


def test_when_so_many_were_first_seen_to_be_consumed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter((1, 2, 3))
    monkeypatch.setattr("time.time_ns", lambda: next(clock))
    meter = metered([(0.1 * place, (100, 0, consumed)) for place, consumed in enumerate((50, 90, 90, 100, 100))])
    assert [meter.consumed_since_ns(consumed) for consumed in (100, 90, None)] == [3, None, None]


def test_one_look_says_nothing_of_a_stretch() -> None:
    assert metered([(0.0, (100, 90, None))]).take() == Lags()


@pytest.mark.parametrize("period_s", [0.33, 0.98, 1.02, 1.97])
def test_no_beat_with_an_engine_that_publishes_about_once_a_second(period_s: float) -> None:
    noise = random.Random(1)
    now = 0.0

    def look() -> Look:
        return round(now * RATE), round(now // period_s * period_s * RATE), None

    meter = LagMeter(look, clock=lambda: now)
    means = []
    for second in count(1):
        while now < second:
            now += EVERY_S * noise.uniform(1 - JITTER, 1 + JITTER)
            meter.look()
        lag = meter.take().by_output
        assert lag is not None
        means.append(lag.mean / RATE)
        if second == 60:
            break
    slope = Series(np.arange(60), np.array(means)).slope()
    assert slope is not None and max(abs(slope.low), abs(slope.high)) < 0.01
