"""How faults were taken in a run whose input was all there before the engine: worked by hand."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from tallies import START_NS, facts
from written_runs import manifest

from streamgauge.evaluate.facts import Facts
from streamgauge.evaluate.metrics import recovery
from streamgauge.evaluate.metrics.recovery import Recovery, Seen
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.model.outcome import Outcome

READY_S = 22.0
"""When the engine was usable: after the measured interval, which is that of the load."""


def at(second: float) -> int:
    """Seconds since the engine was usable."""
    return START_NS + round((READY_S + second) * NS_PER_S)


def seen(*outputs_s: float) -> Seen:
    moments_ms = np.array([at(second) // NS_PER_MS for second in outputs_s], np.int64)
    return Seen(moments_ms, "total", [50.0] * 60, 60, [10.0] * 60, [moments_ms])


def killed(*acted_s: float) -> Facts:
    known, moments = facts(measured_s=20.0)
    records = [
        {
            "fault": f"kill non-recipient at {second:g}s",
            "verb": "kill",
            "role": "worker-2",
            "planned_ns": at(second),
            "acted_ns": at(second),
            "ended_ns": at(second + 0.1),
            "took_effect": True,
            "why_not": None,
        }
        for second in acted_s
    ]
    return dataclasses.replace(
        known,
        outcome=Outcome.blank().with_changes(faults=records, engine_ready_ns=at(0)),
        plan=dataclasses.replace(known.plan, shape="preloaded"),
        manifest=manifest(processes=[{"role": "worker-2", "group": "engine"}]),
        moments=dataclasses.replace(moments, drain_end_ns=at(30)),
    )


def figures(run: Facts, observed: Seen) -> list[dict[str, Any]]:
    return [one.as_json() for one in recovery.measure(run, run.moments, observed)]


def test_worked_by_hand() -> None:
    """Outputs at 1, 2, 3.5, 8 and 9 s, a kill at 4 s: the output that spans it stopped from 3.5 to 8 s, longer than the
    1.5 s before. What follows the last output is no outage: nothing is due any more."""
    (only,) = figures(killed(4.0), seen(1, 2, 3.5, 8, 9))
    assert (only["planned_s"], only["acted_s"], only["ended_s"]) == (4.0, 4.0, 4.1)
    assert (only["outage_s"], only["gap_before_s"], only["first_output_s"]) == (4.5, 1.5, 4.0)
    assert only["role"] == "worker-2"
    unknown = {field.name for field in dataclasses.fields(Recovery)} - {"outage_s", "gap_before_s", "first_output_s"}
    assert {only[name] for name in unknown} == {None}


def test_an_output_that_never_stopped() -> None:
    (only,) = figures(killed(4.2), seen(1, 3, 4, 5, 6))
    assert (only["outage_s"], only["gap_before_s"], only["first_output_s"]) == (1.0, 2.0, pytest.approx(0.8))


def test_each_fault_answers_until_the_next_one() -> None:
    first, second = figures(killed(2.5, 5.5), seen(1, 2, 3, 4, 5, 6, 16))
    assert (first["outage_s"], second["outage_s"]) == (1.0, 10.0)
    assert first["gap_before_s"] == second["gap_before_s"] == 1.0


def test_nothing_came_any_more() -> None:
    run, observed = killed(4.0), seen(1, 2, 3)
    (only,) = figures(run, observed)
    assert (only["outage_s"], only["first_output_s"], only["gap_before_s"]) == (None, None, 1.0)
    measured = recovery.measure(run, run.moments, observed)
    assert recovery.failures(measured, unfinished=5) and not recovery.failures(measured, unfinished=0)


def test_a_fault_after_all_was_processed_disturbed_nothing() -> None:
    run = killed(4.0, 9.0)
    assert recovery.reasons_by_end(run, at(9.5) / NS_PER_MS, missing=0) == []
    assert recovery.reasons_by_end(run, None, missing=0) == []
    assert recovery.reasons_by_end(run, at(8.5) / NS_PER_MS, missing=1) == [], "its results may be what is missing"
    (reason,) = recovery.reasons_by_end(run, at(8.5) / NS_PER_MS, missing=0)
    assert "'kill non-recipient at 9s' did not take effect: all input had been processed" in reason
