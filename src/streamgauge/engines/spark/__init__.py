"""Spark Structured Streaming through PySpark: micro-batches or real-time mode."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from streamgauge import jars
from streamgauge.contracts import Engine
from streamgauge.engines.job_file import job_file
from streamgauge.engines.settings import as_text, gather_conf
from streamgauge.engines.spark import programs
from streamgauge.errors import UsageError
from streamgauge.jvm import spark
from streamgauge.jvm.java import find_java
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


class SparkOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    trigger_ms: Annotated[int, Field(ge=0)] = Field(0, description="interval of the micro-batches; 0: back to back")
    batch_records: Annotated[int, Field(ge=0)] = Field(
        0,
        description="records that a micro-batch takes at most, of each source (maxOffsetsPerTrigger); 0: all there are",
    )
    realtime: bool = Field(False, description="real-time mode: each record on its own, no micro-batches")
    realtime_batch_ms: Annotated[int, Field(ge=5000)] = Field(
        5000, description="how often real-time mode checkpoints; Spark refuses less than 5 s"
    )
    implementation: Literal["built-in", "customised"] = Field(
        "built-in", description="of workloads with state: Spark's own operators, or transformWithState in Python"
    )
    output_mode: Literal["auto", "append", "update"] = Field(
        "auto",
        description="Spark's output mode; auto: update for running results, append for others; real-time mode always "
        "updates",
    )
    state_store: Literal["rocksdb", "memory"] = Field("rocksdb", description="where the state between batches is kept")
    changelog: bool = Field(True, description="RocksDB writes down what a batch changed instead of whole snapshots")
    retained_batches: Annotated[int, Field(ge=1)] = Field(
        2, description="batches whose logs and state are kept; Spark's own default is 100"
    )
    checkpoint_log: Literal["file-system", "file-context"] = Field(
        "file-system",
        description="who writes the two log files of a batch; file-context is Spark's default, and 40 to 80 ms slower",
    )
    constraint_propagation: bool = Field(
        False, description="Spark's own; our join would parse each message four times. A script always has it"
    )
    join_state_format: Annotated[int, Field(ge=1, le=3)] = Field(
        3, description="of built-in joins in RocksDB; 3: one store instead of four. A script has Spark's own, 2"
    )
    serializer: Literal["kryo", "java"] = Field("kryo", description="of Spark's own objects")
    locality_wait_ms: Annotated[int, Field(ge=0)] = Field(100, description="how long a task waits for its place")
    gc: Literal["G1", "Parallel", "Serial"] = Field("G1", description="garbage collector of the driver's JVM")
    cores: Annotated[int, Field(ge=1)] = Field(2, description="task slots, where no master is set")
    shuffle_partitions: Annotated[int, Field(ge=0)] = Field(0, description="0: as many as cores")
    heap_mb: Annotated[int, Field(ge=256)] = Field(1024, description="heap of the driver's JVM")
    master: str = Field("", description="another Spark to run on; empty: local[cores]")
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


class Spark(Engine):
    name: ClassVar[str] = "spark"
    title: ClassVar[str] = "Spark Structured Streaming"
    traits: ClassVar[Traits] = Traits(
        workloads=programs.available(),
        gaps=programs.gaps(),
        delivery="at-least-once",
        limits=programs.limits(),
        jar_groups=("spark",),
        memory_mb=800,
        takes_script=True,
        batch_limit="batch_records",
    )
    options: ClassVar[type[BaseModel]] = SparkOptions

    def versions(self) -> Mapping[str, str]:
        return {"spark": version("pyspark")}

    def runs_here(self, options: Mapping[str, Any]) -> bool:
        """The executors of a cluster are none of the run's processes, wherever they are."""
        return not options["master"] or str(options["master"]).startswith("local")

    def batch_interval_s(self, options: Mapping[str, Any]) -> float:
        """Real-time mode has none, whatever ``trigger_ms`` says."""
        return 0.0 if options["realtime"] else float(options["trigger_ms"]) / 1000

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
        master = options["master"] or f"local[{task_slots(job)}]"
        return (
            ProcessSpec(
                role="engine-jvm",
                group="engine",
                argv=spark.jvm_argv(
                    find_java().path,
                    master=master,
                    conf=_settings(job) | options["conf"],
                    jars=jars.locations("spark"),
                    heap_mb=options["heap_mb"],
                    work_dir=job.work_dir,
                    java_options=[f"-XX:+Use{options['gc']}GC"],
                ),
                env=spark.jvm_env(connection, job.work_dir, master),
                files=job_file(job),
                stop=Stop("stdin", grace_s=15),
            ),
            ProcessSpec(
                role="engine",
                group="engine",
                argv=[sys.executable, "-P", "-m", "streamgauge.engines.spark.program", str(connection), str(job.file)],
                ready=Ready("event", "ready", timeout_s=120),
                stop=Stop("terminate", grace_s=20),
            ),
        )


def task_slots(job: Job) -> int:
    """In real-time mode every partition of every input holds a slot for good; with fewer the query would hang."""
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
    """What our own queries are faster with; a user's script gets Spark as it is."""
    if job.script:
        return {}
    tuned = {"spark.sql.constraintPropagation.enabled": as_text(job.options["constraint_propagation"])}
    if job.options["state_store"] == "rocksdb" and not job.options["realtime"]:
        # The other store knows no format but Spark's; with 3 real-time mode stumbles before it says what it refuses.
        tuned["spark.sql.streaming.join.stateFormatVersion"] = str(job.options["join_state_format"])
    return tuned
