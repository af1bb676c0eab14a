"""Any program that speaks the protocol, in any language: docs/howto/own-command.md."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from streamgauge import registry
from streamgauge.contracts import Engine
from streamgauge.engines.job_file import job_file
from streamgauge.errors import UsageError
from streamgauge.model import Delivery, Job, ProcessSpec, Ready, Stop, Traits


class CommandOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    delivery: Delivery = Field("at-least-once", description="the guarantee that the program claims")
    recounts_after_failure: bool = Field(
        False,
        description="whether an input that is read again after a failure may be counted twice (at-least-once only)",
    )
    ready_timeout_s: Annotated[float, Field(gt=0)] = Field(60.0, description="how long its start may take")
    stop_timeout_s: Annotated[float, Field(gt=0)] = Field(15.0, description="how long its end may take")


class Command(Engine):
    name: ClassVar[str] = "command"
    title: ClassVar[str] = "Your own program, given after --"
    traits: ClassVar[Traits] = Traits(
        # Which ones the program runs is up to its author.
        workloads=frozenset(registry.names("workloads")),
        delivery="at-least-once",
        # What is declared. Whether it is so is seen in the output, which is watched in either case.
        transactional=True,
        needs_java=False,
        needs_program=True,
        memory_mb=100,
    )
    options: ClassVar[type[BaseModel]] = CommandOptions

    def versions(self) -> Mapping[str, str]:
        return {"command": "your own"}

    def plan(self, job: Job) -> Sequence[ProcessSpec]:
        if not job.program:
            raise UsageError(
                "the engine `command` needs a program",
                expected="your program after --; its last argument is the path of job.json, which names the workload",
                hint="streamgauge run ospbench/latency --engine command -- python my_engine.py",
            )
        program, *arguments = job.program
        executable = shutil.which(program)
        if executable is None:
            raise UsageError("the program was not found", got=program, expected="a file that can be executed")
        return (
            ProcessSpec(
                role="engine",
                group="engine",
                argv=[str(Path(executable).absolute()), *arguments, str(job.file)],
                files=job_file(job),
                ready=Ready("event", "ready", timeout_s=float(job.options["ready_timeout_s"])),
                stop=Stop("terminate", grace_s=float(job.options["stop_timeout_s"])),
                keeps_environment=True,
            ),
        )
