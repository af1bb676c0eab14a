"""``manifest.json``: what was requested and what it ran on. Written before the load starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, ConfigDict, Field

from streamgauge.defaults import TRANSPORT
from streamgauge.model.calibration import Calibration
from streamgauge.model.scenario import QUEUE_BOUND_S, QUIET_S, Fault, Script
from streamgauge.model.streams import Stream
from streamgauge.model.traits import Delivery
from streamgauge.shapes import Arrivals, LoadPlan, ShapeName
from streamgauge.stored import AtLeastOne, Content, Count, Number, Stored, at_least_zero

FORMAT = 1

Rate = Annotated[int, Field(ge=0, le=10**9)]
Seconds = Annotated[float, at_least_zero(1e7)]


class Load(Stored):
    """The fields of ``LoadPlan``. Unknown fields are refused: they would change the load."""

    model_config = ConfigDict(extra="forbid")

    rate_per_s: Rate
    warmup_s: Seconds
    measured_s: Seconds
    tail_s: Seconds
    shape: ShapeName = "constant"
    arrivals: Arrivals = "even"
    steps_per_s: Sequence[Rate] = ()
    to_per_s: Rate = 0
    burst_records: Rate = 0
    burst_s: Seconds = 0.0
    burst_every_s: Seconds = 0.0
    rising_warmup: bool = False
    preloaded: Annotated[int, Field(ge=0, le=10**10)] = 0
    seed: Count = 0
    poisson_blocks: Literal["drawn", "fixed"] = "drawn"

    def plan(self) -> LoadPlan:
        return LoadPlan.from_json(self.as_json())


class ScenarioUsed(Stored):
    """The scenario with every value resolved, without the engine and its options."""

    study: str
    name: str
    profile: str
    title: str = ""
    workload: str
    choice: str = "stage"
    chosen: str
    load: Load
    partitions: AtLeastOne | None = None
    drain_deadline_s: Number | None = None
    sustained: str | None
    seed: int | None = None
    transport: str = TRANSPORT
    quiet_s: Number = QUIET_S
    generators: int = 1
    slo: Sequence[str] = ()
    parameters: Mapping[str, Any] = {}
    scaled: Mapping[str, Any] | None = None
    """What differs from the paper; None in early manifests."""
    script: Script | None = Field(None, validation_alias=AliasChoices("script", "job"))
    """Early manifests call it ``job``."""
    faults: Sequence[Fault] = ()
    queue_s: Number = QUEUE_BOUND_S
    slice_s: Count = 0
    stage: str
    """The chosen workload; the key dates from when every scenario chose a stage."""


class EngineDescription(Stored):
    name: str
    title: str = ""
    version: str
    versions: Mapping[str, Any] = {}
    delivery: Delivery
    transactional: bool = False
    recounts_after_failure: bool = False
    batch_interval_s: Seconds = 0.0
    consumed_delay_s: Seconds | None = None
    """How late, at most, it reports what it has consumed; None where that is not known."""
    micro_batches: bool = False
    keeps_order: bool = True
    options: Mapping[str, Any]


class TransportDescription(Stored):
    """Also has whatever ``Transport.attach`` needs."""

    name: str
    own: bool


class StreamDescription(Stored):
    model_config = ConfigDict(extra="forbid")

    name: str
    topic: str
    partitions: AtLeastOne
    role: Literal["input", "output"]

    @classmethod
    def of(cls, stream: Stream) -> StreamDescription:
        return cls(name=stream.name, topic=stream.address, partitions=stream.partitions, role=stream.role)

    @property
    def stream(self) -> Stream:
        return Stream(self.name, self.topic, self.partitions, self.role)


class Git(Stored):
    commit: str
    dirty: bool


class Provenance(Stored):
    date: str | None = None
    git: Git | None = None
    packages: Mapping[str, str] = {}


class MachineDescription(Stored):
    system: str | None = None
    kernel: str | None = None
    cpu: str | None = None
    cores: Number | None = None
    memory_mb: Number | None = None
    governor: str | None = None
    container: str | None = None
    load_at_start: Number | None = None


class ProcessDescription(Stored):
    role: str
    group: str
    argv: Sequence[str] = ()
    members: Sequence[str] = ()
    """Roles of processes that it starts itself."""
    node: bool = False
    """Whether it is, with its members, one of the engine's nodes."""


class Environment(Stored):
    removed: Sequence[str] = ()
    """Names of variables that were removed."""


class EvaluatorDescription(Stored):
    master: str = "local[*]"


class LoadDescription(Stored):
    master: str = ""
    """The Spark master whose executors sent the load; empty: load workers of the lab's own."""


class FileUsed(Stored):
    """A file of the user's that the load was made from, or that the engine ran."""

    path: str
    bytes: int
    sha256: str


class Manifest(Stored):
    format: int = FORMAT
    run: str
    tool: str | None = None
    scenario: ScenarioUsed
    engine: EngineDescription
    transport: TransportDescription
    streams: Sequence[StreamDescription]
    versions: Mapping[str, Any] = {}
    provenance: Provenance | None = None
    machine: MachineDescription = MachineDescription()
    calibration: Calibration | None = None
    processes: Sequence[ProcessDescription] = ()
    environment: Environment = Environment()
    files: Sequence[FileUsed] = ()
    notes: Mapping[str, str] = {}
    """What the engine says about this run, such as what is redirected."""
    warnings: Sequence[str] = ()
    program: Sequence[str] | None = None
    """The program of the engine *command*; None in early manifests."""
    evaluator: EvaluatorDescription = EvaluatorDescription()
    load: LoadDescription = LoadDescription()
    command: str
    """For readers; a run is repeated from the values."""
    shared_cores: bool | None = None
    """An assumption of early versions; later ones write an observation to the outcome."""

    @property
    def all_streams(self) -> tuple[Stream, ...]:
        return tuple(described.stream for described in self.streams)

    def group_of(self, role: str) -> str | None:
        """The group of the process with that role; None if the manifest has none."""
        return next((process.group for process in self.processes if process.role == role), None)


def upgrade(content: Content) -> Content:
    """Convert a manifest to today's form. Damaged content is left unchanged."""
    scenario, engine = content.get("scenario"), content.get("engine")
    if isinstance(scenario, dict):
        content = {**content, "scenario": _with_workload(scenario)}
    if isinstance(engine, dict):
        content = {**content, "engine": _with_batches(engine)}
    return content


def _with_workload(scenario: dict[str, Any]) -> dict[str, Any]:
    """Early manifests name the pipeline of a study instead of a workload."""
    if "workload" in scenario or "pipeline" not in scenario:
        return scenario
    study, _, stage = str(scenario["pipeline"]).partition("/")
    known = scenario.get("parameters", {})
    parameters: dict[str, Any] = {**(known if isinstance(known, dict) else {}), "keys": scenario.get("keys", "dataset")}
    if stage == "sliding":
        parameters["lookbacks_s"] = [4, 9] if study == "stage-latency" else [1, 2]
    upgraded = {"workload": f"traffic/{stage}", "choice": "stage", "parameters": parameters}
    return {**scenario, **upgraded, "chosen": scenario.get("stage")}


def _with_batches(engine: dict[str, Any]) -> dict[str, Any]:
    """In early manifests, micro-batches must be derived from the engine's options."""
    options = engine.get("options")
    if "micro_batches" in engine or not isinstance(options, dict):
        return engine
    trigger_ms = options.get("trigger_ms")
    interval_s = trigger_ms / 1000 if isinstance(trigger_ms, int | float) else 0.0
    batches = interval_s > 0 or (engine.get("name") == "spark" and not options.get("realtime"))
    return {**engine, "batch_interval_s": interval_s, "micro_batches": batches}
