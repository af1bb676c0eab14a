"""The options that `run` and `plan` share, and what they add up to."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from streamgauge.lab.blueprint import Request

ScenarioName = Annotated[str, typer.Argument(metavar="SCENARIO", help="study/scenario: see `streamgauge list`.")]
EngineName = Annotated[str | None, typer.Option("--engine", "-e", help="The system under test.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Any value of the scenario or option of the engine; repeatable."),
]
Rate = Annotated[str | None, typer.Option(metavar="N/s", help="Records per second, e.g. 400/s or 10k/s.")]
For = Annotated[str | None, typer.Option("--for", metavar="DURATION", help="How long to measure, e.g. 60s.")]
Warmup = Annotated[str | None, typer.Option(metavar="DURATION", help="Load before the measured interval.")]
Seed = Annotated[int | None, typer.Option(help="Of the data and of everything random.")]
Out = Annotated[Path | None, typer.Option(help="The run directory to write; new or empty.")]
Profile = Annotated[str, typer.Option(help="laptop: two cores and a minute; paper: the study's own parameters.")]
Master = Annotated[str, typer.Option(metavar="URL", help="The Spark that evaluates.")]
Bootstrap = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Your own Kafka broker, instead of one of ours.")
]
Program = Annotated[
    list[str] | None, typer.Argument(metavar="[-- PROGRAM ARGS]", help="Your program, for --engine command.")
]


def build(
    scenario: str,
    *,
    engine: str | None,
    settings: list[str] | None,
    rate: str | None,
    measured: str | None,
    warmup: str | None,
    seed: int | None,
    out: Path | None,
    profile: str,
    master: str,
    bootstrap: str | None,
    program: list[str] | None,
) -> Request:
    """The request. Raises UsageError for anything that cannot be meant."""
    from streamgauge.errors import UsageError
    from streamgauge.lab.blueprint import Request
    from streamgauge.studies import scenario as scenarios

    changes = scenarios.parse_changes(settings or [])
    if rate is not None:
        changes["rate_per_s"] = str(scenarios.parse_rate_per_s(rate))
    if measured is not None:
        changes["measured_s"] = str(scenarios.parse_duration_s(measured, "--for"))
    if warmup is not None:
        changes["warmup_s"] = str(scenarios.parse_duration_s(warmup, "--warmup"))
    if seed is not None:
        changes["seed"] = str(seed)
    if bootstrap is not None and not (
        (parts := bootstrap.rpartition(":"))[0] and parts[2].isdigit() and int(parts[2]) < 65536
    ):
        raise UsageError("--bootstrap is no address", got=repr(bootstrap), expected="HOST:PORT")
    resolved = scenarios.resolve(scenario, profile=profile, changes=changes, engine=engine)
    words = ["streamgauge", "run", scenario, "--engine", resolved.engine, "--profile", profile]
    for key, value in {**changes, "seed": str(resolved.seed)}.items():
        words += ["--set", f"{key}={value}"]
    words += ["--bootstrap", bootstrap] if bootstrap else []
    words += ["--", *program] if program else []
    return Request(
        scenario=resolved,
        out=out or _fresh_directory(scenario, resolved.engine),
        bootstrap=bootstrap,
        master=master,
        program=tuple(program or ()),
        command=shlex.join(words),
    )


def _fresh_directory(scenario: str, engine: str) -> Path:
    from datetime import datetime

    moment = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    base = Path("runs") / f"{scenario.replace('/', '-')}-{engine}-{moment}"
    path, again = base, 1
    while path.exists():
        again += 1
        path = base.with_name(f"{base.name}-{again}")
    return path
