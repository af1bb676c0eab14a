"""Reads a value of a scenario, a workload or an engine as it was typed, and describes which values are valid."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from streamgauge.errors import one_of
from streamgauge.studies import parsing

_DAY_S = 86_400


def read(text: str, key: str, field: FieldInfo | None) -> Any:
    """The value of a typed text; a text that cannot be read is returned as it is, for the field's model to refuse."""
    if field is None:
        # A setting of the engine's own, such as spark.sql.shuffle.partitions, which only the engine understands.
        return parsing.parse_text(text)
    return _read(text, key, _kind(field.annotation))


def _read(text: str, key: str, kind: Any) -> Any:
    if kind is str or get_origin(kind) is Literal:
        return parsing.parse_text(text)
    if kind is bool:
        truth = parsing.read_truth(text)
        return text if truth is None else truth
    if kind in (int, float):
        return _number(text, key, kind)
    if get_origin(kind) is list:
        value = parsing.parse_literal(text)
        if isinstance(value, str):
            value = [_read(part.strip(), key, _kind(get_args(kind)[0])) for part in text.strip("[] ").split(",")]
        return value if isinstance(value, list) else [value]
    return parsing.parse_literal(text)


def _number(text: str, key: str, kind: type) -> Any:
    value: float | None
    if key.endswith("_per_s"):
        value = parsing.read_whole_rate_per_s(text) if kind is int else parsing.read_rate_per_s(text)
    elif key.endswith("_s"):
        value = parsing.read_duration_s(text)
    elif key.endswith("_ms"):
        value = parsing.read_count(text)
        if value is None and (seconds := parsing.read_duration_s(text)) is not None:
            value = round(seconds * 1000, 6)
    elif key.endswith("_mb"):
        value = parsing.read_memory_mb(text)
    else:
        value = parsing.read_count(text)
    if value is None:
        return parsing.parse_literal(text)
    return int(value) if kind is int and math.isfinite(value) and value == int(value) else value


def _kind(annotation: Any) -> Any:
    """The bare type: without ``| None`` and ``Annotated``."""
    if get_origin(annotation) is Annotated:
        return get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
        return kinds[0] if len(kinds) == 1 else annotation
    return annotation


def as_typed(value: Any) -> str:
    """A value as ``--set`` takes it, for a message."""
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def choices(field: FieldInfo) -> tuple[str, ...]:
    """The allowed words of a field that takes only some."""
    kind = _kind(field.annotation)
    return tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()


def expected(key: str, field: FieldInfo) -> str:
    """The valid values, with their range, for a message."""
    kind = _kind(field.annotation)
    if get_origin(kind) is Literal:
        return one_of(choices(field))
    if kind is bool:
        return "true or false"
    if kind is str:
        return "a text"
    if get_origin(kind) is list:
        return "a list, such as 400,800,1600"
    if kind not in (int, float):
        return "another value"
    bounds = _bounds(field)
    if key.endswith("_per_s"):
        return (
            f"{'a whole number of' if kind is int else 'a number of'} records per second{_range(bounds)}, such as 10k/s"
        )
    if key.endswith("_s"):
        whole = " of whole seconds" if kind is int else ""
        return f"a duration{whole}{_range(bounds, _duration)}, such as 30s or 1m30s"
    number = f"a {'whole ' if kind is int else ''}number"
    if key.endswith("_ms"):
        return f"{number} of milliseconds,{_range(bounds, of='')}, such as 500 or 2s"
    if key.endswith("_mb"):
        return f"{number} of megabytes,{_range(bounds, of='')}, such as 1024 or 2g"
    return number + _range(bounds)


def is_whole(field: FieldInfo) -> bool:
    """Whether it takes whole numbers only."""
    return _kind(field.annotation) is not float


def is_number(field: FieldInfo) -> bool:
    return _kind(field.annotation) in (int, float)


def limits(field: FieldInfo) -> tuple[float | None, float | None]:
    """The least and the largest number that it takes; None for an end without a limit."""
    bounds = _bounds(field)
    return bounds.get("ge"), bounds.get("le")


def _bounds(field: FieldInfo) -> Mapping[str, float]:
    names = ("ge", "gt", "le", "lt")
    return {name: getattr(rule, name) for rule in field.metadata for name in names if hasattr(rule, name)}


def _range(bounds: Mapping[str, float], shown: Any = "{:,}".format, of: str = " of") -> str:
    low, high = bounds.get("ge"), bounds.get("le")
    if "gt" in bounds:
        return f" above {shown(bounds['gt'])}"
    if low is not None and high is not None:
        return f" from {shown(low)} to {shown(high)}"
    if low is not None:
        return f"{of} at least {shown(low)}"
    return "" if high is None else f"{of} at most {shown(high)}"


def _duration(seconds: float) -> str:
    return f"{seconds / _DAY_S:g} days" if seconds >= _DAY_S else f"{seconds:g}s"
