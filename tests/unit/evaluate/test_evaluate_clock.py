"""Steps of the clock, and the broker's clock against the load worker's."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tallies import START_NS, facts

from streamgauge.evaluate.evaluation import _clock_reasons
from streamgauge.evaluate.metrics import clock
from streamgauge.evaluate.metrics.clock import Bound
from streamgauge.evaluate.metrics.generator import Ledger
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.model.manifest import LoadDescription
from streamgauge.model.samples import ClockSample


def samples(*offsets_ms: float, bracket_ns: int = 0, first_s: int = 0) -> list[ClockSample]:
    return [
        ClockSample(
            t_ns=START_NS + (first_s + second) * NS_PER_S + round(ms * NS_PER_MS),
            mono_ns=second * NS_PER_S,
            bracket_ns=bracket_ns,
        )
        for second, ms in enumerate(offsets_ms)
    ]


def test_steps() -> None:
    _, moments = facts()
    assert clock.largest_step_ms(samples(0, 0.1, 0.2), moments) == pytest.approx(0.1)
    assert clock.largest_step_ms(samples(0, 0, 6, 6), moments) == 6.0
    assert clock.largest_step_ms(samples(0, -6), moments) == 6.0
    assert clock.largest_step_ms(samples(0), moments) is None


def test_what_the_readings_uncertainty_explains_is_no_step() -> None:
    _, moments = facts()
    assert clock.largest_step_ms(samples(0, 6, bracket_ns=2 * NS_PER_MS), moments) == 4.0
    assert clock.largest_step_ms(samples(0, 1, bracket_ns=2 * NS_PER_MS), moments) == 0.0


def test_steps_outside_the_run_do_not_count() -> None:
    _, moments = facts()
    assert clock.largest_step_ms(samples(0, 50, first_s=-5), moments) is None
    assert clock.largest_step_ms(samples(0, 50, first_s=30), moments) is None


def test_bound_of_the_brokers_clock() -> None:
    ms = NS_PER_MS
    sent = np.array([0, 100, 200, 300]) * ms
    acked = np.array([0, 104, 206, 309]) * ms  # the first one was never acknowledged
    ledger = Ledger(np.arange(4), np.ones(4, np.int64), sent, np.arange(4), acked, np.zeros(4, np.int64))
    # 102 − 104 … 103 − 100; 203 − 206 … 204 − 200; the last one is not in the input.
    assert clock.transport_bound(ledger, np.array([50, 102, 203, -1])) == Bound(-2.0, 3.0)
    assert clock.transport_bound(ledger, np.full(4, -1)) is None


@pytest.mark.parametrize(
    ("low_ms", "high_ms", "agrees"),
    [(-3.0, 2.0, True), (1.0, 5.0, True), (1.1, 5.0, False), (-9.0, -1.0, True), (-9.0, -1.1, False)],
)
def test_clocks_agree_within_a_millisecond(low_ms: float, high_ms: float, agrees: bool) -> None:
    assert Bound(low_ms, high_ms).agrees is agrees


def test_clocks_of_load_workers_that_differ() -> None:
    """The second worker's clock is 20 ms behind: what it sent at 180 by its clock was stamped at 201."""
    ms = NS_PER_MS
    sent = np.array([100, 180]) * ms
    acked = np.array([102, 182]) * ms
    ledger = Ledger(np.arange(2), np.ones(2, np.int64), sent, np.arange(2), acked, np.zeros(2, np.int64))
    bound = clock.transport_bound(ledger, np.array([101, 201]))
    assert bound is not None and bound.apart_ms == 17.0  # at least 201 − 182, at most 102 − 100
    assert Bound(-2.0, 3.0).apart_ms == 0.0


@pytest.mark.parametrize(
    ("master", "low_ms", "invalid"),
    [("spark://load:7077", 7.1, True), ("", 7.1, False), ("spark://load:7077", 6.9, False)],
)
def test_load_workers_elsewhere_need_clocks_that_agree(master: str, low_ms: float, invalid: bool) -> None:
    """One bound is at least 7.1 ms, another at most 2 ms: more than 5 ms apart."""
    known, _ = facts()
    known = replace(known, manifest=known.manifest.with_changes(load=LoadDescription(master=master)))
    figures: Any = SimpleNamespace(clock_step_ms=0.0, transport_bound=Bound(low_ms, 2.0))
    assert bool(_clock_reasons(known, figures)) is invalid
