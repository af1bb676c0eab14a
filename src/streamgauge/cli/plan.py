"""``streamgauge plan``: everything that a run would start and need. Starts nothing."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from streamgauge.cli.request import (
    Bootstrap,
    EngineName,
    For,
    Master,
    Out,
    Profile,
    Program,
    Rate,
    ScenarioName,
    Seed,
    Settings,
    Warmup,
    build,
)


def plan(
    scenario: ScenarioName,
    program: Program = None,
    engine: EngineName = None,
    settings: Settings = None,
    rate: Rate = None,
    measured: For = None,
    warmup: Warmup = None,
    seed: Seed = None,
    out: Out = None,
    profile: Profile = "laptop",
    master: Master = "local[*]",
    bootstrap: Bootstrap = None,
) -> None:
    """Print what `run` would start, with every value resolved, and the memory and disk it would need."""
    from streamgauge.lab import machine
    from streamgauge.lab.blueprint import draw, run_name

    request = build(
        scenario,
        engine=engine,
        settings=settings,
        rate=rate,
        measured=measured,
        warmup=warmup,
        seed=seed,
        out=out,
        profile=profile,
        master=master,
        bootstrap=bootstrap,
        program=program,
    )
    resolved = request.scenario
    load = resolved.load
    blueprint = draw(request, run_name(resolved), Path("WORK"))
    echo = typer.echo
    echo(f"{resolved.study}/{resolved.name} ({resolved.profile}): {resolved.title}")
    echo(f"pipeline     {resolved.pipeline} on {resolved.engine}")
    echo(
        f"load         {load.rate_per_s:,}/s, {load.records:,} records: warm-up {load.warmup_s:g} s, "
        f"measured {load.measured_s:g} s, tail {load.tail_s:g} s, drain at most {resolved.drain_deadline_s:g} s"
    )
    echo(f"data         {resolved.dataset}, seed {resolved.seed}")
    echo(f"topics       {', '.join(s.topic for s in blueprint.streams)} ({resolved.partitions} partitions each)")
    echo(f"sustained    {resolved.sustained or 'not asked'}; out of order at most {resolved.out_of_order_ms} ms")
    echo("engine options")
    for key, value in resolved.engine_options.items():
        echo(f"  {key} = {value}")
    echo("processes, in this order; WORK is a temporary directory")
    for spec in blueprint.processes:
        echo(f"  {spec.role:<14} {_short(spec.argv)}")
    if not blueprint.broker:
        echo(f"broker       yours, {request.bootstrap}; only the topics above are created, and removed again")
    echo(f"memory       {blueprint.memory_mb:,} MB of {machine.available_memory_mb():,} MB available")
    echo(f"disk         {blueprint.disk_mb:,} MB")
    echo(f"run directory {request.out}")


def _short(argv: object) -> str:
    """The command on one line; class paths and module options say little and are long."""
    words: list[str] = []
    skip = False
    for word in map(str, argv):  # type: ignore[call-overload]
        if skip:
            words.append("…")
            skip = False
        elif word.startswith("--add-opens"):
            continue
        else:
            words.append(word)
            skip = word == "-cp"
    return shlex.join(words).replace("'…'", "…")
