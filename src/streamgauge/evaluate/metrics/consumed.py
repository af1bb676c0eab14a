"""How much of the input the engine had consumed, and when, by the positions that were sampled during a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

import numpy as np

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import throughput
from streamgauge.evaluate.metrics.trend import NO_SERIES, Series
from streamgauge.evaluate.summary import Figures
from streamgauge.model import NS_PER_S, ResultKind
from streamgauge.model.samples import PositionsSample
from streamgauge.rundir import RunDir


def is_reported(run: RunDir) -> bool:
    """Whether any sample has a consumed position."""
    return last_consumed(run.samples(PositionsSample)) is not None


def with_unanswered_inputs(
    run: RunDir, facts: Facts, moments: Moments, figures: Figures, *, validated: bool
) -> Figures:
    """The figures with a backlog that also counts the inputs which no result answers."""
    kind = facts.workload.kind
    if not validated or kind is ResultKind.NONE:
        return with_consumed_backlog(run, facts, moments, figures)
    appended = int(figures.stamps.appended_per_second.sum())
    if kind is not ResultKind.FILTER or facts.scenario.script is not None or not appended:
        return figures
    kept_share = int(figures.tally.rows.sum()) / appended
    return with_dropped_inputs(run, facts, moments, figures, kept_share)


def with_consumed_backlog(run: RunDir, facts: Facts, moments: Moments, figures: Figures) -> Figures:
    """The figures with the backlog that the engine's positions show: nothing else shows which inputs are done."""
    backlog = consumed_backlog(run.samples(PositionsSample), [stream.name for stream in facts.inputs], moments)
    if not any(value is not None for value in backlog):
        return replace(figures, backlog_measured=NO_SERIES, waiting_measured=NO_SERIES)
    filled = np.array([0.0 if value is None else value for value in backlog])
    end = min(max((moments.load_end_ns - moments.load_start_ns) // NS_PER_S - 1, 0), len(filled) - 1)
    return _with_backlog(facts, moments, figures, Series.of(backlog, moments.measured_seconds()), filled, filled[end])


def with_dropped_inputs(run: RunDir, facts: Facts, moments: Moments, figures: Figures, kept_share: float) -> Figures:
    """The figures with the inputs in the backlog that have no result: those leave it when they are consumed.

    Which of the inputs that were not consumed yet would be dropped is not known; on average as many as of all.
    """
    unconsumed = consumed_backlog(run.samples(PositionsSample), [stream.name for stream in facts.inputs], moments)
    if not any(value is not None for value in unconsumed):
        return figures
    dropped = (1 - kept_share) * np.array([0.0 if value is None else value for value in unconsumed])
    backlog = np.round(figures.backlog + dropped, 3)
    end = min(max((moments.load_end_ns - moments.load_start_ns) // NS_PER_S - 1, 0), len(backlog) - 1)
    # A second without a sample is not judged: it would look as if everything had been consumed.
    known = [None if lag is None else level for lag, level in zip(unconsumed, backlog.tolist(), strict=True)]
    measured = Series.of(known, moments.measured_seconds())
    return _with_backlog(facts, moments, figures, measured, backlog, figures.backlog_end + dropped[end])


def _with_backlog(
    facts: Facts, moments: Moments, figures: Figures, measured: Series, backlog: Any, end: float
) -> Figures:
    return replace(
        figures,
        backlog=backlog,
        backlog_end=round(end),
        backlog_measured=measured,
        waiting_measured=throughput.in_seconds_of_load(measured, facts, moments),
    )


def consumed_backlog(samples: Sequence[PositionsSample], inputs: Sequence[str], moments: Moments) -> list[float | None]:
    """Records appended and not consumed in each second, by the last sample of it; None where that is not known.

    The mean since the sample before, where the run has one: a single look would show a beat with the engine's batches.
    """
    backlog: list[float | None] = [None] * moments.seconds
    for sample in samples:
        second = (sample.t_ns - moments.load_start_ns) // NS_PER_S
        if sample.consumed is not None and 0 <= second < moments.seconds:
            look = max(sum(sample.appended[name] for name in inputs) - sample.consumed, 0)
            backlog[second] = float(look if sample.lag is None else sample.lag)
    return backlog


def last_consumed(samples: Sequence[PositionsSample]) -> int | None:
    """By the last sample that has it; None where none does."""
    return next((sample.consumed for sample in reversed(samples) if sample.consumed is not None), None)


def consumed_all_ns(samples: Sequence[PositionsSample], records: int) -> int | None:
    """When that many records were first known to be consumed for good; None where they never were.

    After a failure, an engine may have to read again what it had read.
    """
    known = [sample for sample in samples if sample.consumed is not None]
    complete = list(takewhile(lambda sample: (sample.consumed or 0) >= records, reversed(known)))
    return min((sample.consumed_since_ns or sample.t_ns for sample in complete), default=None)


def silent_s(samples: Sequence[PositionsSample]) -> float | None:
    """Seconds from the last sample in which more was consumed to the last one of all; None where none has it.

    Not to the end of the drain: what was consumed after the last sample is in none.
    """
    known = [sample for sample in samples if sample.consumed is not None]
    if not known:
        return None
    most = max(sample.consumed or 0 for sample in known)
    reached = next(sample for sample in known if sample.consumed == most)
    return (known[-1].t_ns - reached.t_ns) / NS_PER_S


def results(run: RunDir, facts: Facts) -> dict[str, int]:
    """The counts of a workload without results: a record is *matched* when it was consumed."""
    records = sum(throughput.rows_recorded(run, facts).values())
    consumed = min(last_consumed(run.samples(PositionsSample)) or 0, records)
    rest = records - consumed
    quiet = facts.outcome.drain == "quiet"
    return {
        "expected": records,
        "matched": consumed,
        "wrong": 0,
        "lost": rest if quiet else 0,
        "unfinished": 0 if quiet else rest,
        "duplicates": 0,
        "intermediate": 0,
        "reverted": 0,
        "unexpected": 0,
    }
