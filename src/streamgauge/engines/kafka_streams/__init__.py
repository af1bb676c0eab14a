"""Kafka Streams: N instances of one application, each a process of its own that holds some of the partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from streamgauge import jars
from streamgauge.contracts import Engine
from streamgauge.engines.java import classes, compile_java
from streamgauge.engines.job_file import job_file
from streamgauge.engines.programs import java_workloads, nothing_to_customise, one_implementation
from streamgauge.engines.settings import gather_conf, has_dot
from streamgauge.jvm.java import find_java
from streamgauge.model import Job, ProcessSpec, Ready, Stop, Traits

OUTSIDE_HEAP_MB = 200
"""What an instance needs besides its heap."""

_SOURCES = Path(__file__).parent / "java"
_PACKAGE = "streamgauge.kafkastreams"
_WORKLOADS = java_workloads(_SOURCES, _PACKAGE)
_CUSTOMISED = java_workloads(_SOURCES, _PACKAGE, "Customised")

# The log back end of the jar group is slf4j-simple: standard error, set by system properties.
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)


_NOT_BY_THEIR_OWN_NAMES = {
    "application.id": "the run has one of its own",
    "bootstrap.servers": "--bootstrap",
    "state.dir": "the run has one of its own",
    "processing.guarantee": "--set delivery=exactly-once",
}
"""Settings that the measurement has to know of, with what to do instead."""


class KafkaStreamsOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    implementation: Literal["built-in", "customised"] = Field(
        "built-in", description="of workloads with state: the DSL's join and windows, or the Processor API"
    )
    delivery: Literal["at-least-once", "exactly-once"] = Field(
        "at-least-once", description="exactly-once: results become visible when their transaction commits"
    )
    emit: Literal["close", "update"] = Field(
        "close", description="of the built-in windows: one result when a window closes, or one for every change of it"
    )
    instances: Annotated[int, Field(ge=1)] = Field(2, description="processes that share the partitions")
    threads: Annotated[int, Field(ge=1)] = Field(1, description="stream threads of each instance")
    heap_mb: Annotated[int, Field(ge=64)] = Field(512, description="heap of each instance")
    commit_ms: Annotated[int, Field(ge=1, le=300_000)] = Field(1000, description="how often an instance commits")
    linger_ms: Annotated[int, Field(ge=0)] = Field(0, description="how long a result waits for others to be sent with")
    cache_mb: Annotated[int, Field(ge=0)] = Field(
        0, description="cache of each instance, which holds changes of state back until the next commit; 0: none"
    )
    session_timeout_ms: Annotated[int, Field(ge=1000)] = Field(
        6000, description="how long the broker waits for a silent instance before others take over"
    )
    idle_ms: Annotated[int, Field(ge=0)] = Field(
        1000,
        description="of workloads with state: how long a task waits for the other topic",
    )
    standby_replicas: Annotated[int, Field(ge=0)] = Field(0, description="copies of the state on other instances")
    conf: dict[str, str] = Field(
        default_factory=dict, description="any Kafka Streams, consumer. or producer. setting, by its own name"
    )

    @model_validator(mode="before")
    @classmethod
    def _gather_conf(cls, given: Any) -> Any:
        return gather_conf(given, has_dot)

    @field_validator("conf")
    @classmethod
    def _not_what_we_set(cls, conf: dict[str, str]) -> dict[str, str]:
        for name, instead in _NOT_BY_THEIR_OWN_NAMES.items():
            if name in conf:
                raise ValueError(f"{name} cannot be set by its own name: {instead}")
        return conf


class KafkaStreams(Engine):
    name: ClassVar[str] = "kafka-streams"
    title: ClassVar[str] = "Kafka Streams"
    traits: ClassVar[Traits] = Traits(
        workloads=_WORKLOADS,
        delivery="at-least-once",
        limits=(nothing_to_customise(_WORKLOADS), one_implementation(_WORKLOADS, _CUSTOMISED)),
        jar_groups=("java", "kafka-streams"),
        transactional=True,
        # State goes to its changelog as it changes, offsets with the commit.
        recounts_after_failure=True,
        commits_offsets=True,
        memory_mb=0,  # all of it is the instances'
    )
    options: ClassVar[type[BaseModel]] = KafkaStreamsOptions

    def versions(self) -> Mapping[str, str]:
        return {"kafka-streams": jars.versions("kafka-streams")["kafka-streams"]}

    def memory_mb(self, options: Mapping[str, Any]) -> int:
        return int(options["instances"] * (options["heap_mb"] + OUTSIDE_HEAP_MB))

    def prepare(self, say: Callable[[str], None]) -> None:
        compile_java(self.name, _SOURCES, _class_path(), say)

    def plan(self, job: Job) -> Sequence[ProcessSpec]:
        class_path = [classes(self.name, _SOURCES, _class_path()), *_class_path()]
        heap_mb = job.options["heap_mb"]
        base = [
            str(find_java().path),
            f"-Xms{heap_mb}m",
            f"-Xmx{heap_mb}m",
            "-XX:+UseG1GC",
            # RocksDB unpacks its library there; the directory vanishes with the run.
            f"-Djava.io.tmpdir={job.work_dir}",
            *_LOGGING,
            "-cp",
            ":".join(map(str, class_path)),
            f"{_PACKAGE}.Main",
        ]
        roles = [f"streams-{number}" for number in range(1, job.options["instances"] + 1)]
        return [
            ProcessSpec(
                role=role,
                group="engine",
                argv=[*base, str(job.work_dir / role), str(job.file)],
                files=job_file(job) if role == roles[0] else {},
                ready=Ready("event", "ready", timeout_s=90),
                stop=Stop("terminate", grace_s=15),
            )
            for role in roles
        ]


def _class_path() -> list[Path]:
    return jars.locations("kafka-streams")
