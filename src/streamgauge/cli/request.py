"""The options that `run` and `plan` share, and what they add up to."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from streamgauge.contracts import Transport
    from streamgauge.run.plan import Request

LOCAL = "local[*]"
TransportAddress = Annotated[
    str | None,
    typer.Option("--bootstrap", metavar="HOST:PORT", help="Use your own Kafka broker instead of starting one."),
]
OldScript = Annotated[Path | None, typer.Option("--job", hidden=True)]
"""What ``--script`` was called before; see ``script_given``."""


def takes_request(command: Callable[..., None], make: Callable[..., Any] | None = None) -> Callable[..., None]:
    """A command whose first parameter is built from the options of ``build``; it may add its own.

    ``make`` takes those options in place of ``build``.
    """
    shared = _parameters(build)
    _, *own = _parameters(command)
    old = inspect.Parameter("job", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=OldScript)
    parameters = (*shared, *own, old)

    def parsed(**given: Any) -> None:
        extra = {parameter.name: given.pop(parameter.name) for parameter in own}
        given["script"] = script_given(given["script"], given.pop(old.name))
        command((make or build)(**given), **extra)

    parsed.__name__, parsed.__doc__ = command.__name__, command.__doc__
    # What typer reads to make options of it.
    parsed.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    parsed.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return parsed


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Its parameters with their annotations evaluated; ``Request`` itself is not imported for the sake of --help."""
    hints = get_type_hints(function, localns={"Request": Any}, include_extras=True)
    parameters = inspect.signature(function).parameters.values()
    return [parameter.replace(annotation=hints[parameter.name]) for parameter in parameters]


def build(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="study/scenario: see `streamgauge list`.")],
    program: Annotated[
        list[str] | None, typer.Argument(metavar="[-- PROGRAM ARGS]", help="Your program, for --engine command.")
    ] = None,
    engine: Annotated[str | None, typer.Option("--engine", "-e", help="The system under test.")] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any value of the scenario or the engine; repeatable."),
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="N/s", help="Records per second, e.g. 400/s or 10k/s.")] = None,
    measured: Annotated[str | None, typer.Option("--for", metavar="DURATION", help="How long to measure.")] = None,
    warmup: Annotated[str | None, typer.Option(metavar="DURATION", help="Load before the measured interval.")] = None,
    generators: Annotated[int | None, typer.Option(metavar="N", help="Load workers that share the load.")] = None,
    slo: Annotated[
        list[str] | None,
        typer.Option("--slo", metavar="CONDITION", help="What must hold, e.g. 'latency.p99 < 2s'; repeatable."),
    ] = None,
    faults: Annotated[
        list[str] | None,
        typer.Option(
            "--fault", metavar="FAULT", help="'kill ROLE at 50%', 'pause ROLE for 5s at 20s'; repeatable (run, plan)."
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Of the data and of everything random.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run directory to write; new or empty.")] = None,
    profile: Annotated[str, typer.Option(help="laptop: two cores and a minute; paper: the study's own.")] = "laptop",
    master: Annotated[str, typer.Option(metavar="URL", help="The Spark that evaluates.")] = LOCAL,
    script: Annotated[
        Path | None,
        typer.Option(
            "--script",
            metavar="FILE",
            help="Your own PySpark query in the workload's place (engine spark). The file is code, and it is run.",
        ),
    ] = None,
    transport_address: TransportAddress = None,
) -> Request:
    """The request. Raises UsageError for anything that cannot be meant."""
    from streamgauge.errors import UsageError
    from streamgauge.jvm.spark import check_master
    from streamgauge.run.faults import parse as parse_fault
    from streamgauge.run.plan import Request
    from streamgauge.studies import parsing
    from streamgauge.studies import scenario as scenarios
    from streamgauge.workloads.own.script import inspect

    refuse_redacted([*(settings or ()), *(program or ()), master])
    changes = parsing.parse_changes(settings or [])
    if rate is not None:
        changes["rate_per_s"] = str(parsing.parse_rate_per_s(rate))
    if measured is not None:
        changes["measured_s"] = str(parsing.parse_duration_s(measured, "--for"))
    if warmup is not None:
        changes["warmup_s"] = str(parsing.parse_duration_s(warmup, "--warmup"))
    if generators is not None:
        changes["generators"] = str(generators)
    if slo:
        from streamgauge.evaluate import slo as slos

        for condition in slo:
            slos.parse(condition)
    if seed is not None:
        changes["seed"] = str(seed)
    if transport_address is not None:
        transport = check_transport_address(transport_address)
        if "broker_port" in changes:
            raise UsageError(
                f"broker_port applies only to a {transport.server_noun} that streamgauge starts",
                got="--bootstrap too",
                expected="one of the two",
            )
    check_master(master)
    own = None if script is None else inspect(script)
    resolved = scenarios.resolve(scenario, profile=profile, changes=changes, engine=engine, slo=slo or (), script=own)
    resolved = replace(resolved, faults=tuple(parse_fault(fault) for fault in faults or ()))
    return Request(
        scenario=resolved,
        out=out or _fresh_directory(scenario, resolved.engine),
        transport_address=transport_address,
        master=master,
        program=tuple(program or ()),
    )


def script_given(script: Path | None, job: Path | None) -> Path | None:
    """The user's script, by either name of the option. Raises UsageError when both are used."""
    from streamgauge.errors import UsageError

    if job is None:
        return script
    if script is not None:
        raise UsageError(
            "--job is the old name of --script: both were given",
            got=f"--script {script} and --job {job}",
            expected="only --script FILE",
        )
    typer.echo("note: --job is now --script", err=True)
    return job


def refuse_redacted(words: Sequence[str]) -> None:
    """Raises UsageError for a command that was copied from a run whose secrets were taken out."""
    from streamgauge.errors import UsageError
    from streamgauge.redaction import is_redacted

    if redacted := next((argument for argument in words if is_redacted(argument)), None):
        raise UsageError(
            "the command holds a redacted value",
            got=redacted,
            expected="the secret itself, which no run directory holds",
            hint="put it in place of the stars",
        )


def check_transport_address(address: str) -> type[Transport]:
    """The transport that runs use. Raises UsageError for an address that it does not take."""
    from streamgauge import defaults, registry

    transport = registry.transport(defaults.TRANSPORT)
    transport.check_address(address)
    return transport


def _fresh_directory(scenario: str, engine: str) -> Path:
    from datetime import datetime

    moment = datetime.now().astimezone().strftime("%Y%m%d-%H%M%S")
    return Path("runs") / f"{scenario.replace('/', '-')}-{engine}-{moment}-{secrets.token_hex(2)}"
