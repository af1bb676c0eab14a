"""``streamgauge plan``: everything that a run would start and need. Starts nothing."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from streamgauge.cli.request import takes_request

if TYPE_CHECKING:
    from streamgauge.lab.blueprint import Request


@takes_request
def plan(request: Request) -> None:
    """Print what `run` would start, with every value resolved, and the memory and disk it would need."""
    from streamgauge import jars
    from streamgauge.lab import machine
    from streamgauge.lab.blueprint import draw, needed_jar_groups, run_name

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
    groups = needed_jar_groups(resolved, own_broker=request.bootstrap is None)
    if missing := jars.missing(groups):
        size_mb = sum(jar.size for jar in missing) / 1e6
        echo(f"jars         {len(missing)} are fetched first, {size_mb:.0f} MB")
    echo(f"run directory {request.out}")


def _short(argv: Sequence[str]) -> str:
    """The command on one line; class paths and module options say little and are long."""
    words: list[str] = []
    skip = False
    for word in argv:
        if skip:
            words.append("…")
            skip = False
        elif word.startswith("--add-opens"):
            continue
        else:
            words.append(word)
            skip = word == "-cp"
    return shlex.join(words).replace("'…'", "…")
