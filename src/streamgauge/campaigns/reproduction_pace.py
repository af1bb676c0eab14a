"""What an experiment gets from those that were run before it: its rate, and the moment of its faults."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from streamgauge.model.campaign import ExperimentRow
from streamgauge.notices import Notice, notice
from streamgauge.study import Experiment

GENERATOR_SHARE = 6
"""A rate that follows from a throughput is at most this part of what the generator wrote while nothing else ran: on two
cores, beside a server and an engine that both take it in, a quarter made the generator late."""
MOMENT_MIN_S = 0.1


@dataclass(frozen=True)
class Pace:
    """Empty or None for what does not follow from another experiment, or is not known yet."""

    rates: Mapping[str, int] = field(default_factory=dict)
    """By the names of the values that they set."""
    moment_s: float | None = None

    def set_in(self, experiment: Experiment) -> Experiment:
        """The experiment with these rates, and with faults at this moment."""
        faults = experiment.faults
        if self.moment_s is not None:
            faults = tuple(f"{fault} at {self.moment_s:g}s" for fault in faults)
        rates = {name: str(rate) for name, rate in self.rates.items()}
        return replace(experiment, settings={**experiment.settings, **rates}, faults=faults)


UNKNOWN = Pace()


def find_pace(experiment: Experiment, profile: str, row_of: Callable[[str], ExperimentRow]) -> Pace | Notice:
    """From the rows of the experiments that it needs, by name; or why one of them does not have what is needed."""
    rates: dict[str, int] = {}
    moment_s = None
    if name := experiment.rate_of:
        found = row_of(name)
        throughput = _searched(found) if found.purpose == "capacity" else _found(found, "records_per_s")
        if throughput is None:
            return notice("no-rate", experiment=name, ended=_end(found))
        # The generator wrote alone then; beside an engine it is slower.
        generated = _found(found, "generated_per_s")
        of_generator = math.inf if generated is None else generated / GENERATOR_SHARE
        most = min(of_generator, experiment.most_per_s.get(profile, math.inf))
        rates = {value: max(round(min(throughput * share, most)), 1) for value, share in experiment.shares.items()}
    if name := experiment.half_time_of:
        seconds = _found(row_of(name), "seconds")
        if seconds is None:
            return notice("no-time", experiment=name, ended=_end(row_of(name)))
        moment_s = max(round(seconds / 2, 1), MOMENT_MIN_S)
    return Pace(rates, moment_s)


def _found(row: ExperimentRow, figure: str) -> float | None:
    return row.summary.processing.get(figure) if row.summary is not None and row.verdict == "VALID" else None


def _searched(row: ExperimentRow) -> float | None:
    """The highest rate that was sustained."""
    return row.capacity.interval[0] if row.capacity is not None and row.verdict == "VALID" else None


def _end(row: ExperimentRow) -> str:
    return "VALID, but has no result" if row.verdict == "VALID" else row.verdict or row.state
