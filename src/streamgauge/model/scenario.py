"""What is to be run, with every value resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from streamgauge.shapes import LoadPlan

QUEUE_RECORDS_MAX = 3_000_000
"""Records that the sending client may hold back: about a gigabyte."""
QUEUE_S = 10
"""Up to that many, its queue holds this much load, for a transport that stalls, beside the longest planned pause."""

QUIET_S = 5.0
"""An engine that publishes nothing for so long (``quiet_s`` of a scenario), and for so many triggers, is quiet."""
QUIET_TRIGGERS = 3


@dataclass(frozen=True)
class Script:
    """A user's own PySpark query, in the place of the workload (docs/tutorial/own-script.md)."""

    path: str
    sha256: str
    key: tuple[str, ...] = ()
    """The columns that tell the rows of its reference answer apart; empty: it has none, so nothing is checked."""
    settles_s: float = 0.0
    """Seconds of load that must follow a result's last input before the result is sure to be out."""

    @property
    def name(self) -> str:
        return Path(self.path).name


@dataclass(frozen=True)
class Fault:
    """What is done to one process of a run, and when in the measured interval (docs/howto/faults.md)."""

    verb: Literal["kill", "pause"]
    role: str
    at: float
    unit: Literal["%", "s"]
    """Of ``at``: per cent of the measured interval, or seconds since its start."""
    for_s: float = 0.0
    """How long a pause lasts."""

    def at_s(self, measured_s: float) -> float:
        return self.at * measured_s / 100 if self.unit == "%" else self.at

    def __str__(self) -> str:
        length = f" for {self.for_s:.10g}s" if self.verb == "pause" else ""
        return f"{self.verb} {self.role}{length} at {self.at:.10g}{self.unit}"


@dataclass(frozen=True)
class Scenario:
    """What is to be run, with every value resolved."""

    study: str
    name: str
    profile: str
    title: str
    workload: str
    choice: str
    """What the scenario calls the choice of its workload: *stage*, *program*."""
    chosen: str
    """What was chosen, by the scenario's own name for it."""
    engine: str
    engine_options: Mapping[str, Any]
    load: LoadPlan
    partitions: int
    drain_deadline_s: float
    sustained: str | None
    seed: int
    broker_port: int = 0
    quiet_s: float = QUIET_S
    """The shortest silence after the load that ends the drain."""
    generators: int = 1
    """Load workers that share the plan."""
    slo: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Of the workload."""
    scaled: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Values that differ from the paper's: here, and there."""
    script: Script | None = None
    """The user's, which takes the place of the workload."""
    faults: tuple[Fault, ...] = ()
