"""Everything that a run would start and need, before anything is started: pure and printable."""

from __future__ import annotations

import math
import re
import secrets
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from streamgauge import defaults, jars, registry
from streamgauge.contracts import Dataset, Transport
from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.evaluate import process as evaluator
from streamgauge.jvm.java import find_java
from streamgauge.machine import description as machine
from streamgauge.measure import faults, load_processes
from streamgauge.measure.command import repeating
from streamgauge.measure.evaluation import heap_need_mb
from streamgauge.model import (
    TRANSPORT_GROUP,
    Job,
    ProcessSpec,
    Ready,
    Scenario,
    Script,
    Stop,
    Stream,
)
from streamgauge.notices import Notice, notice
from streamgauge.processes import memory_limit
from streamgauge.processes.ports import free_port
from streamgauge.rundir import RunDir

RECORD_OVERHEAD_BYTES = 40
"""A record's share of the log's and the Parquet file's own bookkeeping."""
SPARE_DISK_MB = 300
SLICES_HELD = 4
"""Of a run that is evaluated in slices: how many of them exist at a time, in the transport and recorded."""
SLICE_RECORDS_PER_MB = 700
"""In the evaluator's Python process: a million records with 2.7 results each took 1.4 GB while they were judged."""
SLICE_HEAP_MB = 1024
"""Of the evaluator of such a run, and half a kilobyte more for each record of a slice."""
DEFAULT_MASTER, BACKGROUND_MASTER = "local[*]", "local[1]"
BACKGROUND = (sys.executable, "-P", "-m", "streamgauge.processes.background")


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    scenario: Scenario
    out: Path
    transport_address: str | None = None
    master: str = DEFAULT_MASTER
    program: tuple[str, ...] = ()
    temporary: bool = False
    """Remove the run directory when the run has ended, however it ends."""
    load_first: bool = False
    """Start the load before the engine: the engine finds records that are already there."""
    load_master: str = ""
    """The Spark master whose executors send the load; empty: load workers on this machine."""

    @property
    def command(self) -> str:
        """What repeats it, with every value pinned and without secrets."""
        return repeating(self)


@dataclass(frozen=True)
class RunPlan:
    """The run, laid out: who is started, in which order, with what."""

    run: str
    request: Request
    streams: tuple[Stream, ...]
    transport: Transport
    job: Job
    work_dir: Path
    servers: Sequence[ProcessSpec]
    """Of the transport."""
    engine: Sequence[ProcessSpec]
    load: Sequence[ProcessSpec]
    evaluator: Sequence[ProcessSpec]
    server_ports: tuple[int, ...]
    memory_mb: int
    disk_mb: int
    warnings: tuple[Notice, ...] = ()
    """What the user should know about the engine's options."""
    proxy_port: int = 0
    """Where the proxy of a run with a cut listens; 0 without one."""

    @property
    def inputs(self) -> tuple[Stream, ...]:
        return tuple(stream for stream in self.streams if stream.role == "input")

    @property
    def outputs(self) -> tuple[Stream, ...]:
        return tuple(stream for stream in self.streams if stream.role == "output")

    @property
    def processes(self) -> tuple[ProcessSpec, ...]:
        """In the order in which they start."""
        system = (*self.load, *self.engine) if self.transport.in_load else (*self.engine, *self.load)
        return (*self.servers, *system, *self.evaluator)

    def group_of(self, role: str) -> str:
        """The group of a role of this run."""
        return next(spec.group for spec in self.processes if role in spec.roles)


def run_name(scenario: Scenario) -> str:
    """A new one; the run directory has it too, unless the user names that."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return f"{scenario.study}-{scenario.name}-{scenario.engine}-{moment}-{secrets.token_hex(2)}"


def name_of(request: Request) -> str:
    """What the run is called: as its directory, where ``run_name`` made that up, else by a new name."""
    start = re.escape(f"{request.scenario.study}-{request.scenario.name}-{request.scenario.engine}")
    is_own = re.fullmatch(rf"{start}-\d{{8}}-\d{{6}}-[0-9a-f]{{4}}", request.out.name)
    return request.out.name if is_own else run_name(request.scenario)


def needed_jar_groups(scenario: Scenario, own_transport: bool) -> tuple[str, ...]:
    """The jar groups that the run needs: the evaluator's, and those of engine and transport where they have any."""
    groups = {"spark", *registry.engine(scenario.engine).jar_groups(scenario.engine_options)}
    if own_transport:
        groups.update(registry.transport(scenario.transport).jar_groups)
    return tuple(sorted(groups))


def draw(request: Request, run: str, work_dir: Path) -> RunPlan:
    """Lay the run out. Raises UsageError or EnvironmentProblem; writes nothing, starts nothing."""
    scenario = request.scenario
    engine = registry.engine(scenario.engine)
    if request.program and not engine.traits.needs_program:
        raise UsageError(
            f"engine {engine.name} does not take a program",
            got=f"-- {' '.join(request.program)}",
            expected="a program only with --engine command",
            hint=f"--engine command -- {' '.join(request.program)}",
        )
    kind = registry.transport(scenario.transport)
    cuts_load, cuts_engine = (faults.has_cut(scenario, of_load=of_load) for of_load in (True, False))
    proxied = (cuts_load or cuts_engine) and not request.transport_address
    ports = () if request.transport_address else _ports(kind, scenario, proxied=proxied)
    transport = kind.prepare(request.transport_address, ports)
    workload = registry.workload(scenario.workload, scenario.parameters)
    dataset = registry.dataset(scenario.workload, scenario.parameters, scenario.seed, scenario.load)
    if kind.in_load:
        _check_for_queues(scenario, dataset, engine.starting_s(scenario.engine_options))
    transport.group_members = engine.group_members(scenario.engine_options)
    transport.trims = scenario.slice_s > 0
    transport.widths = dataset.widths
    # Each load worker has its share of the load, and so of the bound.
    whole_s = math.ceil(scenario.queue_s)
    bound = scenario.load.most_within(whole_s)
    if not scenario.load.bursts:
        bound = math.ceil(bound * scenario.queue_s / whole_s)
    transport.bound_records = -(-bound // scenario.generators)
    of_engine, of_load = (
        transport.behind_proxy() if proxied and cut else transport for cut in (cuts_engine, cuts_load)
    )
    inputs = tuple(_stream(run, stream.name, scenario, transport, "input") for stream in workload.inputs)
    outputs = tuple(_stream(run, name, scenario, transport, "output") for name in workload.outputs)
    if workload.folded:
        # Its results are told apart by the partition of their input.
        outputs = tuple(replace(stream, partitions=sum(one.partitions for one in inputs)) for stream in outputs)
    job = Job(
        run=run,
        workload=scenario.workload,
        parameters=scenario.parameters,
        transport=transport.name,
        endpoints=of_engine.endpoints,
        inputs={stream.name: stream.address for stream in inputs},
        outputs={stream.name: stream.address for stream in outputs},
        partitions=inputs[0].partitions,
        checkpoint_dir=work_dir / "engine" / "checkpoint",
        work_dir=work_dir / "engine",
        options=scenario.engine_options,
        seed=scenario.seed,
        ports=tuple(free_port() for _ in range(engine.traits.ports)),
        own_transport=transport.own,
        program=request.program,
        script=None if scenario.script is None else _script_paths(scenario.script, RunDir(request.out)),
        data=workload.program_data(scenario.parameters),
    )
    java = find_java()
    held = _records_held(scenario)
    heap_mb = SLICE_HEAP_MB + held // (SLICES_HELD * 2000) if scenario.slice_s else heap_need_mb(held)
    engine_mb = engine.memory_mb(scenario.engine_options)
    transport_mb = transport.memory_mb if transport.own else 0
    servers = [*transport.plan(work_dir, restarts=faults.restarts(scenario, faults.PEER))]
    servers += [_proxy(*ports[-2:])] if proxied else []
    system = [
        replace(spec, memory_max_mb=int(scenario.engine_options.get("instance_memory_mb", 0))) if spec.node else spec
        for spec in engine.plan(job)
    ]
    pause_s = math.ceil(faults.longest_pause_s(scenario, servers))
    load = load_processes.plan(request, inputs, of_load, work_dir, pause_s)
    faults.check(scenario, [*servers, *system, *load], own_transport=transport.own)
    if kind.in_load:
        _check_faults_on_queues(scenario, servers, system)
    load_mb = load_processes.memory_mb(request, pause_s, dataset.record_bytes)
    measuring_mb, evaluating_mb = engine_mb + load_mb, heap_mb + 600
    if scenario.slice_s:
        evaluating_mb += held // (SLICES_HELD * SLICE_RECORDS_PER_MB)
    # The evaluator starts when the engine and the load have stopped, unless it works slice by slice.
    used_mb = measuring_mb + evaluating_mb if scenario.slice_s else max(measuring_mb, evaluating_mb)
    return RunPlan(
        run=run,
        request=request,
        streams=(*inputs, *outputs),
        transport=transport,
        job=job,
        work_dir=work_dir,
        servers=servers,
        engine=system,
        load=load,
        evaluator=evaluator.plan(
            java.path,
            work_dir / "evaluate",
            jars.locations("spark"),
            # Beside the system under test it takes one core, and only what nobody else wants.
            BACKGROUND_MASTER if scenario.slice_s and request.master == DEFAULT_MASTER else request.master,
            heap_mb,
            records=None if scenario.slice_s else held,
            steady=scenario.slice_s > 0,
            before=BACKGROUND if scenario.slice_s else (),
        ),
        server_ports=ports,
        memory_mb=transport_mb + used_mb,
        disk_mb=disk_need_mb(scenario, dataset.record_bytes, own_transport=transport.own),
        warnings=(*engine.warnings(scenario.engine_options), *_unlimited(system)),
        proxy_port=ports[-1] if proxied else 0,
    )


def _unlimited(system: Sequence[ProcessSpec]) -> list[Notice]:
    """A warning for each process whose memory the user wants to be limited, where that cannot be done."""
    limited = [spec.role for spec in system if spec.memory_max_mb]
    if not limited or memory_limit.parent() is not None:
        return []
    return [notice("no-memory-limit", role=", ".join(limited), why=memory_limit.WHY_NOT)]


def _check_for_queues(scenario: Scenario, dataset: Dataset, starting_s: float) -> None:
    """Raises UsageError where load workers cannot serve this scenario themselves."""
    if not dataset.widths:
        raise UsageError(
            f"{scenario.workload} does not run on transport {scenario.transport}",
            got="records of different lengths",
            expected="a workload with records of one length, such as those of the study sustainable",
            hint=defaults.USE_TRANSPORT,
        )
    if scenario.slice_s or not scenario.load.scheduled:
        what = "slices" if scenario.slice_s else f"shape {scenario.load.shape}"
        raise UsageError(f"transport {scenario.transport} does not support {what}", hint=defaults.USE_TRANSPORT)
    waits_s = math.ceil(scenario.load.burst_s + starting_s)
    if scenario.load.before_engine and scenario.queue_s < waits_s:
        raise UsageError(
            f"shape {scenario.load.shape} needs queues that hold the burst and what comes while the engine starts",
            got=f"queue_s={scenario.queue_s:g}",
            expected=f"at least {waits_s} s",
            hint=f"--set queue_s={waits_s}, or {defaults.USE_TRANSPORT}",
        )


def _check_faults_on_queues(scenario: Scenario, servers: Sequence[ProcessSpec], system: Sequence[ProcessSpec]) -> None:
    """Raises UsageError for faults after which the transport could not go on, or would end the run itself."""
    of_servers = {role for spec in servers for role in spec.roles}
    of_system = {role for spec in system for role in spec.roles}
    for fault in scenario.faults:
        if fault.role in of_servers:
            why = "what it has received is only in its memory"
        elif fault.verb == "kill" and fault.for_s and fault.role in of_system:
            why = "a reader that is gone for so long ends the run as not sustained"
        else:
            continue
        raise UsageError(
            f"transport {scenario.transport} does not support the fault {str(fault)!r}",
            got=why,
            expected="a pause, or a kill without `for`, of a process of the engine",
            hint=defaults.USE_TRANSPORT,
        )


def _proxy(server_port: int, port: int) -> ProcessSpec:
    """Between the transport's server and those of its clients that a fault cuts off."""
    return ProcessSpec(
        role=faults.PROXY,
        group=TRANSPORT_GROUP,
        argv=[sys.executable, "-P", "-m", "streamgauge.processes.proxy", str(port), str(server_port)],
        ready=Ready("event", "ready", timeout_s=30),
        stop=Stop("stdin", grace_s=5),
    )


def _stream(run: str, name: str, scenario: Scenario, transport: Transport, role: Literal["input", "output"]) -> Stream:
    partitions = transport.partitions(role, scenario.partitions, scenario.generators)
    return Stream(name, f"streamgauge.{run}.{name}", partitions, role)


def _script_paths(script: Script, run: RunDir) -> dict[str, str]:
    return {"path": script.path, "copy": str(run.script_path.absolute())}


def disk_need_mb(scenario: Scenario, record_bytes: int, *, own_transport: bool) -> int:
    """Input and output, once in the transport (where it is ours) and once recorded, and something to spare."""
    copies = 4 if own_transport else 2
    return _records_held(scenario) * (record_bytes + RECORD_OVERHEAD_BYTES) * copies // 1_000_000 + SPARE_DISK_MB


def _records_held(scenario: Scenario) -> int:
    """How many records exist at a time."""
    if not scenario.slice_s:
        return scenario.load.records
    return min(scenario.load.records, scenario.load.most_within(SLICES_HELD * scenario.slice_s))


def check_room(blueprint: RunPlan) -> None:
    """Refuse a run for which memory or disk will not do, before anything is started."""
    available = machine.available_memory_mb()
    if available < blueprint.memory_mb:
        raise EnvironmentProblem(
            "too little memory for this run",
            got=f"{available:,} MB available",
            expected=f"at least {blueprint.memory_mb:,} MB",
            hint="a smaller --set heap_mb=…, a lower --rate, or stop other programs",
        )
    for where in dict.fromkeys((blueprint.request.out.absolute().parent, blueprint.work_dir.parent)):
        free = machine.free_disk_mb(where)
        if free < blueprint.disk_mb:
            raise EnvironmentProblem(
                "too little disk for this run",
                where=where,
                got=f"{free:,} MB free",
                expected=f"at least {blueprint.disk_mb:,} MB for {blueprint.request.scenario.load.records:,} records",
                hint="a lower --rate, a shorter --for, another --out or TMPDIR",
            )


def _ports(transport: type[Transport], scenario: Scenario, *, proxied: bool) -> tuple[int, ...]:
    """Ports for the transport's servers, the first the wanted one, if it is free; two more for a proxy."""
    count = transport.ports + (scenario.generators if transport.in_load else 0) + (2 if proxied else 0)
    ports = tuple(free_port() for _ in range(count))
    if not (wanted := scenario.broker_port):
        return ports
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError as problem:
            raise EnvironmentProblem(
                f"port {wanted} cannot be used for the {transport.server_noun}",
                where=f"127.0.0.1:{wanted}",
                got=problem.strerror,
                expected="a free port",
                hint="another --set broker_port=…, or 0 for a free one",
            ) from None
    return wanted, *ports[1:]
