"""Any program, in any language (docs/howto/own-command.md).

It implements the protocol, or takes addresses and topics as arguments: ``{bootstrap}``, ``{orders}`` for the stream
*orders*, ``{group}``. Then it is ready when its consumers have the partitions of the input.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from streamgauge import registry
from streamgauge.contracts import Engine
from streamgauge.engines.job_file import job_file
from streamgauge.errors import UsageError
from streamgauge.model import Delivery, Job, ProcessSpec, Ready, Stop, Traits

_PLACEHOLDER = re.compile(r"\{([A-Za-z0-9._-]+)\}")
_ENDED_BY_SIGNAL = (0, 130, 143)


class CommandOptions(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    delivery: Delivery = Field("at-least-once", description="delivery guarantee of the program")
    recounts_after_failure: bool = Field(
        False,
        description="whether inputs replayed after a failure may be counted twice (at-least-once only)",
    )
    ready_timeout_s: Annotated[float, Field(gt=0)] = Field(
        60.0, description="time limit for startup, s", json_schema_extra={"harder": None}
    )
    stop_timeout_s: Annotated[float, Field(gt=0)] = Field(
        15.0, description="time limit for shutdown, s", json_schema_extra={"harder": None}
    )


class Command(Engine):
    name: ClassVar[str] = "command"
    title: ClassVar[str] = "Your own program, given after --"
    traits: ClassVar[Traits] = Traits(
        # Which of them the program implements is up to its author.
        workloads=frozenset(registry.names("workloads")),
        delivery="at-least-once",
        # As declared; the output is watched for transactions either way.
        transactional=True,
        transports=frozenset(registry.names("transports")),
        needs_java=False,
        needs_program=True,
        only_recipients="streamgauge does not know the nodes of your own program",
        memory_mb=100,
    )
    options: ClassVar[type[BaseModel]] = CommandOptions

    def versions(self) -> Mapping[str, str]:
        return {"command": "your own"}

    def plan(self, job: Job) -> Sequence[ProcessSpec]:
        if not job.program:
            raise UsageError(
                "engine command needs a program",
                expected="your program after --; its last argument is the path of job.json, which names the workload",
                hint="streamgauge run ospbench/latency --engine command -- python my_engine.py",
            )
        program, *arguments = job.program
        executable = shutil.which(program)
        if executable is None:
            raise UsageError("program not found", got=program, expected="an executable file")
        if any(_PLACEHOLDER.search(argument) for argument in arguments):
            return _without_protocol(job, str(Path(executable).absolute()), arguments)
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


def _without_protocol(job: Job, executable: str, arguments: Sequence[str]) -> Sequence[ProcessSpec]:
    """The program, and a process that watches its consumer group."""
    known = {**job.endpoints, **job.outputs, **job.inputs, "group": job.group, "partitions": str(job.partitions)}

    def filled(argument: str) -> str:
        for name in _PLACEHOLDER.findall(argument):
            if name not in known:
                raise UsageError(
                    f"the program has an unknown placeholder: {{{name}}}",
                    got=argument,
                    expected=f"one of {', '.join(f'{{{one}}}' for one in sorted(known))}",
                )
        return _PLACEHOLDER.sub(lambda match: known[match[1]], argument)

    grace_s = float(job.options["stop_timeout_s"])
    return (
        ProcessSpec(
            role="engine",
            group="engine",
            argv=[executable, *map(filled, arguments)],
            stop=Stop("terminate", grace_s=grace_s, exit_codes=_ENDED_BY_SIGNAL),
            keeps_environment=True,
        ),
        ProcessSpec(
            role="watcher",
            group="engine",
            argv=[sys.executable, "-P", "-m", "streamgauge.engines.command.watcher", str(job.file)],
            files=job_file(job),
            ready=Ready("event", "ready", timeout_s=float(job.options["ready_timeout_s"])),
            stop=Stop("terminate", grace_s=5),
            watches=True,
        ),
    )
