"""The options that `run` and `plan` share, and what they add up to."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from streamgauge.cli import choices

if TYPE_CHECKING:
    from streamgauge.contracts import Transport
    from streamgauge.measure.plan import Request
    from streamgauge.studies.parsing import Setting

Value = TypeVar("Value")

LOCAL = "local[*]"
TransportAddress = Annotated[
    str | None,
    typer.Option("--bootstrap", metavar="HOST:PORT", help="Use your own Kafka broker instead of starting one."),
]
ClientConfig = Annotated[
    Path | None,
    typer.Option(
        "--kafka-config",
        metavar="FILE",
        help="Properties of a Java client of Kafka with the security of your broker: SASL PLAIN or SCRAM, TLS.",
    ),
]
EvaluatorMaster = Annotated[
    str | None,
    typer.Option(
        "--evaluator-master",
        metavar="URL",
        show_default=LOCAL,
        help="Spark master that evaluates the results: local[N], spark://HOST:PORT, yarn or k8s://URL. "
        "The engine's own master is --set master=URL.",
    ),
]
LoadMaster = Annotated[
    str | None,
    typer.Option(
        "--load-master",
        metavar="URL",
        help="Spark master whose executors send the load, one task for each of --generators: spark://HOST:PORT, yarn "
        "or k8s://URL. By default, load workers on this machine do.",
    ),
]
Profile = Annotated[
    str,
    typer.Option(
        metavar="|".join(choices.PROFILES),
        autocompletion=choices.complete_profile,
        help="Values of a scenario: laptop fits two cores and a few minutes, paper has those of the publication.",
    ),
]
SCENARIO_HELP = "The scenario, as STUDY/NAME, or a TOML file of your own; `streamgauge list` shows all."
ENGINE_HELP = f"The system under test: {', '.join(choices.names('engines'))}."
Faults = Annotated[
    list[str] | None,
    typer.Option(
        "--fault",
        metavar="FAULT",
        help="Disturb a process while measuring: 'kill ROLE at 50%', 'kill ROLE for 10s at 20s' (and start it "
        "again), 'pause ROLE for 5s at 20s' or 'cut ROLE from broker for 5s at 20s'; with 'every 20s' after it to "
        "repeat it. `streamgauge plan` shows the roles; instead of one, `non-recipient` is a node that does not "
        "read the input. Repeatable.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Run directory to write, new or empty.", show_default="runs/NAME"),
]
IN_A_SEARCH: Mapping[str, Any] = {
    "faults": Annotated[list[str] | None, typer.Option("--fault", hidden=True)],
    "out": Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Directory to write. Pass the same --out to resume.", show_default="runs/NAME"
        ),
    ],
}
"""Options that are not the same for ``capacity`` and ``scale``: a search refuses faults, and can be resumed."""
OldScript = Annotated[Path | None, typer.Option("--job", hidden=True)]
"""What ``--script`` was called before; see ``under_either_name``."""
OldMaster = Annotated[str | None, typer.Option("--master", hidden=True)]
"""What ``--evaluator-master`` was called before."""


def takes_request(
    command: Callable[..., None],
    make: Callable[..., Any] | None = None,
    other: Mapping[str, Any] | None = None,
) -> Callable[..., None]:
    """A command whose first parameter is built from the options of ``build``; it may add its own.

    ``make`` takes those options in place of ``build``; ``other`` has the annotations of those that differ, by name.
    """
    other = other or {}
    shared = [one.replace(annotation=other.get(one.name, one.annotation)) for one in _parameters(build)]
    # Behind options with defaults, one without needs to be a keyword.
    own = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in _parameters(command)[1:]]
    hidden = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
        for name, annotation in (("job", OldScript), ("old_master", OldMaster))
    ]
    parameters = (*shared, *own, *hidden)

    def parsed(**given: Any) -> None:
        extra = {parameter.name: given.pop(parameter.name) for parameter in own}
        given["script"] = script_given(given["script"], given.pop("job"))
        given["master"] = master_given(given["master"], given.pop("old_master"))
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
    scenario: Annotated[
        str, typer.Argument(metavar="SCENARIO", help=SCENARIO_HELP, autocompletion=choices.complete_scenario)
    ],
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="-- PROGRAM ARGS", help="Your own program, with --engine command."),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            "-e",
            metavar="NAME",
            help=f"{ENGINE_HELP} The scenario's own, by default.",
            autocompletion=choices.complete_engine,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Set any value of the scenario or option of the engine; `streamgauge list SCENARIO` and `streamgauge "
            "list ENGINE` show them. Repeatable.",
            autocompletion=choices.complete_setting,
        ),
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="N/s", help="Records per second, such as 400/s, 10k/s or 24000/min.")
    ] = None,
    measured: Annotated[
        str | None, typer.Option("--for", metavar="DURATION", help="How long to measure, such as 30s or 1m30s.")
    ] = None,
    warmup: Annotated[
        str | None, typer.Option(metavar="DURATION", help="How long to send load before measuring, such as 40s.")
    ] = None,
    generators: Annotated[
        str | None, typer.Option(metavar="N", help="Number of load workers that share the load.")
    ] = None,
    slo: Annotated[
        list[str] | None,
        typer.Option(
            "--slo",
            metavar="CONDITION",
            help="A condition that must hold, such as 'latency.p99 < 2s'; exit code 1 if it does not. `streamgauge "
            "list metrics` shows what can be compared. Repeatable.",
        ),
    ] = None,
    faults: Faults = None,
    seed: Annotated[
        str | None, typer.Option(metavar="N", help="Seed of the data and of everything else that is random.")
    ] = None,
    out: Out = None,
    profile: Profile = choices.PROFILES[0],
    master: EvaluatorMaster = None,
    load_master: LoadMaster = None,
    script: Annotated[
        Path | None,
        typer.Option(
            "--script",
            metavar="FILE",
            help="Measure your own PySpark query in the workload's place (engine spark). The file is Python code and "
            "is executed.",
        ),
    ] = None,
    transport_address: TransportAddress = None,
    client_config: ClientConfig = None,
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data",
            metavar="STREAM=FILE",
            help="Your own data for a stream: a file (.jsonl, .csv, .parquet, .avro or text), or gen.py:function. "
            "Behind it, separated by commas: format=, key=FIELD, time=FIELD, loop=true. Repeatable.",
        ),
    ] = None,
    mapped: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="STREAM=TOPIC",
            help="The topic that your script reads where --data has another name for it; kafka://HOST:PORT for an "
            "address that it only writes to. Repeatable.",
        ),
    ] = None,
    python: Annotated[
        str | None, typer.Option("--python", metavar="PATH", help="The interpreter of your script's environment.")
    ] = None,
    submit: Annotated[
        str | None,
        typer.Option("--submit", metavar="COMMAND", help="What runs your script, such as 'spark-submit --jars …'."),
    ] = None,
    allow_sink: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-sink",
            metavar="PREFIX",
            help="Let your script write there: the beginning of a URL, path or table name. Repeatable.",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("--output", metavar="TOPIC", help="Measure at this topic, which your program writes."),
    ] = None,
    correlate: Annotated[
        str | None,
        typer.Option("--correlate", metavar="FIELD", help="The JSON field that an output has from its input."),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option("--reference", metavar="FILE", help="Python file with reference(inputs) and key: checks answers."),
    ] = None,
) -> Request:
    """The request. Raises UsageError for anything that cannot be meant."""
    from streamgauge.measure.faults import parse as parse_fault
    from streamgauge.measure.plan import Request, run_name
    from streamgauge.studies import own_file, own_script, parsing
    from streamgauge.studies import scenario as scenarios
    from streamgauge.workloads.own.script import inspect

    master = LOCAL if master is None else master
    refuse_redacted([*(settings or ()), *(program or ()), master, load_master or ""])
    given: list[Setting] = []
    if engine is not None:
        given.append(parsing.Setting("engine", engine, f"--engine {engine}"))
    if rate is not None:
        given.append(parsing.Setting("rate_per_s", str(_rate_per_s(rate)), f"--rate {rate}"))
    for key, option, length in (("measured_s", "--for", measured), ("warmup_s", "--warmup", warmup)):
        if length is not None:
            seconds = parsing.parse_duration_s(length, option)
            given.append(parsing.Setting(key, str(seconds), f"{option} {length}"))
    for key, option, number in (("generators", "--generators", generators), ("seed", "--seed", seed)):
        if number is not None:
            given.append(parsing.Setting(key, str(number), f"{option} {number}"))
    if own_script.is_own(scenario):
        own_script.check(scenario, output, correlate=correlate, reference=reference)
        program = [scenario, *(program or ())]
        scenario = own_script.SCENARIO
    given += own_script.settings(
        data, mapped, python, submit, allow_sink, output=output, correlate=correlate, reference=reference
    )
    gathered = parsing.gather([*given, *map(parsing.parse_setting, settings or ())])
    if own_file.is_own(scenario):
        path = Path(scenario)
        file = own_file.read(path)
        named = gathered["engine"].text if "engine" in gathered else None
        gathered = {**parsing.gather(file.settings(path, named)), **gathered}
        scenario, slo, faults = file.extends, [*file.slo, *(slo or ())], [*file.faults, *(faults or ())]
    if slo:
        from streamgauge.evaluate import slo as slos

        for condition in slo:
            slos.check(condition)
    transport_address = with_config(transport_address, client_config)
    if transport_address is not None:
        _check_transport(transport_address, gathered)
    _check_master("--evaluator-master", master)
    if load_master is not None:
        _check_master("--load-master", load_master)
    own = None if script is None else inspect(script)
    resolved = scenarios.resolve(
        scenario,
        profile=profile,
        changes={key: setting.text for key, setting in gathered.items()},
        slo=slo or (),
        script=own,
        typed={key: setting.typed for key, setting in gathered.items()},
    )
    resolved = replace(resolved, faults=tuple(parse_fault(fault) for fault in faults or ()))
    return Request(
        scenario=resolved,
        out=out or Path("runs") / run_name(resolved),
        transport_address=transport_address,
        master=master,
        program=tuple(program or ()),
        load_master=load_master or "",
    )


def _rate_per_s(text: str) -> int:
    from streamgauge.studies import parsing

    rate, exact = parsing.parse_rate_per_s(text), parsing.read_rate_per_s(text)
    if exact is not None and rate != exact:
        typer.echo(f"note: --rate {text} is {exact:,.2f}/s; using {rate:,}/s", err=True)
    return rate


def _check_transport(address: str, settings: Mapping[str, Setting]) -> None:
    from streamgauge.errors import UsageError

    transport = check_transport_address(address)
    if port := settings.get("broker_port"):
        raise UsageError(
            f"--bootstrap {address} and {port.typed} conflict: broker_port is the port of a {transport.server_noun} "
            "that streamgauge starts",
            hint="use only one of them",
        )


def _check_master(option: str, master: str) -> None:
    from streamgauge.errors import UsageError, invalid
    from streamgauge.jvm.spark import check_master

    try:
        check_master(master)
    except UsageError as problem:
        raise invalid(f"{option} {master}", str(problem.expected)) from None


def script_given(script: Path | None, job: Path | None) -> Path | None:
    """The user's script. Raises UsageError when both names of the option are used."""
    return under_either_name("--script", script, "--job", job)


def master_given(master: str | None, old: str | None) -> str:
    """Where results are evaluated. Raises UsageError as ``script_given`` does, and for what is not a Spark master."""
    master = under_either_name("--evaluator-master", master, "--master", old) or LOCAL
    _check_master("--evaluator-master", master)
    return master


def under_either_name(name: str, value: Value | None, old_name: str, old: Value | None) -> Value | None:
    """The value of an option that was renamed; the old name is noted on stderr."""
    from streamgauge.errors import UsageError

    if old is None:
        return value
    if value is not None:
        raise UsageError(
            f"{old_name} is the old name of {name}: both were given",
            got=f"{name} {value} and {old_name} {old}",
            expected=f"only {name}",
        )
    typer.echo(f"note: {old_name} is now {name}", err=True)
    return old


def refuse_redacted(words: Sequence[str]) -> None:
    """Raises UsageError for a command that was copied from a run whose secrets were taken out."""
    from streamgauge.errors import UsageError
    from streamgauge.redaction import is_redacted

    if redacted := next((argument for argument in words if is_redacted(argument)), None):
        raise UsageError(
            f"the command contains a redacted value: {redacted}",
            expected="the secret itself, which is never written to a run directory",
            hint="replace the stars with it",
        )


def with_config(address: str | None, config: Path | None) -> str | None:
    """The address with the file that has the security of its clients, which may name the address itself."""
    from streamgauge import defaults, registry

    return address if config is None else registry.transport(defaults.TRANSPORT).secured(address, config)


def check_transport_address(address: str) -> type[Transport]:
    """The transport that runs use. Raises UsageError for an address that it does not take."""
    from streamgauge import defaults, registry

    transport = registry.transport(defaults.TRANSPORT)
    transport.check_address(address)
    return transport
