"""What a run learns while it goes on: the last word of each process, and what outcome.json will say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Progress:
    """The last word of each process that reports progress. For the live view and the end of the drain."""

    load: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of each load worker by its role."""
    consumed: int | None = None
    done: set[str] = field(default_factory=set)
    """Load workers that have sent all they had to."""
    go_first: set[str] = field(default_factory=set)
    """Load workers that the system wakes before the engine."""

    @property
    def sent(self) -> int:
        return sum(said.get("sent", 0) for said in self.load.values())

    @property
    def errors(self) -> int:
        return sum(said.get("errors", 0) for said in self.load.values())

    @property
    def late_max_ms(self) -> float:
        return max((said.get("late_max_ms", 0.0) for said in self.load.values()), default=0.0)

    def hear_load(self, role: str, event: dict[str, Any]) -> None:
        if event["event"] in ("progress", "done"):
            self.load[role] = {**self.load.get(role, {}), **event}
        if event["event"] == "done":
            self.done.add(role)
        if event["event"] == "ready" and event.get("goes_first"):
            self.go_first.add(role)

    def hear_engine(self, role: str, event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            taken = event.get("consumed")
            # The program may be a stranger's.
            self.consumed = taken if type(taken) is int else self.consumed


@dataclass
class Outcome:
    """What goes into outcome.json."""

    engine_start_ns: int | None = None
    """Just before the engine's first process was started."""
    load_start_ns: int | None = None
    measured_start_ns: int | None = None
    measured_end_ns: int | None = None
    load_end_ns: int | None = None
    drain_end_ns: int | None = None
    drain: str | None = None
    interrupted: bool = False
    ends: dict[str, Any] = field(default_factory=dict)
    ended: list[dict[str, Any]] = field(default_factory=list)
    load_error: str | None = None
    load_goes_first: bool = False
    """Whether the system gave every load worker priority over the engine."""
    hopeless: str | None = None
    """Why a referee stopped the run."""
    hopeless_latency_ms: float | None = None
