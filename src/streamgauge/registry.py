"""Finds engines, transports, workloads and studies by name, through entry points, so that strangers can add theirs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from streamgauge.contracts import Engine, Transport, Workload
from streamgauge.errors import UsageError
from streamgauge.study import Study


def names(kind: str) -> tuple[str, ...]:
    """Registered names of a kind: ``engines``, ``transports``, ``workloads`` or ``studies``."""
    return tuple(sorted(_points(kind)))


def own_names(kind: str) -> tuple[str, ...]:
    """Those of them that come with streamgauge."""
    return tuple(name for name in names(kind) if _points(kind)[name].module.partition(".")[0] == "streamgauge")


@cache
def _points(kind: str) -> Mapping[str, EntryPoint]:
    """By name, the first of a name. Cached: each look reads the metadata of every installed package."""
    return {point.name: point for point in reversed([*entry_points(group=f"streamgauge.{kind}")])}


def engine(name: str) -> Engine:
    loaded: Engine = _load("engines", name)()
    return loaded


def transport(name: str) -> type[Transport]:
    loaded: type[Transport] = _load("transports", name)
    return loaded


def workload(name: str) -> Workload:
    loaded: Workload = _load("workloads", name)()
    return loaded


def study(name: str) -> ModuleType:
    loaded: ModuleType = _load("studies", name)
    return loaded


def study_description(name: str) -> Study:
    """What a study ran and published. Raises UsageError for one that brings scenarios alone."""
    description: Study | None = getattr(study(name), "STUDY", None)
    if description is None:
        raise UsageError(f"study {name} does not say what it ran", expected="a STUDY in its module")
    return description


def _load(kind: str, name: str) -> Any:
    singular = "study" if kind == "studies" else kind.removesuffix("s")
    if name in _points(kind):
        return load(_points(kind)[name], f"the {singular} {name}")
    raise unknown(singular, name, names(kind), hint="streamgauge list")


def load(point: EntryPoint, what: str) -> Any:
    """What an entry point names. Raises UsageError where it is not there, or cannot be imported."""
    try:
        return point.load()
    except (ImportError, AttributeError) as problem:
        raise UsageError(
            f"{what} could not be loaded",
            where=f"entry point of {point.group}: {point.value}",
            got=str(problem),
            hint="fix or remove the package that has it",
        ) from problem


def unknown(what: str, name: str, known: Iterable[str], hint: str | None = None) -> UsageError:
    """The error for a name that does not exist, naming the nearest one that does."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    expected = f"did you mean {near[0]!r}? known: " if near else "one of "
    return UsageError(f"unknown {what}", got=repr(name), expected=expected + ", ".join(known), hint=hint)
