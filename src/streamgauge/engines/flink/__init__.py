"""Apache Flink: a standalone cluster for each run, in application mode."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from streamgauge.contracts import Engine
from streamgauge.engines import java
from streamgauge.engines.flink import cluster
from streamgauge.engines.flink.options import FlinkOptions
from streamgauge.engines.programs import built_in_only_limit, java_workloads, redistribution_limit, stateless_limit
from streamgauge.model import Job, ProcessSpec, Ready, Stop, Traits

SOURCES = Path(__file__).parent / "java"
STARTING_TASK_MANAGER_S = 1.5
"""About how long the start takes longer with each further TaskManager, on two cores."""

_WORKLOADS = java_workloads(SOURCES, cluster.JAVA_PACKAGE)
_CUSTOMISED = java_workloads(SOURCES, cluster.JAVA_PACKAGE, "Customised")
_REDISTRIBUTED = frozenset(name for name in _WORKLOADS if name.startswith("streambench/"))
"""Those whose program reads by ``Topics.spread``."""


class Flink(Engine):
    name: ClassVar[str] = "flink"
    title: ClassVar[str] = "Apache Flink"
    traits: ClassVar[Traits] = Traits(
        workloads=_WORKLOADS,
        delivery="at-least-once",
        limits=(
            stateless_limit(_WORKLOADS),
            built_in_only_limit(_WORKLOADS, _CUSTOMISED),
            redistribution_limit(_WORKLOADS, _REDISTRIBUTED),
        ),
        transports=frozenset({"kafka", "queue"}),
        jar_groups=("java", "flink"),
        packages=(cluster.PACKAGE,),
        ports=2,
        transactional=True,
        commits_offsets=True,
        memory_mb=700,  # the JobManager and the watcher
    )
    options: ClassVar[type[BaseModel]] = FlinkOptions

    def versions(self) -> Mapping[str, str]:
        return {"flink": version(cluster.PACKAGE)}

    def memory_mb(self, options: Mapping[str, Any]) -> int:
        task_managers = options["taskmanagers"] + options["spare"]
        return self.traits.memory_mb + int(task_managers * (options["heap_mb"] + cluster.outside_heap_mb(options)))

    def consumed_delay_s(self, options: Mapping[str, Any]) -> float:
        """The watcher looks four times a second, and gets what was fetched for the look before."""
        return 1.0

    def starting_s(self, options: Mapping[str, Any]) -> float:
        further = options["taskmanagers"] + options["spare"] - 1
        return super().starting_s(options) + float(further * STARTING_TASK_MANAGER_S)

    def only_recipients(self, options: Mapping[str, Any]) -> str:
        return "the only TaskManager reads all of the input" if options["taskmanagers"] == 1 else ""

    def keeps_order(self, options: Mapping[str, Any]) -> bool:
        return not options["redistribute"]

    def prepare(self, say: Callable[[str], None]) -> None:
        java.compile_java(self.name, SOURCES, cluster.libraries(), say)

    def plan(self, job: Job) -> Sequence[ProcessSpec]:
        classes = java.classes(self.name, SOURCES, cluster.libraries())
        working = range(1, job.options["taskmanagers"] + 1)
        spare = range(1, job.options["spare"] + 1)
        return (
            cluster.job_manager(job, classes),
            *(cluster.task_manager(job, classes, f"taskmanager-{number}") for number in working),
            ProcessSpec(
                role="watcher",
                group="engine",
                argv=[
                    sys.executable,
                    "-P",
                    "-m",
                    "streamgauge.engines.flink.program",
                    cluster.rest_address(job),
                    str(job.file),
                ],
                ready=Ready("event", "ready", timeout_s=120),
                stop=Stop("terminate", grace_s=10),
                watches=True,
            ),
            # Started after the job has taken its slots, so that these TaskManagers stay spare.
            *(cluster.task_manager(job, classes, f"spare-{number}", spare=True) for number in spare),
        )
