"""Kafka Streams: N instances of one application, each a process that owns some of the partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from streamgauge import jars
from streamgauge.contracts import Engine
from streamgauge.engines.garbage_collector import GC_OPTIONS, GarbageCollector, gc_field
from streamgauge.engines.java import classes, compile_java
from streamgauge.engines.job_file import job_file
from streamgauge.engines.programs import built_in_only_limit, java_workloads, stateless_limit
from streamgauge.engines.settings import gather_conf, has_dot
from streamgauge.jvm.java import JIT_OPTIONS, find_java
from streamgauge.model import Job, Limit, ProcessSpec, Ready, Stop, Traits

OUTSIDE_HEAP_MB = 200
"""Memory of an instance outside its heap."""

_SOURCES = Path(__file__).parent / "java"
_PACKAGE = "streamgauge.kafkastreams"
_WORKLOADS = java_workloads(_SOURCES, _PACKAGE)
_CUSTOMISED = java_workloads(_SOURCES, _PACKAGE, "Customised")

# The jar group logs through slf4j-simple: to standard error, configured by system properties.
_LOGGING = (
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
)


_RESERVED_SETTINGS = {
    "application.id": "each run sets its own",
    "bootstrap.servers": "--bootstrap",
    "state.dir": "each run sets its own",
    "processing.guarantee": "--set delivery=exactly-once",
}
"""Settings that the measurement depends on, and what to use instead."""


class KafkaStreamsOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    implementation: Literal["built-in", "customised"] = Field(
        "built-in", description="for stateful workloads: joins and windows of the DSL, or the Processor API"
    )
    delivery: Literal["at-least-once", "exactly-once"] = Field(
        "at-least-once",
        description="delivery guarantee; exactly-once results become visible when their transaction commits",
    )
    state_store: Literal["rocksdb", "memory"] = Field(
        "rocksdb", description="where state is kept: in RocksDB, or in maps on the heap"
    )
    emit: Literal["close", "update"] = Field(
        "close", description="for built-in windows: one result when a window closes, or one per update"
    )
    instances: Annotated[int, Field(ge=1)] = Field(2, description="number of processes that share the partitions")
    threads: Annotated[int, Field(ge=1)] = Field(1, description="stream threads per instance")
    heap_mb: Annotated[int, Field(ge=64)] = Field(512, description="heap per instance, MB")
    instance_memory_mb: Annotated[int, Field(ge=0)] = Field(
        0,
        description="limit of all memory of an instance, MB, by a control group of Linux where that is "
        "permitted; 0 = no limit",
    )
    gc: GarbageCollector = gc_field("the instances")
    jit: Literal["full", "quick"] = Field(
        "full",
        description="JIT compilation in the JVMs of the instances; quick = without the optimising compiler, "
        "for short runs of many JVMs on few cores",
    )
    commit_ms: Annotated[int, Field(ge=1, le=300_000)] = Field(1000, description="commit interval, ms")
    linger_ms: Annotated[int, Field(ge=0)] = Field(0, description="time the producer waits to fill a batch, ms")
    cache_mb: Annotated[int, Field(ge=0)] = Field(
        0, description="record cache per instance, MB; it holds back updates until the next commit; 0 = none"
    )
    session_timeout_ms: Annotated[int, Field(ge=1000)] = Field(
        6000, description="time until the partitions of a silent instance are reassigned, ms"
    )
    idle_ms: Annotated[int, Field(ge=0)] = Field(
        1000,
        description="for stateful workloads: maximum wait for records of the other topic, ms",
    )
    standby_replicas: Annotated[int, Field(ge=0)] = Field(
        0, description="standby copies of the state on other instances"
    )
    conf: dict[str, str] = Field(
        default_factory=dict, description="any Kafka Streams, consumer.* or producer.* setting, by its own name"
    )

    @model_validator(mode="before")
    @classmethod
    def _gather_conf(cls, given: Any) -> Any:
        return gather_conf(given, has_dot)

    @field_validator("conf")
    @classmethod
    def _refuse_reserved(cls, conf: dict[str, str]) -> dict[str, str]:
        for name, instead in _RESERVED_SETTINGS.items():
            if name in conf:
                raise ValueError(f"{name} cannot be set directly: {instead}")
        return conf


class KafkaStreams(Engine):
    name: ClassVar[str] = "kafka-streams"
    title: ClassVar[str] = "Kafka Streams"
    traits: ClassVar[Traits] = Traits(
        workloads=_WORKLOADS,
        delivery="at-least-once",
        gaps=dict.fromkeys(
            ("games/aggregation", "games/identity", "games/join"),
            "there is no program for it: the study has no broker, and Kafka Streams cannot do without one",
        ),
        limits=(
            stateless_limit(_WORKLOADS),
            built_in_only_limit(_WORKLOADS, _CUSTOMISED),
            Limit(
                frozenset({"power/hierarchy"}),
                {"emit": "close"},
                "the sums of a level are a table of those below, and a table publishes updates only",
            ),
        ),
        jar_groups=("java", "kafka-streams"),
        transactional=True,
        # State changes reach the changelog at once, offsets only with the commit.
        recounts_after_failure=True,
        commits_offsets=True,
        only_recipients="an instance of Kafka Streams works only on the partitions that it reads itself",
        memory_mb=0,  # see memory_mb()
    )
    options: ClassVar[type[BaseModel]] = KafkaStreamsOptions

    def versions(self) -> Mapping[str, str]:
        return {"kafka-streams": jars.versions("kafka-streams")["kafka-streams"]}

    def memory_mb(self, options: Mapping[str, Any]) -> int:
        return int(options["instances"] * (options["heap_mb"] + OUTSIDE_HEAP_MB))

    def consumed_delay_s(self, options: Mapping[str, Any]) -> float:
        """It commits what it has processed, and nothing else shows that."""
        return float(options["commit_ms"]) / 1000 + 0.5

    def group_members(self, options: Mapping[str, Any]) -> int:
        return int(options["instances"])

    def prepare(self, say: Callable[[str], None]) -> None:
        compile_java(self.name, _SOURCES, _class_path(), say)

    def plan(self, job: Job) -> Sequence[ProcessSpec]:
        class_path = [classes(self.name, _SOURCES, _class_path()), *_class_path()]
        heap_mb = job.options["heap_mb"]
        base = [
            str(find_java().path),
            f"-Xms{heap_mb}m",
            f"-Xmx{heap_mb}m",
            GC_OPTIONS[job.options["gc"]],
            *JIT_OPTIONS[job.options["jit"]],
            # RocksDB unpacks its library here; the directory is removed with the run.
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
                # Otherwise the first would have worked on a good part of a preloaded input before the last one starts.
                side_by_side=role != roles[-1],
                node=True,
            )
            for role in roles
        ]


def _class_path() -> list[Path]:
    return jars.locations("kafka-streams")
