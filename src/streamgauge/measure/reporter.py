"""Interfaces to a running measurement: a reporter shows its progress, a referee may end its load."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, Protocol

from streamgauge.measure.lag import Lags
from streamgauge.measure.snapshot import Publish, Snapshot
from streamgauge.notices import NOTHING, Notice


@dataclass(frozen=True)
class Tick:
    """What the live view shows, once a second."""

    phase: str
    elapsed_s: float
    planned_s: float
    offered_per_s: float
    sent_per_s: float
    output_per_s: float
    lag: int | None
    late_max_ms: float
    errors: int


@dataclass(frozen=True)
class LoadObservation:
    """What a referee sees of a running load, once a second."""

    measured_s: float
    """Seconds since the measured interval began; negative in the warm-up."""
    offered_per_s: float
    sent: int
    appended: int
    """Records that the inputs hold."""
    consumed: int | None
    output: int | None
    """Where the output ends; None where that is not the number of its records: transactions were seen."""
    late_max_ms: float
    lags: Lags = field(default_factory=Lags)
    """Since the look before."""


@dataclass(frozen=True)
class ProbeDecision:
    """*enough*: the measured interval ends now, what belongs behind it follows. *hopeless*: all is stopped at once.

    *check*: hopeless, but the engine may have lost results. The measured interval ends now; if results are still
    missing after the drain, the run is evaluated, else it is hopeless for that reason.
    """

    action: Literal["enough", "hopeless", "check"]
    reason: Notice = NOTHING
    latency_ms: float | None = None
    """About how long a record waits, by its lag: a hopeless run is not evaluated."""
    weak: bool = False
    """Whether only the point estimate decided."""


class Referee(Protocol):
    """May end a load before its plan does."""

    def look(self, observation: LoadObservation) -> ProbeDecision | None: ...


class Reporter(Protocol):
    """Shows the progress of a run."""

    def phase(self, text: str) -> None: ...

    def tick(self, tick: Tick) -> None: ...

    def snapshot(self, snapshot: Snapshot) -> None:
        """After each look at the run. What an earlier one says of the run, or of another run, no longer holds."""

    def say(self, text: str) -> None:
        """What should stay in sight."""

    def warn(self, text: str) -> None: ...


class NullReporter:
    """Shows nothing."""

    def phase(self, text: str) -> None:
        pass

    def tick(self, tick: Tick) -> None:
        pass

    def snapshot(self, snapshot: Snapshot) -> None:
        pass

    def say(self, text: str) -> None:
        pass

    def warn(self, text: str) -> None:
        pass


class SnapshotReporter(NullReporter):
    """Shows nothing; publishes each snapshot."""

    def __init__(self, publish: Publish) -> None:
        self._publish = publish

    def snapshot(self, snapshot: Snapshot) -> None:
        self._publish(snapshot)
