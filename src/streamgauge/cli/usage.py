"""Usage errors that typer finds, in the form of our own; and global options anywhere on the command line."""

from __future__ import annotations

import re
from typing import Any

import typer
from typer.core import TyperGroup

from streamgauge import defaults
from streamgauge.errors import UsageError, invalid, nearest

USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]
"""The class of the click that typer uses: newer versions of typer bundle their own."""
RUNS_MAX = 1_000
"""More take weeks: rather a mistake."""
GLOBAL = ("-q", "--quiet", "-v", "--verbose", "--no-color")


class Commands(TyperGroup):
    """Accepts the global options after the command, too: `streamgauge run -q …`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        own = [argument for argument in args[:end] if argument in GLOBAL]
        rest = [argument for argument in args[:end] if argument not in GLOBAL]
        return super().parse_args(ctx, [*own, *rest, *args[end:]])


def number_of_runs(text: str | int) -> int:
    """Parses an option; raises typer.BadParameter. Typer's own message would use pydantic's wording."""
    try:
        number = int(text)
    except ValueError:
        number = 0
    if not 1 <= number <= RUNS_MAX:
        raise typer.BadParameter(f"{text}: expected a whole number from 1 to {RUNS_MAX:,}")
    return number


def describe(problem: Exception) -> UsageError | None:
    """The error to print for what typer refused; None if a command group was given no arguments at all."""
    message, context = str(getattr(problem, "message", problem)), getattr(problem, "ctx", None)
    kind = type(problem).__name__
    if kind == "NoArgsIsHelpError":
        return None
    path = context.command_path if context is not None else "streamgauge"
    hint = f"{path} --help" if context is not None else "--help after the command shows what it takes"
    if kind == "NoSuchOption":
        return _unknown("option", str(getattr(problem, "option_name", "")), _options(context), hint)
    if command := re.match(r"No such command '(.*?)'", message):
        return _unknown("command", command[1], getattr(context.command, "commands", ()) if context else (), hint)
    if kind == "MissingParameter":
        return _missing(path, problem, hint)
    if kind == "BadOptionUsage" and "requires an argument" in message:
        return UsageError(f"{getattr(problem, 'option_name', 'the option')} needs a value", hint=hint)
    if extra := re.match(r"Got unexpected extra argument(?:s|\(s\))? \((.*)\)", message):
        return UsageError(f"unexpected argument: {extra[1]}", hint=hint)
    if kind == "BadParameter":
        return _bad_value(problem, message, hint)
    return UsageError(message[:1].lower() + message[1:].rstrip("."), hint=hint)


def print_help(problem: Exception) -> None:
    context = getattr(problem, "ctx", None)
    if context is not None:
        typer.echo(context.get_help(), err=True)


_SYNONYMS = {"duration": "for", "time": "for", "output": "out", "throughput": "rate", "benchmark": "run"}


def _unknown(what: str, name: str, known: Any, hint: str) -> UsageError:
    bare = {str(one).lstrip("-"): str(one) for one in known}
    meant = _SYNONYMS.get(name.lstrip("-"), "")
    near = [meant] if meant in bare else nearest(name.lstrip("-"), bare)
    return UsageError(f"unknown {what}: {name}" + (f"; did you mean {bare[near[0]]}?" if near else ""), hint=hint)


def _options(context: Any) -> list[str]:
    parameters = context.command.params if context is not None else ()
    shown = (one for one in parameters if not getattr(one, "hidden", False))
    return [name for one in shown for name in one.opts if name.startswith("--")]


def _missing(path: str, problem: Exception, hint: str) -> UsageError:
    parameter = getattr(problem, "param", None)
    name = "an argument" if parameter is None else str(parameter.metavar or max(parameter.opts, key=len))
    if name == "SCENARIO":
        hint = f"{path} {defaults.SCENARIO}; streamgauge list shows all scenarios"
    option = "" if parameter is None else max(parameter.opts, key=len)
    if option.startswith("--"):
        return UsageError(f"missing option: {path} needs {option} {name}", hint=hint)
    return UsageError(f"missing argument: {path} needs {name}", hint=hint)


def _bad_value(problem: Exception, message: str, hint: str) -> UsageError:
    parameter = getattr(problem, "param", None)
    option = max(parameter.opts, key=len) if parameter is not None else "argument"
    if ": expected " in message:
        return UsageError(f"invalid {option} {message}", hint=hint)
    if choice := re.search(r"'(.*)' is not one of (.*?)\.?$", message):
        known = choice[2].replace("'", "")
        return invalid(f"{option} {choice[1]}", f"one of {known}" if "," in known else known, hint)
    return UsageError(f"invalid {option}: {message[:1].lower()}{message[1:].rstrip('.')}", hint=hint)
