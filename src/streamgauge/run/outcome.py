"""What a run learns from its processes while it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamgauge.errors import StreamgaugeError
from streamgauge.model.outcome import EndedProcess, Outcome


@dataclass
class Progress:
    """The last word of each process that reports progress. For the live view, the referee, and the drain's end."""

    load: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of each load worker by its role."""
    said_consumed: int | None = None
    """By the engine itself."""
    committed: int | None = None
    """By the engine's consumer group, as far as the transport tells."""
    done: set[str] = field(default_factory=set)
    """Load workers that have sent all they had to."""
    go_first: set[str] = field(default_factory=set)
    """Load workers that the system wakes before the engine."""

    @property
    def consumed(self) -> int | None:
        """Input records that the engine has taken; None where nobody tells."""
        return self.committed if self.said_consumed is None else self.said_consumed

    @property
    def sent(self) -> int:
        return sum(said.get("sent", 0) for said in self.load.values())

    @property
    def last_sent_ns(self) -> int | None:
        """When the last record left; None while no worker has said so."""
        return max((said["last_sent_ns"] for said in self.load.values() if said.get("last_sent_ns")), default=None)

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
            if type(taken) is int:
                self.said_consumed = taken


def note_cores(outcome: Outcome, cores: Mapping[str, frozenset[int]], engine_here: bool, *, own_broker: bool) -> None:
    """What the processes of each group were allowed; see ``shared_cores``."""
    outcome.cores = {group: sorted(found) for group, found in cores.items()}
    outcome.shared_cores = shared_cores(cores, engine_here=engine_here, own_broker=own_broker)


def shared_cores(cores: Mapping[str, frozenset[int]], *, engine_here: bool, own_broker: bool) -> bool | None:
    """Whether the engine might run on a core that broker or load might use, too; None where that cannot be seen.

    ``engine_here``: all of the engine's processes are among those that were sampled. ``own_broker``: the broker's are.
    """
    engine, others = cores.get("engine"), cores.get("load", frozenset()) | cores.get("broker", frozenset())
    if not engine or not others or not engine_here:
        return None
    if engine & others:
        return True
    return False if own_broker else None


def never_started(role: str, failure: StreamgaugeError) -> EndedProcess:
    """The entry of ``ended`` for an engine of which no process ended: this one did not become usable."""
    expected = "" if failure.expected is None else f"; expected {failure.expected}"
    return EndedProcess(
        role=role,
        group="engine",
        exit_code=None,
        message=f"{failure.what}, {failure.got}{expected}",
        log_tail=failure.log_tail or "",
    )
