"""What a run learns while it goes on: the last word of each process, and what outcome.json will say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamgauge.errors import StreamgaugeError
from streamgauge.model import NS_PER_S, LoadPlan


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


@dataclass
class Outcome:
    """What goes into outcome.json."""

    engine_start_ns: int | None = None
    """Just before the engine's first process was started."""
    engine_ready_ns: int | None = None
    """When all of the engine's processes were usable."""
    load_start_ns: int | None = None
    measured_start_ns: int | None = None
    measured_end_ns: int | None = None
    load_end_ns: int | None = None
    drain_end_ns: int | None = None
    drain: str | None = None
    quiet_s: float | None = None
    """Seconds without output that count as quiet in this run."""
    interrupted: bool = False
    ends: dict[str, Any] = field(default_factory=dict)
    hidden: int | None = None
    """Places of the output behind a transaction that was open at the end; None where nobody looked."""
    ended: list[dict[str, Any]] = field(default_factory=list)
    load_error: str | None = None
    load_goes_first: bool = False
    """Whether the system gave every load worker priority over the engine."""
    hopeless: str | None = None
    """Why a referee stopped the run."""
    hopeless_latency_ms: float | None = None
    faults: list[dict[str, Any]] = field(default_factory=list)
    """What became of each fault, in the order in which they were asked for."""
    cores: dict[str, list[int]] = field(default_factory=dict)
    """The cores that the processes of each group were seen to be allowed."""
    shared_cores: bool | None = None
    """Whether the engine shared cores with broker or load; None where that could not be seen."""
    warnings: list[str] = field(default_factory=list)
    """What else happened that a reader should know; none of it spoils the measurement for certain."""

    def begin_load(self, start_ns: int, load: LoadPlan) -> int:
        """Set the moments that the plan has for a load that starts then; returns the start of the measured interval."""
        self.load_start_ns = start_ns
        self.measured_start_ns = start_ns + round(load.warmup_s * NS_PER_S)
        self.measured_end_ns = self.measured_start_ns + round(load.measured_s * NS_PER_S)
        self.load_end_ns = start_ns + round(load.duration_s * NS_PER_S)
        return self.measured_start_ns

    def note_cores(self, cores: Mapping[str, frozenset[int]], engine_here: bool, *, own_broker: bool) -> None:
        """What the processes of each group were allowed; see ``shared_cores``."""
        self.cores = {group: sorted(found) for group, found in cores.items()}
        self.shared_cores = shared_cores(cores, engine_here=engine_here, own_broker=own_broker)

    def note_ends(self, ends: Mapping[str, Mapping[int, int]]) -> None:
        """What counts as input and output."""
        self.ends = {
            name: {str(partition): end for partition, end in partitions.items()} for name, partitions in ends.items()
        }


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


def never_started(role: str, failure: StreamgaugeError) -> dict[str, Any]:
    """The entry of ``ended`` for an engine of which no process ended: this one did not become usable."""
    expected = "" if failure.expected is None else f"; expected {failure.expected}"
    return {
        "role": role,
        "group": "engine",
        "exit_code": None,
        "message": f"{failure.what}, {failure.got}{expected}",
        "log_tail": failure.log_tail or "",
    }
