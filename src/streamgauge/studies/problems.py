"""Messages for invalid values of a scenario, which name the options as they were typed."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic.fields import FieldInfo

from streamgauge import registry
from streamgauge.errors import UsageError, nearest, one_of
from streamgauge.studies import fields as values
from streamgauge.studies.parsing import typed_setting

FLAGS = {
    "rate_per_s": "--rate",
    "measured_s": "--for",
    "warmup_s": "--warmup",
    "generators": "--generators",
    "seed": "--seed",
    "engine": "--engine",
}
"""Values that have an option of their own."""
_OPTIONS = {"rate", "for", "warmup", "out", "profile", "slo", "fault", "script", "runs", "evaluator-master"}


def describe(
    problem: ValidationError,
    fields: Mapping[str, FieldInfo],
    typed: Callable[[str], str],
    unknown: Callable[[str], str],
) -> list[str]:
    """One line per problem. ``typed`` gives the option that set a key, ``unknown`` what to do about an unknown one."""
    lines = []
    for error in problem.errors():
        key = str(error["loc"][0]) if error["loc"] else ""
        own_words = str(error.get("ctx", {}).get("error", ""))
        if error["type"] == "extra_forbidden":
            lines.append(unknown(key))
        elif error["type"] == "missing":
            lines.append(f"{key} is missing")
        elif not key:
            lines.append(own_words)
        elif own_words:
            lines.append(f"invalid {typed(key)}: {own_words}")
        elif key in fields:
            near = nearest(str(error["input"]), values.choices(fields[key]))
            meant = f" (did you mean {near[0]}?)" if near else ""
            lines.append(f"invalid {typed(key)}: expected {values.expected(key, fields[key])}{meant}")
        else:
            lines.append(f"{'.'.join(map(str, error['loc']))}: {error['msg']}, got {error['input']!r}")
    return list(dict.fromkeys(lines))


def unknown_choice(typed: str, name: str, known: Iterable[str], hint: str | None = None) -> UsageError:
    """The error for an option that takes only some words."""
    near = nearest(name, known)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return UsageError(f"invalid {typed}{meant}", expected=one_of(known), hint=hint)


def unknown_setting(typed: str, key: str, engine: str, known: Iterable[str]) -> str:
    """The message for a key that neither the scenario nor the engine has."""
    if key in _OPTIONS:
        return f"unknown setting: {typed}; use the option --{key} instead"
    having = [name for name in registry.names("engines") if key in registry.engine(name).options.model_fields]
    if near := [] if having else nearest(key, known):
        return f"unknown setting: {typed}; did you mean {near[0]!r}?"
    if having:
        return f"unknown setting: {typed}; {key} is an option of {' and '.join(having)}, not of {engine}"
    return f"unknown setting: {typed}"


def unused_values(shape: str, unused: Iterable[str], given: Container[str]) -> str:
    """The message for values that a shape would ignore. A 0 for one that the user has ``given`` would conflict."""
    names = {key: FLAGS.get(key, key) for key in unused}
    own = [name for key, name in names.items() if key in given]
    others = [f"--set {key}={'[]' if key == 'steps_per_s' else 0}" for key in names if key not in given]
    advice = [f"leave out {', '.join(own)}"] if own else []
    advice += [f"add {' '.join(others)}"] if others else []
    return f"shape {shape} does not use {', '.join(names.values())}; {', and '.join(advice)}"


def typed_option(key: str, typed: Mapping[str, str], changes: Mapping[str, str], values: Mapping[str, Any]) -> str:
    """The source of a value: an option of the command line, or the scenario file."""
    if key in typed:
        return typed[key]
    return typed_setting(key, changes[key]) if key in changes else f"{key} = {values.get(key)!r} of the scenario file"


def all_problems(problems: list[str], hint: str) -> UsageError:
    """One error for all of them."""
    if len(problems) == 1:
        return UsageError(problems[0], hint=hint)
    listed = "\n".join(f"  {problem}" for problem in problems)
    return UsageError(f"{len(problems)} values cannot be used:\n{listed}", hint=hint)


def mistakes(problem: ValidationError, known: Iterable[str]) -> list[str]:
    """One line per mistake of a scenario file."""
    lines = []
    for error in problem.errors():
        key = ".".join(str(part) for part in error["loc"])
        if error["type"] == "extra_forbidden":
            near = nearest(key, known)
            lines.append(f"unknown key {key!r}" + (f", did you mean {near[0]!r}?" if near else ""))
        elif error["type"] == "missing":
            lines.append(f"{key} is missing")
        else:
            lines.append(f"{key}: {error['msg']}, got {error['input']!r}")
    return lines
