"""The processes that send the load: one for each load worker, or a Spark job with a task for each."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge import defaults, registry
from streamgauge.contracts import Transport
from streamgauge.errors import UsageError
from streamgauge.jvm import spark
from streamgauge.jvm.java import find_java
from streamgauge.load import on_spark
from streamgauge.measure import faults
from streamgauge.model import QUEUE_RECORDS_MAX, QUEUE_S, ProcessSpec, Ready, Scenario, Stop, Stream
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    from streamgauge.measure.plan import Request

_BYTES_PER_MB = 1024 * 1024
WORKER_MB = 200
QUEUED_RECORD_BYTES = 400
"""A record in the sending client's queue, which holds ten seconds of load and what a planned pause adds."""
ON_SPARK = "load"
"""The role of the driver of a load on Spark."""
DRIVER_HEAP_MB, DRIVER_MB = 1024, 1400
TASKS_READY_S = 180
"""A cluster has to start executors and a Python process on each."""


def plan(
    request: Request, inputs: Sequence[Stream], transport: Transport, work_dir: Path, pause_s: int
) -> list[ProcessSpec]:
    """``pause_s``: the longest planned pause of the transport. Pure. Raises UsageError."""
    scenario = request.scenario
    workers = [
        _settings(scenario, inputs, transport, RunDir(request.out), pause_s, index)
        for index in range(scenario.generators)
    ]
    if request.load_master:
        _check_on_spark(request, transport)
        return [_on_spark(request.load_master, workers, work_dir / ON_SPARK)]
    return [
        _worker(role, settings, work_dir / role / "settings.json")
        for role, settings in zip(faults.load_roles(scenario), workers, strict=True)
    ]


def memory_mb(request: Request, pause_s: int, record_bytes: int) -> int:
    """Of these processes, on this machine."""
    scenario = request.scenario
    if registry.transport(scenario.transport).in_load:
        # What may wait for a reader, and what one has fetched and not acknowledged.
        held = min(scenario.load.records, scenario.load.most_within(math.ceil(scenario.queue_s + QUEUE_S)))
        return scenario.generators * WORKER_MB + held * record_bytes // _BYTES_PER_MB
    if request.load_master and not spark.is_local(request.load_master):
        return DRIVER_MB
    queued = min(scenario.load.most_within(QUEUE_S + pause_s), QUEUE_RECORDS_MAX)
    workers_mb = scenario.generators * WORKER_MB + queued * QUEUED_RECORD_BYTES // _BYTES_PER_MB
    return workers_mb + (DRIVER_MB if request.load_master else 0)


def _settings(
    scenario: Scenario, inputs: Sequence[Stream], transport: Transport, run: RunDir, pause_s: int, index: int
) -> dict[str, Any]:
    """What a load worker reads at its start."""
    return {
        "transport": transport.describe(),
        "streams": [{"name": stream.name, "address": stream.address} for stream in inputs],
        "workload": {"name": scenario.workload, "parameters": dict(scenario.parameters), "seed": scenario.seed},
        "plan": asdict(scenario.load),
        "ledger": str(run.ledger(index).absolute()),
        "worker": {"index": index, "of": scenario.generators},
        "pause_s": pause_s,
        "part_s": scenario.slice_s,
    }


def _worker(role: str, settings: dict[str, Any], file: Path) -> ProcessSpec:
    return ProcessSpec(
        role=role,
        group="load",
        argv=[sys.executable, "-P", "-m", "streamgauge.load.worker", str(file)],
        files={file: json.dumps(settings, indent=1) + "\n"},
        ready=Ready("event", "ready", timeout_s=60),
        stop=Stop("terminate", grace_s=15),
    )


def _on_spark(master: str, workers: Sequence[dict[str, Any]], work_dir: Path) -> ProcessSpec:
    settings, connection = work_dir / "settings.json", work_dir / "connection"
    # The number of executors of one core each: for a standalone cluster, and for YARN and Kubernetes.
    executors = dict.fromkeys(("spark.cores.max", "spark.executor.instances"), str(len(workers)))
    conf = {**on_spark.conf(master), **executors}
    jvm = spark.jvm_argv(find_java().path, master=master, conf=conf, heap_mb=DRIVER_HEAP_MB, work_dir=work_dir)
    return ProcessSpec(
        role=ON_SPARK,
        group="load",
        argv=[sys.executable, "-P", "-m", "streamgauge.load.on_spark", str(settings), str(connection), *jvm],
        env=spark.jvm_env(connection, work_dir, master, measured=False),
        files={settings: json.dumps({"workers": list(workers)}, indent=1) + "\n"},
        ready=Ready("event", "ready", timeout_s=TASKS_READY_S),
        stop=Stop("terminate", grace_s=on_spark.LEDGERS_S + 30),
    )


def _check_on_spark(request: Request, transport: Transport) -> None:
    """Raises UsageError where tasks of a Spark job cannot send this load."""
    scenario, typed = request.scenario, f"--load-master {request.load_master}"
    if transport.in_load:
        raise UsageError(
            f"{typed} does not support transport {transport.name}: its load workers have to be on this machine",
            hint=f"leave out --load-master, or {defaults.USE_TRANSPORT}",
        )
    if scenario.slice_s:
        raise UsageError(
            f"{typed} does not support slices: the ledgers of the tasks come back at the end of the load",
            hint="leave out --load-master, or --set slice_s=0",
        )
    if transport.own and not spark.on_this_machine(request.load_master):
        raise UsageError(
            f"{typed} needs your own {transport.server_noun}: the one that streamgauge starts listens on "
            f"{spark.LOOPBACK} only",
            expected="an address that the executors reach",
            hint="--bootstrap HOST:PORT",
        )
    refused = next((fault.verb for fault in scenario.faults if fault.role == ON_SPARK and fault.verb != "kill"), None)
    if refused is not None:
        what = "connections" if refused == "cut" else "load workers"
        raise UsageError(
            f"{typed} does not support a {refused} of {ON_SPARK}: its {what} belong to processes of Spark",
            expected=f"'kill {ON_SPARK} …', or a fault of another role",
        )
