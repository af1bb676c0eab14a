"""What an experiment gets from those that were run before it: its rate, and the moment of its faults."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from streamgauge.model.campaign import ExperimentRow
from streamgauge.notices import Notice, notice
from streamgauge.study import Experiment

GENERATOR_SHARE = 4
"""A rate that follows from a throughput is at most this part of what the generator wrote while nothing else ran."""
MOMENT_MIN_S = 0.1


@dataclass(frozen=True)
class Pace:
    """None for what does not follow from another experiment, or is not known yet."""

    rate_per_s: int | None = None
    moment_s: float | None = None

    def set_in(self, experiment: Experiment) -> Experiment:
        """The experiment with this rate, and with faults at this moment."""
        settings, faults = dict(experiment.settings), experiment.faults
        if self.rate_per_s is not None:
            settings["rate_per_s"] = str(self.rate_per_s)
        if self.moment_s is not None:
            faults = tuple(f"{fault} at {self.moment_s:g}s" for fault in faults)
        return replace(experiment, settings=settings, faults=faults)


UNKNOWN = Pace()


def find_pace(experiment: Experiment, profile: str, row_of: Callable[[str], ExperimentRow]) -> Pace | Notice:
    """From the rows of the experiments that it needs, by name; or why one of them does not have what is needed."""
    rate_per_s = moment_s = None
    if name := experiment.half_of:
        throughput, generated = (_found(row_of(name), figure) for figure in ("records_per_s", "generated_per_s"))
        if throughput is None:
            return notice("no-throughput", experiment=name, verdict=_end(row_of(name)))
        # The generator wrote alone then; beside an engine it is slower.
        of_generator = math.inf if generated is None else generated / GENERATOR_SHARE
        rate = min(throughput / 2, of_generator, experiment.most_per_s.get(profile, math.inf))
        rate_per_s = max(round(rate), 1)
    if name := experiment.half_time_of:
        seconds = _found(row_of(name), "seconds")
        if seconds is None:
            return notice("no-time", experiment=name, verdict=_end(row_of(name)))
        moment_s = max(round(seconds / 2, 1), MOMENT_MIN_S)
    return Pace(rate_per_s, moment_s)


def _found(row: ExperimentRow, figure: str) -> float | None:
    return row.summary.processing.get(figure) if row.summary is not None and row.verdict == "VALID" else None


def _end(row: ExperimentRow) -> str:
    return row.verdict or row.state
