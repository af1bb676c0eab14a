"""Reads JSON that was written earlier and may have been damaged since: checked against a schema before it is used.

A schema is a type (``int`` is no bool, ``float`` takes both kinds of numbers and no infinity), a dict (an object with
at least these keys; one that ends with ``?`` may be missing), a list (of one schema for all
items, or of one for each), or one of the classes below.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge.errors import UsageError

Schema = Any

_WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false", object: "anything"}


@dataclass(frozen=True)
class OrNull:
    schema: Schema


@dataclass(frozen=True)
class MapOf:
    """An object of any keys."""

    schema: Schema


@dataclass(frozen=True)
class Exact:
    """An object without other keys."""

    keys: Mapping[str, Schema]


class OneOf:
    def __init__(self, *values: object) -> None:
        self.values = values


@dataclass(frozen=True)
class Within:
    """A number between two others."""

    kind: type
    low: float
    high: float = math.inf


def read_json(path: Path, schema: Schema, hint: str | None = None) -> dict[str, Any]:
    """The file's content. Raises UsageError naming file, place and what was expected; FileNotFoundError as it is."""
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as problem:
        raise damaged(path, f"not JSON: {problem}", None, hint) from None
    check(path, content, schema, hint)
    found: dict[str, Any] = content
    return found


def check(path: Path, content: object, schema: Schema, hint: str | None = None, where: str = "") -> None:
    """Raises UsageError for the first place that is not as the schema has it."""
    for place, got, expected in _problems(content, schema, where):
        raise damaged(path, f"{place or 'the content'} {got}", expected, hint)


def damaged(path: Path, got: str, expected: str | None, hint: str | None = None) -> UsageError:
    return UsageError(
        f"{path.name} is damaged",
        where=path,
        got=got,
        expected=expected,
        hint=hint or "restore it from a copy, or run it again",
    )


Problem = tuple[str, str, str | None]


def _problems(content: object, schema: Schema, place: str) -> Iterator[Problem]:
    """Each with its place, what is there, and what should be."""
    if isinstance(schema, OrNull):
        if content is not None:
            yield from _problems(content, schema.schema, place)
    elif isinstance(schema, type):
        if not _is(content, schema):
            yield place, f"is {_shown(content)}", _WORDS[schema]
    elif isinstance(schema, Within):
        if not _is(content, schema.kind) or not schema.low <= content <= schema.high:  # type: ignore[operator]
            most = "" if math.isinf(schema.high) else f" to {schema.high:g}"
            yield place, f"is {_shown(content)}", f"{_WORDS[schema.kind]} from {schema.low:g}{most}"
    elif isinstance(schema, OneOf):
        if not any(content == value and type(content) is type(value) for value in schema.values):
            yield place, f"is {_shown(content)}", f"one of {', '.join(map(str, schema.values))}"
    elif isinstance(schema, list):
        if not isinstance(content, list):
            yield place, f"is {_shown(content)}", "a list"
        elif len(schema) > 1 and len(content) != len(schema):
            yield place, f"has {len(content)} items", f"{len(schema)} items"
        else:
            for number, item in enumerate(content):
                yield from _problems(item, schema[min(number, len(schema) - 1)], f"{place}[{number}]")
    elif not isinstance(content, dict):
        yield place, f"is {_shown(content)}", "an object"
    elif isinstance(schema, MapOf):
        for key, item in content.items():
            yield from _problems(item, schema.schema, _below(place, key))
    else:
        yield from _of_object(content, schema, place)


def _of_object(content: Mapping[str, Any], schema: Exact | Mapping[str, Schema], place: str) -> Iterator[Problem]:
    keys = schema.keys if isinstance(schema, Exact) else schema
    for name, item in keys.items():
        key = name.removesuffix("?")
        if key in content:
            yield from _problems(content[key], item, _below(place, key))
        elif key == name:
            yield _below(place, key), "is missing", None
    if isinstance(schema, Exact):
        for key in content:
            if key not in keys and f"{key}?" not in keys:
                yield _below(place, key), "is not known", "the version of streamgauge that wrote it"


def _is(content: object, kind: type) -> bool:
    if kind is float:
        return isinstance(content, int | float) and not isinstance(content, bool) and math.isfinite(content)
    return isinstance(content, kind) and not (kind is int and isinstance(content, bool))


def _below(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key


def _shown(content: object) -> str:
    if isinstance(content, dict):
        return "an object"
    if isinstance(content, list):
        return "a list"
    return repr(content) if len(repr(content)) < 60 else f"{repr(content)[:60]}…"
