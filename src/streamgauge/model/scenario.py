"""What to run, with every value resolved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from streamgauge.defaults import TRANSPORT
from streamgauge.model.processes import TRANSPORT_GROUP
from streamgauge.shapes import LoadPlan

QUEUE_RECORDS_MAX = 3_000_000
"""Maximum records queued in the sending client: about a gigabyte."""
QUEUE_S = 10
"""Up to that limit, the queue holds this many seconds of load for a transport that stalls, plus the longest planned
pause."""

QUEUE_BOUND_S = 30.0
"""How much load may wait in a transport that has a bound, unless the scenario says otherwise."""
QUIET_S = 5.0
"""An engine counts as quiet after publishing nothing for this long (``quiet_s`` of a scenario) and this many
triggers."""
QUIET_TRIGGERS = 3
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Script:
    """A user's PySpark query that replaces the workload (docs/tutorial/own-script.md)."""

    path: str
    sha256: str
    key: tuple[str, ...] = ()
    """The columns that identify a row of its reference answer; empty if it has none, so nothing is checked."""
    settles_s: float = 0.0
    """Seconds of load after a result's last input until the result is certain to be published."""

    @property
    def name(self) -> str:
        return Path(self.path).name


@dataclass(frozen=True)
class Fault:
    """A fault to inject into one role of a run at a given time of the measured interval (docs/howto/faults.md).

    With preloaded input, seconds count from the moment when the engine was usable.
    """

    verb: Literal["kill", "pause", "cut"]
    role: str
    at: float
    unit: Literal["%", "s"]
    """Unit of ``at``: per cent of the measured interval, or seconds since its start."""
    for_s: float = 0.0
    """How long a pause or a cut lasts; after how long a killed process is started again, 0 if it is not."""
    every_s: float = 0.0
    """Seconds between the starts of a fault that repeats; 0 for a single one."""

    def at_s(self, measured_s: float) -> float:
        return self.at * measured_s / 100 if self.unit == "%" else self.at

    def occurrences(self, measured_s: float) -> tuple[Fault, ...]:
        """The fault itself, or one single fault for each repetition that fits into the measured interval."""
        if not self.every_s:
            return (self,)
        room_s = measured_s - self.at_s(measured_s) - self.for_s
        repeated = math.floor(room_s / self.every_s + _ROUNDING)
        moments = (round(self.at_s(measured_s) + nth * self.every_s, 6) for nth in range(max(repeated, 0) + 1))
        single = replace(self, unit="s", every_s=0.0)
        return tuple(replace(single, at=at) for at in moments if at < measured_s)

    def __str__(self) -> str:
        peer = f" from {TRANSPORT_GROUP}" if self.verb == "cut" else ""
        length = f" for {self.for_s:.10g}s" if self.for_s or self.verb != "kill" else ""
        every = f" every {self.every_s:.10g}s" if self.every_s else ""
        return f"{self.verb} {self.role}{peer}{length} at {self.at:.10g}{self.unit}{every}"


@dataclass(frozen=True)
class Scenario:
    """What to run, with every value resolved."""

    study: str
    name: str
    profile: str
    title: str
    workload: str
    choice: str
    """The scenario's name for the choice of a workload: *stage*, *program*."""
    chosen: str
    """The chosen workload, by the scenario's name for it."""
    engine: str
    engine_options: Mapping[str, Any]
    load: LoadPlan
    partitions: int
    drain_deadline_s: float
    sustained: str | None
    seed: int
    transport: str = TRANSPORT
    broker_port: int = 0
    quiet_s: float = QUIET_S
    """The shortest silence after the load that ends the drain."""
    generators: int = 1
    """Load workers that share the plan."""
    slo: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of the workload."""
    scaled: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Values that differ from the paper: (here, paper)."""
    script: Script | None = None
    """A user's script that replaces the workload."""
    faults: tuple[Fault, ...] = ()
    queue_s: float = QUEUE_BOUND_S
    """How much load may wait in a transport that has a bound."""
    slice_s: int = 0
    """Evaluate slices of this many seconds during the run, and drop their records; 0: evaluate the run whole."""
