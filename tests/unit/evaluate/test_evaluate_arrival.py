"""Whether the load arrived at the broker, on rates whose answer is known."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from tallies import START_NS, facts
from written_runs import manifest

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import arrival, generator
from streamgauge.evaluate.metrics.generator import Ledger
from streamgauge.evaluate.metrics.throughput import Stamps
from streamgauge.model import NS_PER_S
from streamgauge.model.outcome import FaultRecord, Outcome

RATE = 1000
MEASURED_S = 20.0


def generated(known: Facts, moments: Moments, slowed_by: float = 0.0) -> generator.Generator:
    """A slice every 10 ms; ``slowed_by`` is the share of its rate by which the generator falls behind."""
    first = np.arange(0, known.plan.records, RATE // 100)
    count = np.full(len(first), RATE // 100)
    sent_ns = START_NS + (known.plan.offsets_ns(first) * (1 + slowed_by)).astype(np.int64)
    none = np.zeros(len(first), np.int64)
    ledger = Ledger(first, count, sent_ns, first, none, none)
    return generator.measure(ledger, known, moments, None)


def measured(
    taken_share: float, slowed_by: float = 0.0, stalled: range = range(0), **known_as: Any
) -> arrival.Shortfall | None:
    """A broker that takes that share of the rate, and nothing in the seconds ``stalled``, which it makes up for."""
    known, moments = facts(rate_per_s=RATE, measured_s=MEASURED_S)
    known = dataclasses.replace(known, **known_as)
    seconds = np.arange(moments.seconds)
    level = np.minimum(RATE * taken_share * (seconds + 0.5), known.plan.records)
    level[stalled.start : stalled.stop] = RATE * stalled.start
    none = np.zeros(moments.seconds, np.int64)
    stamps = Stamps(none, none, 0, none, appended_level=level)
    return arrival.measure(known, moments, generated(known, moments, slowed_by), stamps)


def test_a_broker_that_takes_everything() -> None:
    shortfall = measured(1.0)
    assert shortfall is not None
    assert (shortfall.reasons(), shortfall.warnings()) == ([], [])


@pytest.mark.parametrize("share", [0.98, 0.5])
def test_a_broker_that_falls_behind_is_named(share: float) -> None:
    shortfall = measured(share)
    assert shortfall is not None
    [reason] = shortfall.reasons()
    assert reason.startswith("the broker did not take the load: offered − appended grew by ")
    assert f"{RATE * (1 - share):.1f} records/s" in reason
    assert reason.endswith("the limit is 1 % of the offered rate, 10.0")
    assert shortfall.warnings() == []


def test_a_generator_that_falls_behind_is_not_the_broker_s_fault() -> None:
    shortfall = measured(1 / 1.05, slowed_by=0.05)
    assert shortfall is not None
    [reason] = shortfall.reasons()
    assert reason.startswith("the generator did not send the load")


def test_what_is_not_certain_is_a_warning() -> None:
    shortfall = measured(1.0)
    assert shortfall is not None
    doubtful = dataclasses.replace(shortfall, slope=dataclasses.replace(shortfall.slope, low=-5.0, high=25.0))
    assert doubtful.reasons() == []
    assert doubtful.warnings()[0].startswith("cannot tell whether the broker took the whole load")


def test_under_a_ramp_a_broker_s_clock_is_no_shortfall() -> None:
    """It is a second ahead and takes everything; the rate rises from 1,000 to 4,000."""
    known, moments = facts(rate_per_s=RATE, measured_s=MEASURED_S)
    known = dataclasses.replace(known, plan=dataclasses.replace(known.plan, shape="ramp", to_per_s=4 * RATE))
    due = [known.plan.count_before(round((second - 0.5) * NS_PER_S)) for second in range(moments.seconds)]
    none = np.zeros(moments.seconds, np.int64)
    stamps = Stamps(none, none, 0, none, appended_level=np.array(due, np.float64))
    sent = generated(known, moments)
    blamed, fair = (arrival.measure(known, moments, sent, stamps, ahead_ms) for ahead_ms in (0.0, 1000.0))
    assert blamed is not None and blamed.reasons()
    assert fair is not None and fair.reasons() == []


def test_the_time_of_a_broker_s_fault_is_exempt() -> None:
    """It stands still from 4 s to 10 s of the load, and catches up for as long again."""
    stalled = range(4, 16)
    shortfall = measured(1.0, stalled=stalled)
    assert shortfall is not None and shortfall.slope.high > 10, "without a fault it counts"
    fault = FaultRecord(
        fault="pause broker for 6s at 4s",
        verb="pause",
        role="broker",
        planned_ns=START_NS + 4 * NS_PER_S,
        acted_ns=START_NS + 4 * NS_PER_S,
        ended_ns=START_NS + 10 * NS_PER_S,
        took_effect=True,
        why_not=None,
    )
    outcome = Outcome.blank().with_changes(faults=[fault])
    processes = manifest(processes=[{"role": "broker", "group": "broker"}])
    shortfall = measured(1.0, stalled=stalled, outcome=outcome, manifest=processes)
    assert shortfall is not None and (shortfall.reasons(), shortfall.warnings()) == ([], [])
    other = manifest(processes=[{"role": "broker", "group": "engine"}])
    shortfall = measured(1.0, stalled=stalled, outcome=outcome, manifest=other)
    assert shortfall is not None and shortfall.slope.high > 10, "a fault of the engine excuses nothing"


def test_without_a_schedule_nothing_falls_behind() -> None:
    known, _ = facts(rate_per_s=RATE, measured_s=MEASURED_S)
    assert measured(0.5, plan=dataclasses.replace(known.plan, shape="unlimited")) is None
