"""``streamgauge plan``: everything that a run would start and need. Starts nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from streamgauge.cli.request import takes_request

if TYPE_CHECKING:
    from streamgauge.model import LoadPlan
    from streamgauge.run.plan import Request


@takes_request
def plan(request: Request) -> None:
    """Print what `run` would start, with every value resolved, and the memory and disk it would need."""
    from streamgauge import jars, registry
    from streamgauge.machine import description as machine
    from streamgauge.redaction import redact_arguments, redact_options
    from streamgauge.run.plan import draw, needed_jar_groups, run_name

    resolved = request.scenario
    load = resolved.load
    blueprint = draw(request, run_name(resolved), Path("WORK"))
    echo = typer.echo
    echo(f"{resolved.study}/{resolved.name} ({resolved.profile}): {resolved.title}")
    echo(f"workload     {resolved.workload} on {resolved.engine}")
    if script := resolved.script:
        checked = f"answers checked by {', '.join(script.key)}" if script.key else "unvalidated: it has no reference"
        echo(f"             replaced by your own: {script.path}, {checked}")
    times = f"warm-up {load.warmup_s:g} s, measured {load.measured_s:g} s, tail {load.tail_s:g} s, "
    rate = f"{load.rate_per_s:,}/s, "
    if load.shape == "preloaded":
        times = rate = ""
    echo(f"load         {rate}{load.records:,} records: {times}drain at most {resolved.drain_deadline_s:g} s")
    echo(f"             {_shape(load)}")
    echo(f"offered      {sparkline(load.per_second() if load.scheduled else [])}")
    workers = f"{resolved.generators} load worker{'s' if resolved.generators > 1 else ''}"
    workload = registry.workload(resolved.workload)
    dataset = registry.dataset(resolved.workload, resolved.parameters, resolved.seed, load)
    echo(f"data         {dataset.name}, seed {resolved.seed}, {workers}")
    for key, value in resolved.parameters.items():
        echo(f"             {key} = {value}")
    echo(f"results      {workload.kind.value}; {workload.late}")
    transport, addresses = blueprint.transport, ", ".join(stream.address for stream in blueprint.streams)
    echo(f"{transport.stream_noun + 's':<12} {addresses} ({resolved.partitions} partitions each)")
    echo(f"sustained    {resolved.sustained or 'not asked'}")
    for fault in resolved.faults:
        echo(f"fault        {fault}: {load.warmup_s + fault.at_s(load.measured_s):g} s after the start of the load")
    echo("engine options")
    for key, value in redact_options(resolved.engine_options).items():
        echo(f"  {key} = {value}")
    echo("processes, in this order; WORK is a temporary directory")
    for spec in blueprint.processes:
        echo(f"  {spec.role:<14} {_short(redact_arguments(spec.argv))}")
    if not transport.own:
        only = f"only the {transport.stream_noun}s above are created, and removed again"
        echo(f"{transport.server_noun:<12} yours, {transport.address}; {only}")
    echo(f"memory       {blueprint.memory_mb:,} MB of {machine.available_memory_mb():,} MB available")
    echo(f"disk         {blueprint.disk_mb:,} MB")
    groups = needed_jar_groups(resolved, own_transport=transport.own)
    if missing := jars.missing(groups):
        size_mb = sum(jar.size for jar in missing) / 1e6
        echo(f"jars         {len(missing)} are fetched first, {size_mb:.0f} MB")
    echo(f"run directory {request.out}")


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
        return "not known beforehand"
    parts = min(width, len(values))
    bounds = [len(values) * part // parts for part in range(parts + 1)]
    bars = [max(values[start:stop]) for start, stop in pairwise(bounds)]
    top = max(bars)
    drawn = "".join("▁▂▃▄▅▆▇█"[bar * 7 // top] if bar else " " for bar in bars)
    whole = values[:-1] or values
    return f"{drawn}  {min(whole):,} to {top:,} records a second"


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
