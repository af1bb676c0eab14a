"""``streamgauge list``: what there is, one line each, and all that can be set of one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from streamgauge.cli import choices
from streamgauge.cli.layout import echo_json, shortened, wrapped

_SHORT = ("scenarios", "engines", "studies")
_USE = {
    "scenarios": "streamgauge run SCENARIO",
    "engines": "--engine ENGINE",
    "studies": "streamgauge reproduce STUDY",
    "workloads": "what a scenario computes",
    "metrics": "--slo 'METRIC < LIMIT'",
}


def list_everything(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A scenario, engine, study or workload to describe, with everything that can be set; or "
            "scenarios, engines, studies, workloads or metrics for all of a kind.",
            autocompletion=choices.complete_name,
        ),
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json",
            help="Print JSON alone on stdout: format, kind, name and what is shown; without NAME: format, kind, "
            "scenarios, engines, studies, workloads.",
        ),
    ] = False,
) -> None:
    """List scenarios, engines and studies, or describe one of them."""
    from streamgauge.cli import catalogue

    if name is not None:
        content = catalogue.describe(name)
        echo_json(content) if as_json else _print(content)
    elif as_json:
        kinds = {kind: catalogue.overview(kind) for kind in (*_SHORT, "workloads")}
        echo_json({"format": catalogue.FORMAT, "kind": "overview", **kinds})
    else:
        for kind in _SHORT:
            _print_overview(kind, catalogue.overview(kind))
        typer.echo("\nstreamgauge list NAME shows what can be set; also: list workloads, list metrics")


def _print_overview(kind: str, rows: Sequence[Mapping[str, Any]]) -> None:
    typer.echo(f"{kind}  ({_USE[kind]})")
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        note = ""
        text = ", ".join(unit or "no unit" for unit in row["units"]) if "units" in row else row["title"]
        if "ready" in row:
            note = "ready" if row["ready"] else "not ready"
            text = text if row["ready"] else f"lacks {'; '.join(row['lacks'])}"
        elif "state" in row:
            note = row["state"]
        typer.echo(shortened(f"  {row['name']:<{width}}  ", text, f"  [{note}]" if note else ""))


def _print(content: Mapping[str, Any]) -> None:
    kind = content["kind"]
    if kind in _USE:
        _print_overview(kind, content[kind])
        return
    typer.echo(wrapped(f"{content['name']}  ", content["title"]))
    {"scenario": _print_scenario, "engine": _print_engine, "study": _print_study, "workload": _print_workload}[kind](
        content
    )


def _print_scenario(content: Mapping[str, Any]) -> None:
    _field("source", content["source"])
    _field(content["choice"], f"{', '.join(content['choices'])}  (--set {content['choice']}=…)")
    for engine, runs in content["engines"].items():
        lacking = [choice for choice in content["choices"] if choice not in runs]
        _field(engine, "runs all" if not lacking else f"does not run {', '.join(lacking)}")
    typer.echo("\nvalues, with --set KEY=VALUE")
    for value in content["values"]:
        _print_value(value)
    if content["parameters"]:
        typer.echo("\nparameters of the workloads, with --set KEY=VALUE")
    for value in content["parameters"]:
        applies = value["applies_to"]
        only = "" if len(applies) == len(content["choices"]) else f" ({', '.join(applies)})"
        _print_value(value, only)
    set_ = {engine: options for engine, options in content["engine_options"].items() if any(options.values())}
    if set_:
        typer.echo("\noptions of the engines that it sets; `streamgauge plan` shows those with other choices")
    for engine, options in set_.items():
        typer.echo(wrapped(f"  {engine:<13} ", ", ".join(_own_options(options["laptop"], options["paper"]))))
    typer.echo("\nother shapes of the load, with --set shape=NAME")
    for shape, needs in content["shapes"].items():
        typer.echo(wrapped(f"  {shape} ", f"needs {', '.join(needs)}"))


def _own_options(laptop: Mapping[str, Any], paper: Mapping[str, Any]) -> Iterator[str]:
    for key in dict.fromkeys([*laptop, *paper]):
        here, there = (_shown(options[key]) if key in options else "default" for options in (laptop, paper))
        yield f"{key} = {here}" + ("" if here == there else f" (paper: {there})")


def _print_engine(content: Mapping[str, Any]) -> None:
    _field("delivery", content["delivery"])
    _field("state", "ready" if content["ready"] else "lacks " + "; ".join(content["lacks"]))
    _field("runs", ", ".join(content["runs"]) or "your own program")
    _print_settings("options", content["options"])
    refusals: dict[tuple[str, str], list[str]] = {}
    for workload, reason in content["does_not_run"].items():
        refusals.setdefault(("", reason), []).append(workload)
    for limit in content["limits"]:
        settings = " ".join(f"{key}={_shown(value)}" for key, value in limit["with"].items())
        refusals.setdefault((settings, limit["reason"]), []).extend(limit["does_not_run"])
    if refusals:
        typer.echo("\ndoes not run")
    for (settings, reason), workloads in refusals.items():
        typer.echo(wrapped("  ", ", ".join(workloads) + (f" with {settings}" if settings else "") + f": {reason}", 4))


def _print_study(content: Mapping[str, Any]) -> None:
    _field("source", content["source"] or "–")
    _field("scenarios", ", ".join(content["scenarios"]))
    if content["experiments"]:
        count = len(content["experiments"])
        _field("state", f"reproducible: {count} experiments  (streamgauge reproduce {content['name']} --dry-run)")
    else:
        _field("state", "scenarios only: it has no tables or figures to reproduce yet")
    for system, engine in content["systems"].items():
        _field("system", f"{system}: {engine}")
    for what, text in content["scale"].items():
        _field("laptop", f"{what}: {text}")


def _print_workload(content: Mapping[str, Any]) -> None:
    _field("results", content["results"])
    _field("inputs", ", ".join(content["inputs"]))
    _field("outputs", ", ".join(content["outputs"]) or "none")
    _field("scenarios", ", ".join(content["scenarios"]) or "none")
    _field("engines", ", ".join(content["engines"]))
    for engine, reason in content["not_run_by"].items():
        _field("not", f"{engine}: {reason}")
    _print_settings("parameters", content["parameters"])


def _print_settings(what: str, settings: Sequence[Mapping[str, Any]]) -> None:
    typer.echo(f"\n{what}, with --set KEY=VALUE" if settings else f"\nno {what}")
    for setting in settings:
        _print_value({**setting, "laptop": setting["default"], "paper": setting["default"]})


def _print_value(value: Mapping[str, Any], only: str = "") -> None:
    laptop, paper = _shown(value["laptop"]), _shown(value["paper"])
    default = laptop if laptop == paper else f"{laptop} (paper: {paper})"
    option = f" ({value['option']})" if "option" in value else ""
    words = str(value["expected"])
    choices_ = f"; {words}" if words.startswith("one of ") else ""
    typer.echo(wrapped(f"  {value['key']}{option} = ", f"{default}{only}: {value['description']}{choices_}", 4))


def _field(name: str, text: str) -> None:
    typer.echo(wrapped(f"  {name:<13} ", text))


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_shown, value)) + "]"
    return "''" if value == "" else "the scenario's" if value is None else str(value)
