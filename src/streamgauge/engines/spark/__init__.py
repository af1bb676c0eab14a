"""Spark Structured Streaming through PySpark: micro-batches or real-time mode."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from streamgauge import jars
from streamgauge.contracts import Engine
from streamgauge.engines.garbage_collector import GC_OPTIONS, GarbageCollector, gc_field
from streamgauge.engines.job_file import job_file
from streamgauge.engines.settings import as_text, gather_conf
from streamgauge.engines.spark import cluster, programs
from streamgauge.errors import Unsupported, UsageError
from streamgauge.jvm import spark
from streamgauge.jvm.java import JIT_OPTIONS, find_java
from streamgauge.model import Job, ProcessSpec, Ready, Stop, Traits
from streamgauge.notices import Notice, notice

_CHECKPOINT_LOGS = {
    "file-system": "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager",
    "file-context": "org.apache.spark.sql.execution.streaming.checkpointing.FileContextBasedCheckpointFileManager",
}
_STATE_STORES = {
    "rocksdb": "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    "memory": "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider",
}
_EXECUTOR_HEAP_MIN_MB = 450
"""Spark refuses an executor with less."""


class SparkOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    trigger_ms: Annotated[int, Field(ge=0)] = Field(0, description="micro-batch interval, ms; 0 = back to back")
    batch_records: Annotated[int, Field(ge=0)] = Field(
        0,
        description="maximum records per micro-batch and source (maxOffsetsPerTrigger); 0 = unlimited",
    )
    realtime: bool = Field(
        False, description="real-time mode: process each record as it arrives, without micro-batches"
    )
    realtime_batch_ms: Annotated[int, Field(ge=5000)] = Field(
        5000, description="checkpoint interval of real-time mode, ms; Spark requires at least 5000"
    )
    implementation: Literal["built-in", "customised"] = Field(
        "built-in", description="for stateful workloads: Spark's operators, or transformWithState in Python"
    )
    redistribute: bool = Field(
        False,
        description="spread records evenly over all task slots right after reading, so that executors that do not read "
        "get work, too",
    )
    output_mode: Literal["auto", "append", "update"] = Field(
        "auto",
        description="output mode; auto = update for running results and in real-time mode, append otherwise",
    )
    state_store: Literal["rocksdb", "memory"] = Field("rocksdb", description="where state is kept between batches")
    changelog: bool = Field(True, description="for RocksDB: write a changelog per batch instead of full snapshots")
    retained_batches: Annotated[int, Field(ge=1)] = Field(
        2, description="batches whose logs and state are kept; Spark's default is 100"
    )
    checkpoint_log: Literal["file-system", "file-context"] = Field(
        "file-system",
        description="writer of the checkpoint logs; file-context is Spark's default, and 40 to 80 ms slower per batch",
    )
    constraint_propagation: bool = Field(
        False,
        description="constraint propagation in the optimiser; with it, joins parse each message four times; always on "
        "for scripts",
    )
    join_state_format: Annotated[int, Field(ge=1, le=3)] = Field(
        3, description="state format of built-in joins in RocksDB; 3 = one store instead of four; always 2 for scripts"
    )
    serializer: Literal["kryo", "java"] = Field("kryo", description="serializer of Spark's internal objects")
    locality_wait_ms: Annotated[int, Field(ge=0)] = Field(
        100, description="time a task waits for a data-local slot, ms"
    )
    gc: GarbageCollector = gc_field("driver and executors")
    jit: Literal["full", "quick"] = Field(
        "full",
        description="JIT compilation in the JVMs of driver and executors; quick = without the optimising compiler, "
        "for short runs of many JVMs on few cores",
    )
    cluster: Literal["local", "standalone"] = Field(
        "local", description="local = one JVM; standalone = a Master and Workers that the run starts"
    )
    workers: Annotated[int, Field(ge=0, le=64)] = Field(0, description="Workers of a standalone cluster; 0 = 2")
    worker_cores: Annotated[int, Field(ge=0)] = Field(0, description="task slots of each Worker; 0 = 1")
    worker_memory_mb: Annotated[int, Field(ge=0)] = Field(
        0, description="heap of the executor on each Worker, MB; 0 = 1024"
    )
    cores: Annotated[int, Field(ge=1)] = Field(
        2, description="task slots, if master is empty; with cluster=standalone always workers × worker_cores"
    )
    shuffle_partitions: Annotated[int, Field(ge=0)] = Field(0, description="shuffle partitions; 0 = one per core")
    heap_mb: Annotated[int, Field(ge=256)] = Field(1024, description="heap of the driver, MB")
    instance_memory_mb: Annotated[int, Field(ge=0)] = Field(
        0,
        description="limit of all memory of a Worker with its executor (without a cluster: of the JVM), MB, by a "
        "control group of Linux where that is permitted; 0 = no limit",
    )
    master: str = Field("", description="Spark master to connect to; empty = local[cores]")
    conf: dict[str, str] = Field(default_factory=dict, description="any spark.* setting, by its own name")

    @field_validator("master")
    @classmethod
    def _check_master(cls, master: str) -> str:
        if master:
            try:
                spark.check_master(master)
            except UsageError as problem:
                raise ValueError(f"expected {problem.expected}") from None
        return master

    @model_validator(mode="before")
    @classmethod
    def _gather_conf(cls, given: Any) -> Any:
        return gather_conf(given, lambda key: key.startswith("spark."))

    @model_validator(mode="before")
    @classmethod
    def _size_cluster(cls, given: Any) -> Any:
        """Write down what 0 means, and the cores of the whole cluster."""
        if not isinstance(given, Mapping) or given.get("cluster") != "standalone":
            return given
        sizes = {name: given.get(name) or default for name, default in cluster.DEFAULTS.items()}
        if not all(type(size) is int and size > 0 for size in sizes.values()):
            return given  # refused later
        return {**given, **sizes, "cores": sizes["workers"] * sizes["worker_cores"]}

    @model_validator(mode="after")
    def _check_cluster(self) -> Self:
        if self.cluster == "standalone" and self.master:
            # Of a study's experiments, those with a cluster of their own are a gap on yours.
            raise Unsupported(
                "cluster=standalone and master conflict",
                got="a run starts a cluster itself, or uses yours",
                hint="--set cluster=local, or leave out master",
            )
        needless = [name for name in cluster.DEFAULTS if self.cluster == "local" and getattr(self, name)]
        if needless:
            set_ = ", ".join(f"{name}={getattr(self, name)}" for name in needless)
            raise ValueError(f"{set_}: expected only with cluster=standalone")
        if self.cluster == "standalone" and self.worker_memory_mb < _EXECUTOR_HEAP_MIN_MB:
            raise ValueError(f"worker_memory_mb={self.worker_memory_mb}: expected at least {_EXECUTOR_HEAP_MIN_MB}")
        return self


class Spark(Engine):
    name: ClassVar[str] = "spark"
    title: ClassVar[str] = "Spark Structured Streaming"
    traits: ClassVar[Traits] = Traits(
        workloads=programs.available(),
        gaps=programs.gaps(),
        transports=frozenset({"kafka", "queue"}),
        delivery="at-least-once",
        limits=programs.limits(),
        jar_groups=("spark",),
        ports=2,
        memory_mb=800,
        takes_script=True,
        batch_limit="batch_records",
    )
    options: ClassVar[type[BaseModel]] = SparkOptions

    def versions(self) -> Mapping[str, str]:
        return {"spark": version("pyspark")}

    def runs_here(self, options: Mapping[str, Any]) -> bool:
        """The executors of a cluster are not processes of the run, even on this machine."""
        return not options["master"] or spark.is_local(options["master"])

    def only_recipients(self, options: Mapping[str, Any]) -> str:
        if options["cluster"] == "standalone":
            return "the only Worker reads all of the input" if options["workers"] == 1 else ""
        if self.runs_here(options):
            return "without cluster=standalone, a single JVM reads all of the input"
        return "the executors of your cluster are not processes of the run"

    def memory_mb(self, options: Mapping[str, Any]) -> int:
        standalone_mb = cluster.memory_mb(options) if options["cluster"] == "standalone" else 0
        return super().memory_mb(options) + standalone_mb

    def starting_s(self, options: Mapping[str, Any]) -> float:
        standalone_s = cluster.starting_s(options) if options["cluster"] == "standalone" else 0.0
        return super().starting_s(options) + standalone_s

    def batch_interval_s(self, options: Mapping[str, Any]) -> float:
        """0 in real-time mode, whatever ``trigger_ms`` is."""
        return 0.0 if options["realtime"] else float(options["trigger_ms"]) / 1000

    def consumed_delay_s(self, options: Mapping[str, Any]) -> float:
        """With each batch, before its offsets are committed."""
        return 0.5

    def micro_batches(self, options: Mapping[str, Any]) -> bool:
        return not options["realtime"]

    def warnings(self, options: Mapping[str, Any]) -> list[Notice]:
        from streamgauge.engines.spark import known_settings

        system = f"Spark {version('pyspark')}"
        return [
            notice("unknown-setting", system=system, name=name, meant=f"; did you mean {near[0]}?" if near else "")
            for name, near in known_settings.unknown(options["conf"]).items()
        ]

    def plan(self, job: Job) -> Sequence[ProcessSpec]:
        connection = job.work_dir / "connection"
        options = job.options
        if job.script and options["redistribute"]:
            raise UsageError(
                "redistribute=true and a script conflict: a script decides itself how records are spread",
                got=f"--script {job.script['path']}",
                hint="repartition() in the script, and leave out --set redistribute=true",
            )
        standalone = options["cluster"] == "standalone"
        master = cluster.address(job) if standalone else options["master"] or f"local[{task_slots(job)}]"
        jvm_argv = spark.jvm_argv(
            find_java().path,
            master=master,
            conf=_settings(job) | (cluster.settings(job) if standalone else {}) | options["conf"],
            jars=jars.locations("spark"),
            heap_mb=options["heap_mb"],
            work_dir=job.work_dir,
            java_options=[GC_OPTIONS[options["gc"]], *JIT_OPTIONS[options["jit"]]],
        )
        jvm_env = spark.jvm_env(connection, job.work_dir, master)
        if standalone:
            return cluster.processes(job, connection, jvm_argv, jvm_env)
        return (
            ProcessSpec(
                role="engine-jvm",
                group="engine",
                argv=jvm_argv,
                env=jvm_env,
                # Emptied before each start: the program must not connect to a JVM that was killed.
                files={**job_file(job), connection: ""},
                stop=Stop("stdin", grace_s=15),
                part_of="driver",
                # On a cluster of the user's, the executors are the nodes, which are not processes of the run.
                node=self.runs_here(options),
            ),
            ProcessSpec(
                role="engine",
                group="engine",
                argv=[sys.executable, "-P", "-m", "streamgauge.engines.spark.program", str(connection), str(job.file)],
                ready=Ready("event", "ready", timeout_s=120),
                stop=Stop("terminate", grace_s=20),
                part_of="driver",
            ),
        )


def task_slots(job: Job) -> int:
    """In real-time mode every input partition occupies a slot permanently; with fewer slots the query would hang."""
    cores: int = job.options["cores"]
    return max(cores, len(job.inputs) * job.partitions) if job.options["realtime"] else cores


def _settings(job: Job) -> dict[str, str]:
    options = job.options
    return {
        **_tuned(job),
        "spark.sql.shuffle.partitions": str(options["shuffle_partitions"] or options["cores"]),
        "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINT_LOGS[options["checkpoint_log"]],
        "spark.sql.streaming.minBatchesToRetain": str(options["retained_batches"]),
        "spark.sql.streaming.stateStore.providerClass": _STATE_STORES[options["state_store"]],
        "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": as_text(options["changelog"]),
        "spark.sql.session.timeZone": "UTC",
        "spark.serializer": f"org.apache.spark.serializer.{options['serializer'].capitalize()}Serializer",
        "spark.locality.wait": f"{options['locality_wait_ms']}ms",
    }


def _tuned(job: Job) -> dict[str, str]:
    """Settings that make the built-in queries faster; a script gets Spark's defaults."""
    if job.script:
        return {}
    tuned = {"spark.sql.constraintPropagation.enabled": as_text(job.options["constraint_propagation"])}
    if job.options["state_store"] == "rocksdb" and not job.options["realtime"]:
        # The memory store has only the default format; with format 3, real-time mode fails with an unrelated error.
        tuned["spark.sql.streaming.join.stateFormatVersion"] = str(job.options["join_state_format"])
    return tuned
