"""What a run learns from its processes."""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import TypeAdapter, ValidationError

from streamgauge.errors import StreamgaugeError
from streamgauge.model import NS_PER_S, TRANSPORT_GROUP, LoadPlan
from streamgauge.model.outcome import EndedProcess, Outcome, Redirected, ScriptQuery
from streamgauge.model.samples import BatchSample, CommitSample
from streamgauge.notices import Notice, notice
from streamgauge.stored import MOST, Count

BATCHES_MOST = 1000
"""Between two samples, which are a second apart."""
REDIRECTED_MOST = 200
_OFFSETS = TypeAdapter(dict[str, dict[int, Count]])
_COUNT: TypeAdapter[int] = TypeAdapter(Count)


@dataclass
class Progress:
    """The last report of each process that reports progress. For the live view, the referee, and the drain's end."""

    load: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Of each load worker by its role."""
    reported_consumed: int | None = None
    """By the engine itself."""
    reported_offsets: Mapping[str, Mapping[int, int]] | None = None
    """The same, of each partition of each input, by the address of the input."""
    batches: deque[BatchSample] = field(default_factory=lambda: deque(maxlen=BATCHES_MOST))
    """Reported by the engine, and not taken yet; of too many, the latest."""
    commits: deque[CommitSample] = field(default_factory=lambda: deque(maxlen=BATCHES_MOST))
    """The same of batches that a checkpoint shows as committed."""
    queries: dict[str, ScriptQuery] = field(default_factory=dict)
    redirected: dict[tuple[str, str], Redirected] = field(default_factory=dict)
    assigned: dict[str, int] = field(default_factory=dict)
    """How many partitions of the inputs each process reads, by the role of those that report it."""
    committed: int | None = None
    """By the engine's consumer group, as far as the transport reports it."""
    done: set[str] = field(default_factory=set)
    """Load workers that have sent all they had to."""
    gave_out: str = ""
    """Why the system under test does not sustain the load, as a load worker has seen it; empty while it does."""
    go_first: set[str] = field(default_factory=set)
    """Load workers that the system wakes before the engine."""

    @property
    def consumed(self) -> int | None:
        """Input records that the engine has taken; None where that is not known.

        What is committed was taken, too: after a restart, Flink reports only what it reads from then on.
        """
        return max((one for one in (self.reported_consumed, self.committed) if one is not None), default=None)

    @property
    def sent(self) -> int:
        return sum(event.get("sent", 0) for event in self.load.values())

    @property
    def last_sent_ns(self) -> int | None:
        """When the last record left; None while no worker has reported it."""
        return max((event["last_sent_ns"] for event in self.load.values() if event.get("last_sent_ns")), default=None)

    @property
    def errors(self) -> int:
        return sum(event.get("errors", 0) for event in self.load.values())

    @property
    def late_max_ms(self) -> float:
        return max((event.get("late_max_ms", 0.0) for event in self.load.values()), default=0.0)

    def on_load_event(self, role: str, event: dict[str, Any]) -> None:
        if event["event"] in ("progress", "done", "stopped"):
            self.load[role] = {**self.load.get(role, {}), **event}
        if event["event"] == "done":
            self.done.add(role)
        if event["event"] == "gave-out":
            self.gave_out = self.gave_out or str(event.get("message", ""))
        if event["event"] == "ready" and event.get("goes_first"):
            self.go_first.add(role)

    def on_engine_event(self, role: str, event: dict[str, Any]) -> None:
        if event["event"] == "progress":
            consumed = event.get("consumed")
            # The program may be a user's own.
            if type(consumed) is int and 0 <= consumed <= MOST:
                self.reported_consumed = consumed
            with contextlib.suppress(ValidationError):
                self.reported_offsets = _OFFSETS.validate_python(event.get("offsets"))
        if event["event"] == "assigned":
            with contextlib.suppress(ValidationError):
                self.assigned[role] = _COUNT.validate_python(event.get("partitions"))
        if event["event"] == "batch":
            with contextlib.suppress(ValidationError):
                fields = {name: value for name, value in event.items() if name in BatchSample.model_fields}
                self.batches.append(BatchSample.model_validate({**fields, "t_ns": time.time_ns()}))
        with contextlib.suppress(ValidationError):
            self._note_script(event)

    def _note_script(self, event: dict[str, Any]) -> None:
        """What is known of a user's script."""
        fields = {name: value for name, value in event.items() if name != "event"}
        if event["event"] == "commit":
            self.commits.append(CommitSample.model_validate({**fields, "t_ns": time.time_ns()}))
        elif event["event"] == "query":
            query = ScriptQuery.model_validate(fields)
            self.queries[query.name] = query
        elif event["event"] == "redirected" and len(self.redirected) < REDIRECTED_MOST:
            redirected = Redirected.model_validate(fields)
            self.redirected[redirected.what, redirected.old] = redirected

    def take_batches(self) -> Iterator[BatchSample | CommitSample]:
        """Those reported since the last call. More may be reported meanwhile, by another thread."""
        while self.batches:
            yield self.batches.popleft()
        while self.commits:
            yield self.commits.popleft()


def phase_of(outcome: Outcome, load: LoadPlan, elapsed_s: float) -> str:
    """What the load is for at this moment, as the live view says it."""
    assert outcome.load_start_ns is not None and outcome.measured_end_ns is not None
    if load.shape == "preloaded":
        return "preloading"
    if elapsed_s < load.warmup_s:
        return "warm-up"
    return "measuring" if elapsed_s < (outcome.measured_end_ns - outcome.load_start_ns) / NS_PER_S else "tail"


def note_cores(
    outcome: Outcome, cores: Mapping[str, frozenset[int]], engine_here: bool, *, own_transport: bool
) -> None:
    """What the processes of each group were allowed; see ``shared_cores``."""
    outcome.cores = {group: sorted(numbers) for group, numbers in cores.items()}
    outcome.shared_cores = shared_cores(cores, engine_here=engine_here, own_transport=own_transport)


def shared_cores(cores: Mapping[str, frozenset[int]], *, engine_here: bool, own_transport: bool) -> bool | None:
    """Whether the engine might run on a core that transport or load might use, too; None where that cannot be seen.

    ``engine_here``: all of the engine's processes are among those that were sampled. ``own_transport``: the same of the
    transport's.
    """
    engine, others = cores.get("engine"), cores.get("load", frozenset()) | cores.get(TRANSPORT_GROUP, frozenset())
    if not engine or not others or not engine_here:
        return None
    if engine & others:
        return True
    return False if own_transport else None


def lost_members(outcome: Outcome, lost: Iterable[tuple[int, str]]) -> list[Notice]:
    """A warning for each role of a process that ended without a fault; what ends after a fault is its consequence."""
    first_fault_ns = min((record.acted_ns for record in outcome.faults if record.acted_ns), default=math.inf)
    times = Counter(role for t_ns, role in lost if t_ns < first_fault_ns)
    return [notice("member-lost", role=role, times=count) for role, count in sorted(times.items())]


def never_started(
    role: str, failure: StreamgaugeError, group: str = "engine", fault: str | None = None
) -> EndedProcess:
    """The entry of ``ended`` for an engine of which no process ended: this one did not become usable.

    ``fault`` is the one after which it was started again.
    """
    after = "" if fault is None else f"started again after the fault {fault!r}: "
    got = "" if failure.got is None else f", {failure.got}"
    expected = "" if failure.expected is None else f"; expected {failure.expected}"
    return EndedProcess(
        role=role,
        group=group,
        exit_code=None,
        message=f"{after}{failure.what}{got}{expected}",
        log_tail=failure.log_tail or "",
    )
