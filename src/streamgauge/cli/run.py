"""``streamgauge run``: one measurement, watched, ending with a verdict."""

from __future__ import annotations

import json
from typing import Annotated

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


def run(
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
    as_json: Annotated[bool, typer.Option("--json", help="Print summary.json alone on stdout.")] = False,
) -> None:
    """Run a scenario and say whether its numbers can be trusted, then what they are."""
    from streamgauge.cli.live import LiveView
    from streamgauge.cli.result import print_result

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
    from streamgauge import report
    from streamgauge.evaluate.verdict import exit_code
    from streamgauge.lab.experiment import run_experiment
    from streamgauge.lab.supervisor import signals_as_interrupt

    with signals_as_interrupt(), LiveView() as view:
        directory, summary = run_experiment(request, view)
        view.phase("writing the report")
        report.write(directory)
    print_result(directory, summary, to_stderr=as_json)
    if as_json:
        typer.echo(json.dumps(summary, indent=1, ensure_ascii=False))
    raise typer.Exit(exit_code(summary))
