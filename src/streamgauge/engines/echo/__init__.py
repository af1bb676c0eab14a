"""A consumer–producer without a JVM and with known behaviour, for checking the measurement itself."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Annotated, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from streamgauge.contracts import Engine
from streamgauge.engines.echo.workloads import GAPS, WORKLOADS
from streamgauge.engines.job_file import job_file
from streamgauge.model import Job, ProcessSpec, Ready, Stop, Traits

Every = Annotated[int, Field(ge=0)]


class EchoOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    delay_ms: Annotated[float, Field(ge=0, le=60_000)] = Field(
        0.0, description="delay of each record, ms", json_schema_extra={"harder": "more"}
    )
    delay: Literal["fixed", "bimodal", "lognormal"] = Field(
        "fixed",
        description="distribution of the delay; bimodal: 230 ms more for one record in five; lognormal: median "
        "delay_ms, sigma 0.5; both treat delay_ms 0 as 20",
    )
    delay_seed: Annotated[int, Field(ge=0)] = Field(
        1, description="seed of the random delays", json_schema_extra={"harder": None}
    )
    cap_per_s: Annotated[int, Field(ge=0)] = Field(0, description="maximum records read per second; 0 = unlimited")
    drop_every: Every = Field(0, description="drop every n-th record (by n_seq); 0 = none")
    duplicate_every: Every = Field(0, description="publish every n-th record twice; 0 = none")
    alter_every: Every = Field(0, description="alter the last digit (or character) of every n-th record; 0 = none")


class Echo(Engine):
    name: ClassVar[str] = "echo"
    title: ClassVar[str] = "Echo (known delay, for checking the measurement)"
    traits: ClassVar[Traits] = Traits(
        workloads=WORKLOADS,
        gaps=GAPS,
        # Unless told to drop or duplicate, it publishes each record once. It has no checkpoint: what it holds when it
        # is killed, and what arrives until it is started again, is lost.
        delivery="exactly-once",
        needs_java=False,
        transports=frozenset({"kafka", "queue"}),
        only_recipients="it is a single node, which reads all of the input",
        memory_mb=150,
    )
    options: ClassVar[type[BaseModel]] = EchoOptions

    def versions(self) -> Mapping[str, str]:
        return {"echo": version("streamgauge"), "confluent-kafka": version("confluent-kafka")}

    def plan(self, job: Job) -> Sequence[ProcessSpec]:
        return (
            ProcessSpec(
                role="engine",
                group="engine",
                argv=[sys.executable, "-P", "-m", "streamgauge.engines.echo.program", str(job.file)],
                files=job_file(job),
                ready=Ready("event", "ready", timeout_s=30),
                stop=Stop("terminate", grace_s=10),
                node=True,
            ),
        )
