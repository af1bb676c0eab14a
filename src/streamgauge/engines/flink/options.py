"""What can be set of the Flink engine."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from streamgauge.engines.settings import gather_conf, has_dot


class FlinkOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    implementation: Literal["built-in", "customised"] = Field(
        "built-in", description="of workloads with state: Flink's own joins and windows, or one process function"
    )
    delivery: Literal["at-least-once", "exactly-once"] = Field(
        "at-least-once", description="of the sink; exactly-once results become visible with the next checkpoint"
    )
    checkpoint_ms: Annotated[int, Field(ge=10)] = Field(1000, description="interval of the checkpoints")
    buffer_timeout_ms: Annotated[int, Field(ge=0)] = Field(
        100, description="how long a record may wait for others on its way to another task; 0: not at all"
    )
    object_reuse: bool = Field(True, description="hand records on within a task without copying them")
    parallelism: Annotated[int, Field(ge=0)] = Field(
        0, description="of every operator; 0: as many as there are slots, the spare ones not counted"
    )
    taskmanagers: Annotated[int, Field(ge=1)] = Field(2, description="TaskManagers, a process each")
    slots: Annotated[int, Field(ge=1)] = Field(1, description="slots of each TaskManager")
    spare: Annotated[int, Field(ge=0)] = Field(
        0, description="TaskManagers that stand by, so that the job can go on when another one is lost"
    )
    state_backend: Literal["hashmap", "rocksdb"] = Field("hashmap", description="where a task keeps its state")
    heap_mb: Annotated[int, Field(ge=256)] = Field(512, description="heap of each TaskManager")
    linger_ms: Annotated[int, Field(ge=0)] = Field(0, description="how long the producer waits for a fuller batch")
    transaction_timeout_ms: Annotated[int, Field(ge=1000, le=900_000)] = Field(
        60_000, description="after which the broker ends a transaction that an exactly-once sink left open"
    )
    idle_ms: Annotated[int, Field(ge=1)] = Field(
        15_000, description="after which a partition without records no longer holds the watermark back"
    )
    conf: dict[str, str] = Field(default_factory=dict, description="any setting of Flink, by its own name")

    @model_validator(mode="before")
    @classmethod
    def _gather_conf(cls, given: Any) -> Any:
        return gather_conf(given, has_dot)

    @model_validator(mode="after")
    def _slots_suffice(self) -> Self:
        slots = self.taskmanagers * self.slots
        if self.parallelism > slots:
            raise ValueError(
                f"parallelism {self.parallelism} needs as many slots; "
                f"taskmanagers {self.taskmanagers} × slots {self.slots} are {slots}"
            )
        return self

    @model_validator(mode="after")
    def _checkpoints_come_in_time(self) -> Self:
        if self.delivery == "exactly-once" and 2 * self.checkpoint_ms > self.transaction_timeout_ms:
            raise ValueError(
                f"checkpoint_ms {self.checkpoint_ms} needs a transaction_timeout_ms of twice as much at least, not "
                f"{self.transaction_timeout_ms}: results become visible with a checkpoint, if the broker has not ended "
                "their transaction by then"
            )
        return self
