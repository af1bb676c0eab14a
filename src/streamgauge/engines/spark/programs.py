"""Finds the program of a workload: a function in this engine's folder or in another package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from types import ModuleType
from typing import TYPE_CHECKING, Any

from streamgauge import registry
from streamgauge.engines.programs import redistribution_limit
from streamgauge.engines.spark import workloads
from streamgauge.model import Limit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

GROUP = "streamgauge.programs.spark"
"""Entry point group for other packages: workload name → function."""

Program = Callable[["SparkSession", Mapping[str, Any]], "DataFrame"]
"""Returns key and value of every result, given the session and the content of ``job.json``."""


@cache
def families() -> Mapping[str, ModuleType]:
    """The modules with the built-in programs, by family name."""
    return {name: import_module(f"{workloads.__name__}.{name}") for _, name, _ in iter_modules(workloads.__path__)}


def available() -> frozenset[str]:
    """The registered workloads that have a program. Does not import other packages."""
    return _others() | frozenset(name for name in registry.names("workloads") if _own(name))


def _others() -> frozenset[str]:
    """The workloads whose program comes from another package."""
    named = {point.name for point in entry_points(group=GROUP)}
    return frozenset(name for name in registry.names("workloads") if name in named and not _own(name))


def limits() -> tuple[Limit, ...]:
    redistributed = {name for module in families().values() for name in getattr(module, "REDISTRIBUTED", ())}
    own = (
        *(limit for module in families().values() for limit in getattr(module, "LIMITS", ())),
        redistribution_limit(available(), redistributed),
    )
    if not (others := _others()):
        return own
    return (
        *own,
        Limit(
            others,
            {"implementation": "customised"},
            "its program comes from another package and has one implementation",
        ),
    )


def gaps() -> Mapping[str, str]:
    return {name: why for module in families().values() for name, why in getattr(module, "GAPS", {}).items()}


def find(workload: str) -> Program:
    """The program of a workload; a built-in one takes precedence. Raises UsageError if there is none."""
    if own := _own(workload):
        return own
    for point in entry_points(group=GROUP, name=workload):
        program: Program = registry.load(point, f"the program for {workload}")
        return program
    raise registry.unknown("workload of engine spark", workload, available(), hint="streamgauge list")


def _own(workload: str) -> Program | None:
    family, _, name = workload.replace("-", "_").partition("/")
    module = families().get(family)
    program: Program | None = getattr(module, name, None) if not name.startswith("_") else None
    # Imported functions are not programs.
    return program if module is not None and getattr(program, "__module__", None) == module.__name__ else None
