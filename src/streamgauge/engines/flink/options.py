"""Options of the Flink engine."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from streamgauge.engines.garbage_collector import GarbageCollector, gc_field
from streamgauge.engines.settings import gather_conf, has_dot


class FlinkOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    implementation: Literal["built-in", "customised"] = Field(
        "built-in", description="for stateful workloads: Flink's joins and windows, or a single process function"
    )
    delivery: Literal["at-least-once", "exactly-once"] = Field(
        "at-least-once", description="guarantee of the sink; exactly-once results become visible at the next checkpoint"
    )
    checkpoint_ms: Annotated[int, Field(ge=10)] = Field(1000, description="checkpoint interval, ms")
    buffer_timeout_ms: Annotated[int, Field(ge=0)] = Field(
        100, description="maximum wait for a network buffer to fill, ms; 0 = flush after every record"
    )
    object_reuse: bool = Field(True, description="pass records between chained operators without copying")
    parallelism: Annotated[int, Field(ge=0)] = Field(
        0, description="parallelism of every operator; 0 = all slots except spare ones"
    )
    redistribute: bool = Field(
        False,
        description="one source task per input partition, whose records are spread evenly over all TaskManagers right "
        "after reading",
    )
    taskmanagers: Annotated[int, Field(ge=1)] = Field(2, description="number of TaskManager processes")
    slots: Annotated[int, Field(ge=1)] = Field(1, description="task slots per TaskManager")
    spare: Annotated[int, Field(ge=0)] = Field(
        0, description="additional standby TaskManagers, used when another one is lost"
    )
    state_backend: Literal["hashmap", "rocksdb"] = Field("hashmap", description="where tasks keep their state")
    gc: GarbageCollector = gc_field("the TaskManagers")
    jit: Literal["full", "quick"] = Field(
        "full",
        description="JIT compilation in the JVMs of the TaskManagers; quick = without the optimising compiler, "
        "for short runs of many JVMs on few cores",
    )
    heap_mb: Annotated[int, Field(ge=256)] = Field(512, description="heap per TaskManager, MB")
    instance_memory_mb: Annotated[int, Field(ge=0)] = Field(
        0,
        description="limit of all memory of a TaskManager, MB, by a control group of Linux where that is "
        "permitted; 0 = no limit",
    )
    linger_ms: Annotated[int, Field(ge=0)] = Field(0, description="time the producer waits to fill a batch, ms")
    transaction_timeout_ms: Annotated[int, Field(ge=1000, le=900_000)] = Field(
        60_000, description="time until the broker aborts an open transaction of an exactly-once sink, ms"
    )
    idle_ms: Annotated[int, Field(ge=1)] = Field(
        15_000, description="time until a partition without records no longer holds back the watermark, ms"
    )
    conf: dict[str, str] = Field(default_factory=dict, description="any Flink setting, by its own name")

    @model_validator(mode="before")
    @classmethod
    def _gather_conf(cls, given: Any) -> Any:
        return gather_conf(given, has_dot)

    @model_validator(mode="after")
    def _slots_suffice(self) -> Self:
        slots = self.taskmanagers * self.slots
        if self.parallelism > slots:
            raise ValueError(
                f"parallelism {self.parallelism} exceeds the number of slots: "
                f"taskmanagers {self.taskmanagers} × slots {self.slots} = {slots}"
            )
        return self

    @model_validator(mode="after")
    def _checkpoints_come_in_time(self) -> Self:
        if self.delivery == "exactly-once" and 2 * self.checkpoint_ms > self.transaction_timeout_ms:
            raise ValueError(
                f"transaction_timeout_ms {self.transaction_timeout_ms} must be at least twice checkpoint_ms "
                f"{self.checkpoint_ms}: results become visible at a checkpoint, unless the broker has aborted their "
                "transaction by then"
            )
        return self
