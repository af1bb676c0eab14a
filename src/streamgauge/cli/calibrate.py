"""``streamgauge calibrate``: what this machine can show at all, kept for the runs that follow."""

from __future__ import annotations

from typing import Annotated

import typer

from streamgauge import defaults
from streamgauge.cli import choices


def calibrate(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO", help="The scenario whose load is used.", autocompletion=choices.complete_scenario
        ),
    ] = defaults.SCENARIO,
    measured: Annotated[
        str, typer.Option("--for", metavar="DURATION", help="How long each run measures, such as 10s.")
    ] = "10s",
    warmup: Annotated[
        str, typer.Option(metavar="DURATION", help="How long to send load before measuring, such as 3s.")
    ] = "3s",
) -> None:
    """Measure the lowest latency and the highest rate that this machine can show; later runs near either are marked."""
    import secrets

    from streamgauge import dirs
    from streamgauge.cli.live import LiveView
    from streamgauge.machine import calibration
    from streamgauge.measure.plan import Request
    from streamgauge.measure.runner import run_scenario
    from streamgauge.model import Scenario
    from streamgauge.model.latency import LATENCY_NAMES
    from streamgauge.model.summary import Summary
    from streamgauge.processes.supervisor import signals_as_interrupt
    from streamgauge.studies import parsing
    from streamgauge.studies import scenario as scenarios

    changes = {
        "measured_s": str(parsing.parse_duration_s(measured, "--for")),
        "warmup_s": str(parsing.parse_duration_s(warmup, "--warmup")),
        "sustained": "slope",
    }
    resolved = scenarios.resolve(scenario, engine="echo", changes=changes)
    with signals_as_interrupt(), LiveView() as view:

        def run(asked: Scenario) -> Summary:
            # Fast runs leave gigabytes: none is kept longer than until its figures are known.
            out = dirs.temp_dir() / f"streamgauge-calibrate-{secrets.token_hex(6)}"
            return run_scenario(Request(asked, out, temporary=True), view)[1]

        calibrated = calibration.calibrate(resolved, run, view.phase)
    path = calibration.write(calibrated)
    for kind, floor in (("total", calibrated.floor_ms.total), ("latest", calibrated.floor_ms.latest)):
        p99 = "not known" if floor.p99 is None else f"{floor.p99:g} ms"
        p50 = "not known" if floor.p50 is None else f"{floor.p50:g} ms"
        typer.echo(f"floor    {LATENCY_NAMES[kind]:<18} p50 {p50}, p99 {p99}, at {resolved.load.rate_per_s:,}/s")
    typer.echo(f"ceiling  {calibrated.ceiling_per_s:,.0f}/s; {calibrated.ceiling_because}")
    for attempt in calibrated.repeated:
        typer.echo(f"repeated {attempt.rate_per_s:,}/s was INVALID at first: {'; '.join(attempt.reasons)}")
    typer.echo(f"machine  {calibration.machine_key()}")
    typer.echo(f"kept in  {path}")
