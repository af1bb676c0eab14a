"""Tallies and facts made by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from written_runs import manifest

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.tally import LOST, MATCHED, MEASURED, TAIL, UNFINISHED, WARMUP, WRONG, Tally
from streamgauge.model import NS_PER_S, LoadPlan, Stream
from streamgauge.model.outcome import Outcome

START_NS = 1_767_225_600 * NS_PER_S

_PHASES = {"warmup": WARMUP, "measured": MEASURED, "tail": TAIL}
_FATES = {"matched": MATCHED, "wrong": WRONG, "lost": LOST, "unfinished": UNFINISHED}


def row(
    *,
    phase: str = "measured",
    fate: str = "matched",
    part: int = 0,
    second: int = 0,
    appended: int = 0,
    answered: int = 0,
    total: int = 0,
    latest: int = 0,
    average: float = 0.0,
    processing_time: float = math.nan,
    inputs: int = 1,
    new_inputs: int | None = None,
    open_at_end: int = 0,
    in_burst: int = 0,
    answered_ms: int = 0,
    appended_into_ms: int = 0,
    answered_into_ms: int = 0,
    wrong_before_fault: bool = True,
    miscounted: int = 0,
) -> dict[str, Any]:
    """One reference row; its input was appended, and answered, that far into its second."""
    new_inputs = inputs if new_inputs is None else new_inputs
    return {
        "phase": _PHASES[phase],
        "fate": _FATES[fate],
        "part": part,
        "second": second,
        "appended_second": appended,
        "answered_second": answered,
        "total_ms": total,
        "latest_ms": latest,
        "average_ms": average,
        "processing_time_ms": processing_time,
        "rows": 1,
        "inputs": inputs,
        "new_inputs": new_inputs,
        "open_at_end": open_at_end,
        "outputs": 1,
        "duplicates": 0,
        "intermediate": 0,
        "reverted": 0,
        "wrong_before_fault": int(fate == "wrong" and wrong_before_fault),
        "miscounted": miscounted,
        "in_burst": in_burst,
        "answered_max_ms": answered_ms,
        "appended_rest_ms": new_inputs * (1000 - appended_into_ms),
        "answered_rest_ms": new_inputs * (1000 - answered_into_ms),
    }


def tally(*rows: dict[str, Any]) -> Tally:
    columns: dict[str, Any] = {name: np.array([r[name] for r in rows]) for name in row()}
    return Tally(**columns, repeated_keys=0, unexpected=0)


def facts(*, rate_per_s: int = 1000, measured_s: float = 10.0) -> tuple[Facts, Moments]:
    """A run with 1 s of warm-up and of tail, 5 s of drain."""
    plan = LoadPlan(rate_per_s, 1.0, measured_s, 1.0)
    at_s = (0.0, 1.0, 1.0 + measured_s, 2.0 + measured_s, 7.0 + measured_s)
    moments = Moments(*(START_NS + round(second * NS_PER_S) for second in at_s))
    streams = (Stream("flow", "flow", 1, "input"), Stream("output", "output", 1, "output"))
    return Facts(manifest=manifest(), outcome=Outcome.blank(), plan=plan, streams=streams, moments=moments), moments
