"""About how long a run or a capacity search takes on two cores."""

from __future__ import annotations

from dataclasses import dataclass

from streamgauge import registry
from streamgauge.campaigns.referee import PROBE_S
from streamgauge.model import Scenario

STARTING_S = 8.0
"""Transport, streams and load worker."""
EVALUATING_S = 15.0
EVALUATED_PER_S = 100_000
"""Records that are recorded and matched in a second."""
PROBES = {0.1: 8, 0.25: 5}
"""Of a usual search, by its resolution."""
PROBES_BESIDE_ANOTHER = 3
"""Of one that begins where another search ended."""
TELLING_S = 120.0
"""So much has to be done before the estimates are corrected by how long it took."""


@dataclass
class Progress:
    """How long the runs of a reproduction took so far, and how long they were estimated to take."""

    estimated_s: float = 0.0
    took_s: float = 0.0

    def add(self, estimated_s: float, took_s: float) -> None:
        self.estimated_s += estimated_s
        self.took_s += took_s

    def corrected_s(self, estimated_s: float) -> float:
        """About how long runs take that are estimated at so much."""
        return estimated_s if self.estimated_s < TELLING_S else estimated_s * self.took_s / self.estimated_s


def run_s(scenario: Scenario) -> float:
    load = scenario.load
    return _around_s(scenario) + load.duration_s + load.records / EVALUATED_PER_S


def search_s(scenario: Scenario, resolution: float, *, begins_beside: bool = False) -> float:
    """Most probes are undecided after their shortest length; the confirming one has its full length.

    ``begins_beside``: whether it begins where another search ended. At which rates it probes is not known: evaluating
    takes as long here as it does at the scenario's own.
    """
    load = scenario.load
    around_s = _around_s(scenario) + load.warmup_s + load.tail_s + load.records / EVALUATED_PER_S
    probe_s = 2 * min(load.measured_s, PROBE_S)
    probes = PROBES_BESIDE_ANOTHER if begins_beside else _probes(resolution)
    return probes * (around_s + probe_s) + around_s + max(load.measured_s, probe_s)


def _probes(resolution: float) -> int:
    return next((count for finest, count in PROBES.items() if resolution <= finest), min(PROBES.values()))


def _around_s(scenario: Scenario) -> float:
    starting_s = STARTING_S + registry.engine(scenario.engine).starting_s(scenario.engine_options)
    return starting_s + scenario.quiet_s + EVALUATING_S
