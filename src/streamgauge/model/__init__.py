"""The values that travel between the parts: frozen, printable, free of behaviour beyond arithmetic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Literal

from streamgauge.shapes import NS_PER_MS as NS_PER_MS
from streamgauge.shapes import NS_PER_S as NS_PER_S
from streamgauge.shapes import LoadPlan as LoadPlan

QUEUE_RECORDS_MAX = 3_000_000
"""Records that the sending client may hold back: about a gigabyte."""
QUEUE_S = 10
"""Up to that many, its queue holds this much load, for a transport that stalls, beside the longest planned pause."""

QUIET_S = 5.0
"""An engine that publishes nothing for so long (``quiet_s`` of a scenario), and for so many triggers, is quiet."""
QUIET_TRIGGERS = 3

Delivery = Literal["exactly-once", "at-least-once", "at-most-once"]
Group = Literal["engine", "broker", "load", "evaluate"]


class Verdict(Enum):
    """Whether a measurement can be trusted; the value is what the summary prints."""

    VALID = "VALID"
    INVALID = "INVALID"
    FAILED = "FAILED"


class ResultKind(Enum):
    """What makes a result right, and which inputs it answers (docs/reference/workloads.md)."""

    ONE_TO_ONE = "one-to-one"
    """Each record has one result."""
    FILTER = "filter"
    """Some records have one result, the others none."""
    FINAL_PER_KEY = "final-per-key"
    """The last result of a key counts."""
    RUNNING = "running"
    """Each result of a key covers more records than the one before."""
    NONE = "none"
    """There are no results: everything is to be consumed."""

    @property
    def stateful(self) -> bool:
        """Whether a result needs more than one record, so that an engine must remember some."""
        return self in (ResultKind.FINAL_PER_KEY, ResultKind.RUNNING)


@dataclass(frozen=True)
class InputStream:
    """One input of a workload."""

    name: str
    share: float = 1.0
    """Of the load; those of all inputs add up to 1."""


@dataclass(frozen=True)
class Stream:
    """One topic (or queue) of a run."""

    name: str
    topic: str
    partitions: int
    role: Literal["input", "output"]


def numbered_ends(outputs: Sequence[Stream], ends: Mapping[str, Mapping[int, int]]) -> dict[int, int]:
    """The ends of all partitions of several outputs, numbered through: those of the second follow the first's."""
    numbered: dict[int, int] = {}
    first = 0
    for stream in outputs:
        numbered |= {first + partition: end for partition, end in ends[stream.name].items()}
        first += stream.partitions
    return numbered


@dataclass(frozen=True)
class JobFile:
    """A reader's own PySpark pipeline, in the place of the stage (docs/tutorial/own-job.md)."""

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
    job: JobFile | None = None
    """The reader's own pipeline, which takes the place of the stage."""
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True)
class Positions:
    """Records appended to each stream. For the live view and the end of the drain only."""

    appended: Mapping[str, int]
    consumed: int | None = None
    """Records of the inputs that a consumer group has committed; None where that is not known."""
    ends: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """The end of each partition, by stream."""


@dataclass(frozen=True)
class Job:
    """What an engine gets to know; written to ``job.json`` (docs/reference/protocol.md)."""

    run: str
    workload: str
    parameters: Mapping[str, Any]
    transport: str
    endpoints: Mapping[str, str]
    inputs: Mapping[str, str]
    outputs: Mapping[str, str]
    partitions: int
    checkpoint_dir: Path
    work_dir: Path
    options: Mapping[str, Any]
    seed: int
    ports: Sequence[int] = ()
    """As many free ports of 127.0.0.1 as the engine's traits ask for."""
    program: Sequence[str] = ()
    own_job: Mapping[str, str] | None = None
    """The reader's own pipeline: ``copy``, the file to run, and ``path``, where he has it."""

    @property
    def file(self) -> Path:
        return self.work_dir / "job.json"

    @property
    def group(self) -> str:
        """The consumer group of an engine that commits to the transport how far it has come."""
        return f"streamgauge.{self.run}"

    def as_json(self) -> dict[str, Any]:
        return {
            "format": 1,
            "run": self.run,
            "workload": self.workload,
            "parameters": dict(self.parameters),
            "transport": self.transport,
            "endpoints": dict(self.endpoints),
            "inputs": dict(self.inputs),
            "outputs": dict(self.outputs),
            # The name that programs for a single output have known.
            **({"output": next(iter(self.outputs.values()))} if len(self.outputs) == 1 else {}),
            "group": self.group,
            "partitions": self.partitions,
            "checkpoint_dir": str(self.checkpoint_dir),
            "options": dict(self.options),
            "seed": self.seed,
            **({"own_job": dict(self.own_job)} if self.own_job else {}),
        }


@dataclass(frozen=True)
class Ready:
    """The event that makes a started process *usable*.

    ``event``: the process prints a JSON line with that ``event`` on stdout; ``log``: a line that matches the
    regular expression; ``port``: ``host:port`` accepts a connection; ``http``: the URL answers 200; ``file``: the
    file exists and is not empty; ``started``: nothing to wait for.
    """

    kind: Literal["started", "event", "log", "port", "http", "file"] = "started"
    value: str = ""
    timeout_s: float = 60.0


@dataclass(frozen=True)
class Stop:
    """How a process is asked to end before it is killed: a signal, or the end of its standard input."""

    kind: Literal["terminate", "stdin"] = "terminate"
    grace_s: float = 15.0
    exit_codes: tuple[int, ...] = (0,)
    """With one of which it then ends; 143 where the signal itself ends it, as with a JVM that does not mind it."""


@dataclass(frozen=True)
class ProcessSpec:
    """One process to start. ``role`` is unique in a run; ``group`` is what its resources are added up under.

    ``files`` (path → text) are written with mode 0600 before the start. ``once`` marks a process that is meant to
    end by itself with code 0 before the next one starts (formatting, submitting). ``watches`` marks one that only
    looks at the system under test from outside: no fault of it is a fault of the system. ``keeps_environment`` marks
    a program of the user's own, which gets the environment as it is; for others see ``streamgauge.environment``.
    """

    role: str
    group: Group
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[Path, str] = field(default_factory=dict)
    ready: Ready = Ready()
    stop: Stop = Stop()
    once: bool = False
    watches: bool = False
    keeps_environment: bool = False


@dataclass(frozen=True)
class Limit:
    """A combination of options with which an engine does not run some workloads, and the engine's own reason."""

    workloads: frozenset[str]
    options: Mapping[str, Any]
    reason: str

    def applies(self, workload: str, options: Mapping[str, Any]) -> bool:
        return workload in self.workloads and all(options.get(key) == value for key, value in self.options.items())


@dataclass(frozen=True)
class Traits:
    """What an engine can do and what it promises."""

    workloads: frozenset[str]
    delivery: Delivery
    transports: frozenset[str] = frozenset({"kafka"})
    gaps: Mapping[str, str] = field(default_factory=dict)
    """Workloads that the engine does not run, each with its reason."""
    limits: tuple[Limit, ...] = ()
    """Workloads that it runs, but not with every option."""
    needs_java: bool = True
    jar_groups: tuple[str, ...] = ()
    extras: Mapping[str, str] = field(default_factory=dict)
    """Python packages that it needs beyond streamgauge's own, each with the extra that installs it."""
    ports: int = 0
    """Free ports that its plan needs."""
    transactional: bool = False
    """With exactly-once delivery (option ``delivery``) its results become visible when a transaction commits."""
    recounts_after_failure: bool = False
    """With at-least-once delivery, an input that is read again after a failure may change its state a second time."""
    commits_offsets: bool = False
    """It commits how far it has read, under the job's consumer group."""
    batch_limit: str = ""
    """The option that limits how many records a micro-batch takes of a topic; 0 there: no limit."""
    needs_program: bool = False
    """The user's own program is given on the command line, after ``--``."""
    takes_job: bool = False
    """It runs a job file of the reader's (``--job``)."""
    memory_mb: int = 256
    """What its processes need besides a heap (option ``heap_mb``)."""

    def delivery_with(self, options: Mapping[str, Any]) -> Delivery:
        """What is promised with these options."""
        found: Delivery = options.get("delivery", self.delivery)
        return found

    def is_transactional(self, options: Mapping[str, Any]) -> bool:
        """Whether, with these options, results can be read only once their transaction has been committed."""
        return self.transactional and self.delivery_with(options) == "exactly-once"

    def recounts_with(self, options: Mapping[str, Any]) -> bool:
        """Whether, with these options, results may be wrong after a failure because an input was counted twice."""
        declared = options.get("recounts_after_failure", self.recounts_after_failure)
        return bool(declared) and self.delivery_with(options) == "at-least-once"

    def may_hide_results(self, options: Mapping[str, Any]) -> bool:
        """As ``is_transactional``, or nobody knows: a program of the user's may write in transactions unasked."""
        return self.is_transactional(options) or self.needs_program
