"""``streamgauge plan``: everything that a run would start and need. Starts nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli import terminal
from streamgauge.cli.layout import echo_json, wrapped
from streamgauge.cli.request import takes_request
from streamgauge.cli.stages import Stages, build_stages

if TYPE_CHECKING:
    from streamgauge.measure.plan import Request, RunPlan
    from streamgauge.model import Fault, LoadPlan, Scenario, Stream

FORMAT = 1


@partial(takes_request, make=build_stages)
def plan(
    stages: Stages,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print JSON alone on stdout: format, run, scenario, engine, load, streams, processes, memory_mb, "
            "disk_mb, … or, with --set stage=all, format and stages.",
        ),
    ] = False,
) -> None:
    """Print what `run` would start, with the value of every option, and the memory and disk it would need.

    Refuses whatever `run` would refuse, with the same message and exit code. Starts and writes nothing.
    """
    from streamgauge.campaigns.repetition import check_free
    from streamgauge.measure import preflight

    if stages.out is not None:
        check_free(stages.out)
    checked = {stage: preflight.check(request) for stage, request in stages.requests.items()}
    for warning in dict.fromkeys(warning for one in checked.values() for warning in one.warnings):
        typer.echo(f"warning: {warning}", err=True)
    if as_json:
        described = {stage: _described(one) for stage, one in checked.items()}
        only = next(iter(described.values()))
        echo_json({"format": FORMAT, **(only if stages.out is None else {"stages": described})})
        return
    for number, one in enumerate(checked.values()):
        if number:
            typer.echo("")
        _print(one)
    for stage, reason in stages.lacking.items():
        typer.echo(wrapped("\nnot run      ", f"{stage}: {reason}"))


def _described(plan: RunPlan) -> dict[str, Any]:
    """The plan as JSON. Keys may be added, but are never removed or renamed within a format."""
    from streamgauge.machine import description as machine
    from streamgauge.redaction import redact_options

    request, scenario = plan.request, plan.request.scenario
    missing, preloaded = _missing_jars(plan), scenario.load.shape == "preloaded"
    return {
        "run": plan.run,
        "scenario": f"{scenario.study}/{scenario.name}",
        "profile": scenario.profile,
        "title": scenario.title,
        "workload": scenario.workload,
        scenario.choice: scenario.chosen,
        "engine": scenario.engine,
        "engine_options": redact_options(scenario.engine_options),
        "script": scenario.script.path if scenario.script else None,
        "load": {**asdict(scenario.load), "records": scenario.load.records},
        "drain_deadline_s": scenario.drain_deadline_s,
        "parameters": dict(scenario.parameters),
        "seed": scenario.seed,
        "generators": scenario.generators,
        "sustained": scenario.sustained,
        "slo": list(scenario.slo),
        "faults": [
            {
                "fault": str(fault),
                "after_load_start_s": None if preloaded else _after_load_start_s(fault, scenario),
                "after_engine_ready_s": fault.at if preloaded else None,
            }
            for fault in _single_faults(scenario)
        ],
        "streams": [
            {"name": one.name, "address": one.address, "partitions": one.partitions, "role": one.role}
            for one in plan.streams
        ],
        "transport": {"name": plan.transport.name, "own": plan.transport.own, "address": plan.transport.address},
        "processes": [
            {
                "role": spec.role,
                "group": spec.group,
                "command": _command(plan, spec.argv),
                "members": [member.role for member in spec.members],
                "node": spec.node,
            }
            for spec in plan.processes
        ],
        "memory_mb": {"needed": plan.memory_mb, "available": machine.available_memory_mb()},
        "disk_mb": {"needed": plan.disk_mb, "available": machine.free_disk_mb(request.out)},
        "jars": {"missing": len(missing), "mb": round(sum(jar.size for jar in missing) / 1e6)},
        "out": str(request.out),
        "warnings": list(plan.warnings),
    }


def _single_faults(scenario: Scenario) -> list[Fault]:
    """Every time that a fault acts."""
    return [one for fault in scenario.faults for one in fault.occurrences(scenario.load.measured_s)]


def _after_load_start_s(fault: Fault, scenario: Scenario) -> float:
    return scenario.load.warmup_s + fault.at_s(scenario.load.measured_s)


def _missing_jars(plan: RunPlan) -> list[Any]:
    from streamgauge import jars
    from streamgauge.measure.plan import needed_jar_groups

    return jars.missing(needed_jar_groups(plan.request.scenario, own_transport=plan.transport.own))


def _command(plan: RunPlan, argv: Sequence[str]) -> list[str]:
    """The command without secrets; WORK stands for the temporary directory, whose name differs in every run."""
    from streamgauge.redaction import redact_arguments

    return [word.replace(str(plan.work_dir), "WORK") for word in redact_arguments(argv)]


def _print(plan: RunPlan) -> None:
    from streamgauge import registry
    from streamgauge.machine import description as machine
    from streamgauge.redaction import redact_options

    request, scenario, transport = plan.request, plan.request.scenario, plan.transport
    typer.echo(wrapped("", f"{scenario.study}/{scenario.name} ({scenario.profile}): {scenario.title}"))
    _field("workload", f"{scenario.workload} on {scenario.engine}")
    if script := scenario.script:
        checked = f"results checked by {', '.join(script.key)}" if script.key else "unvalidated: it has no reference"
        _field("", f"replaced by your own: {script.path}, {checked}")
    _print_load(request)
    addresses = ", ".join(f"{stream.address} ({_partitions(stream)})" for stream in plan.streams)
    _field(f"{transport.stream_noun}s", addresses)
    _field("sustained", scenario.sustained or "not judged")
    for objective in scenario.slo:
        _field("slo", objective)
    for fault in _single_faults(scenario):
        if scenario.load.shape == "preloaded":
            moment = f"{fault.at:g} s after the engine is ready"
        else:
            moment = f"{_after_load_start_s(fault, scenario):g} s after the start of the load"
        _field("fault", f"{fault}: {moment}")
    options = redact_options(scenario.engine_options)
    _field("options", ", ".join(f"{key}={_shown(value)}" for key, value in options.items()) or "none")
    if options:
        _field("", f"(streamgauge list {scenario.engine} explains them)")
    where = "" if terminal.detail.verbose else "; -v prints their whole commands"
    typer.echo(f"processes, in this order{where}")
    for spec in plan.processes:
        words = _command(plan, spec.argv)
        if terminal.detail.verbose:
            typer.echo(f"  {spec.role:<14} {_short(words)}")
        else:
            part = f" (part of the role {spec.part_of})" if spec.part_of else ""
            typer.echo(f"  {spec.role:<14} {_program(words)}{part}")
        for member in spec.members:
            typer.echo(f"  {member.role:<14} started by {spec.role}: {member.argument}")
    for head, text in registry.engine(request.scenario.engine).notes(plan.job).items():
        _field(head, text)
    if not transport.own:
        only = f"only the {transport.stream_noun}s above are created, and removed again"
        _field(transport.server_noun, f"yours, {transport.address}; {only}")
    _field("memory", f"{plan.memory_mb:,} MB of {machine.available_memory_mb():,} MB available")
    _field("disk", f"{plan.disk_mb:,} MB of {machine.free_disk_mb(request.out):,} MB available")
    if missing := _missing_jars(plan):
        size_mb = sum(jar.size for jar in missing) / 1e6
        _field("jars", f"{len(missing)} are fetched first, {size_mb:.0f} MB (streamgauge fetch brings them now)")
    _field("run", plan.run)
    _field("directory", str(request.out))


def _print_load(request: Request) -> None:
    from streamgauge import registry

    scenario, load = request.scenario, request.scenario.load
    times = f"warm-up {load.warmup_s:g} s, measured {load.measured_s:g} s, tail {load.tail_s:g} s, "
    rate = f"{load.rate_per_s:,}/s, "
    if load.shape == "preloaded":
        times = rate = ""
    _field("load", f"{rate}{load.records:,} records: {times}drain at most {scenario.drain_deadline_s:g} s")
    _field("", _shape(load))
    if load.shape != "preloaded":
        typer.echo(f"{'offered':<12} {sparkline(load.per_second() if load.scheduled else [], 36)}")
    workers = f"{scenario.generators} load worker{'s' if scenario.generators > 1 else ''}"
    workload = registry.workload(scenario.workload, scenario.parameters)
    dataset = registry.dataset(scenario.workload, scenario.parameters, scenario.seed, load)
    _field("data", f"{dataset.name}, seed {scenario.seed}, {workers}")
    for key, value in scenario.parameters.items():
        _field("", f"{key} = {_shown(value)}")
    _field("results", f"{workload.kind.value}; {workload.late}")


def _shown(value: Any) -> str:
    from streamgauge.studies.fields import as_typed

    return as_typed(value) or "''"


def _field(name: str, text: str) -> None:
    typer.echo(wrapped(f"{name:<12} ", text))


def _program(words: Sequence[str]) -> str:
    """The program and what it runs: a Java class, a Python module, or the command itself."""
    from streamgauge.measure.plan import BACKGROUND

    if tuple(words[: len(BACKGROUND)]) == BACKGROUND:
        return f"{_program(words[len(BACKGROUND) :])} (with the lowest priority)"
    name = Path(words[0]).name
    if "-m" in words:
        return f"{name} -m {words[words.index('-m') + 1]}"
    if name == "java":
        heap = next((word for word in words if word.startswith("-Xmx")), "")
        main = next((word for word in words[words.index("-cp") + 2 :] if not word.startswith("-")), "")
        return f"java {heap} {main}".replace("  ", " ")
    return shlex.join(words)


def _shape(load: LoadPlan) -> str:
    values = {
        "steps": f"{', '.join(f'{rate:,}/s' for rate in load.steps_per_s)}",
        "ramp": f"to {load.to_per_s:,}/s",
        "fluctuating": f"down to {load.to_per_s:,}/s",
        "single-burst": f"{load.burst_records:,} records within {load.burst_s:g} s, before the engine starts",
        "periodic-burst": f"{load.burst_records:,} records within {load.burst_s:g} s, every {load.burst_every_s:g} s",
        "unlimited": "as fast as they can be sent; the times above do not apply",
        "preloaded": "all of them are there before the engine starts",
    }
    words = [
        f"shape {load.shape}",
        values.get(load.shape),
        "the warm-up rises" if load.rising_warmup else None,
        "Poisson arrivals" if load.arrivals == "poisson" else None,
    ]
    return ", ".join(part for part in words if part)


def sparkline(values: Sequence[int], width: int = 60) -> str:
    """The values as bars from 0 to their maximum, at most ``width`` of them (each the highest of its part), and the
    lowest and highest value."""
    if not values or not max(values):
        return "as fast as possible"
    parts = min(width, len(values))
    bounds = [len(values) * part // parts for part in range(parts + 1)]
    bars = [max(values[start:stop]) for start, stop in pairwise(bounds)]
    top = max(bars)
    drawn = "".join("▁▂▃▄▅▆▇█"[bar * 7 // top] if bar else " " for bar in bars)
    whole = values[:-1] or values
    low = min(whole)
    return f"{drawn}  {f'{low:,} to ' if low != top else ''}{top:,} records/s"


def _short(argv: Sequence[str]) -> str:
    """The command on one line; class paths and module options say little and are long."""
    words: list[str] = []
    skip = False
    for argument in argv:
        if skip:
            words.append("…")
            skip = False
        elif argument.startswith("--add-opens"):
            continue
        else:
            words.append(argument)
            skip = argument == "-cp"
    return shlex.join(words).replace("'…'", "…")


def _partitions(stream: Stream) -> str:
    return f"{stream.partitions} {'partition' if stream.partitions == 1 else 'partitions'}"
