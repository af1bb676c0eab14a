"""What is known of a script that has no reference, from the engine's own positions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from streamgauge.evaluate import own, sustained
from streamgauge.evaluate.facts import Moments
from streamgauge.evaluate.metrics import consumed
from streamgauge.evaluate.metrics.trend import Series
from streamgauge.model import NS_PER_S
from streamgauge.model.samples import PositionsSample
from streamgauge.model.summary import ScriptUsed
from streamgauge.rundir import RunDir

START_NS = 1_767_225_600 * NS_PER_S
MOMENTS = Moments(START_NS, START_NS + NS_PER_S, *(START_NS + second * NS_PER_S for second in (3, 4, 5)))


def sample(at_s: float, appended: int, consumed: int | None) -> PositionsSample:
    inputs = {"flow": appended, "speed": appended, "output": 99}
    return PositionsSample(t_ns=START_NS + round(at_s * NS_PER_S), appended=inputs, consumed=consumed)


def test_the_backlog_is_what_the_inputs_hold_and_the_engine_has_not_taken() -> None:
    samples = [
        sample(-0.5, 1, 0),  # before the load
        sample(0.1, 10, 20),
        sample(0.9, 10, 13),  # the last of the first second counts
        sample(2.5, 20, None),  # not known
        sample(3.5, 30, 61),  # more than there is: it reads while we look
        sample(9.0, 50, 0),  # after the end
    ]
    assert consumed.consumed_backlog(samples, ["flow", "speed"], MOMENTS) == [7, None, None, 0, None]


@pytest.mark.parametrize(("growth", "held"), [(0.0, True), (5.0, False)])
def test_without_latencies_the_backlog_decides(growth: float, held: bool) -> None:
    seconds = np.arange(10)
    evidence = sustained.Evidence(median_ms=None, waiting=Series(seconds, growth / 100 * seconds))
    finding = sustained.by_backlog("ospbench", evidence)
    assert finding.held is held
    assert "only the slope of the backlog" in finding.notes[0]
    assert sustained.by_backlog(None, evidence) == sustained.Finding(None)


@pytest.mark.parametrize(
    ("script", "workload", "reference", "validated", "counted"),
    [
        (None, {}, False, True, True),
        (ScriptUsed(name="my.py", sha256="1a2b", reference="1a2b"), {}, True, True, True),
        (ScriptUsed(name="my.py", sha256="1a2b"), {}, False, False, False),
        (None, {"checks_answers": False}, False, False, True),
        (None, {"checks_answers": False, "complete": False}, False, False, False),
        (None, {"checks_answers": False, "complete": False}, True, True, True),
    ],
)
def test_only_a_program_without_reference_is_unvalidated(
    script: ScriptUsed | None,
    workload: dict[str, bool],
    reference: bool,
    validated: bool,
    counted: bool,
    tmp_path: Path,
) -> None:
    run = RunDir.create(tmp_path / "run")
    if reference:
        run.reference_path.write_text("")
    facts: Any = SimpleNamespace(workload=SimpleNamespace(**{"checks_answers": True, "complete": True, **workload}))
    assert own.is_validated(run, facts, script) is validated
    assert own.is_counted(run, facts, script) is counted
