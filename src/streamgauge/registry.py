"""Finds engines, transports, workloads and studies by name through entry points, which other packages can add."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any

from streamgauge.contracts import Dataset, Engine, Transport, Workload
from streamgauge.errors import StreamgaugeError, UsageError, nearest, one_of
from streamgauge.model import LoadPlan
from streamgauge.study import Study


def names(kind: str) -> tuple[str, ...]:
    """Registered names of a kind: ``engines``, ``transports``, ``workloads`` or ``studies``."""
    return tuple(sorted(_points(kind)))


def own_names(kind: str) -> tuple[str, ...]:
    """The registered names that come with streamgauge."""
    return tuple(name for name in names(kind) if _points(kind)[name][0].module.partition(".")[0] == "streamgauge")


def engine_workloads() -> frozenset[str]:
    """The workloads of streamgauge that every engine has a program for, or a gap with a reason."""
    return frozenset(name for name in own_names("workloads") if not workload(name).users_program)


@cache
def _points(kind: str) -> Mapping[str, list[EntryPoint]]:
    """Distinct entry points by name; the same package may be installed twice.

    Cached, because each lookup reads the metadata of every installed package.
    """
    points: dict[str, list[EntryPoint]] = {}
    for point in entry_points(group=f"streamgauge.{kind}"):
        same_name = points.setdefault(point.name, [])
        if point.value not in [other.value for other in same_name]:
            same_name.append(point)
    return points


def engine(name: str) -> Engine:
    loaded: Engine = _made("engines", name)
    return loaded


def transport(name: str) -> type[Transport]:
    loaded: type[Transport] = _load("transports", name)
    return loaded


def workload(name: str, parameters: Mapping[str, Any] | None = None) -> Workload:
    """With parameters: as it is with these."""
    loaded: Workload = _made("workloads", name)
    return loaded if parameters is None else loaded.bound(parameters)


def dataset(workload_name: str, parameters: Mapping[str, Any], seed: int, load: LoadPlan) -> Dataset:
    """The records of a workload. Raises UsageError, also if the workload of another package fails in any way."""
    try:
        return workload(workload_name).dataset(parameters, seed, load)
    except StreamgaugeError:
        raise
    except Exception as problem:
        if workload_name in own_names("workloads"):
            raise
        point = _point("workloads", workload_name)
        raise _broken(point, f"workload {workload_name} cannot create its data set", problem) from problem


def study(name: str) -> ModuleType:
    loaded: ModuleType = _load("studies", name)
    return loaded


def study_description(name: str) -> Study:
    """What a study ran and published. Raises UsageError for a study that only has scenarios."""
    description: Study | None = getattr(study(name), "STUDY", None)
    if description is None:
        raise UsageError(f"study {name} has only scenarios and cannot be reproduced", expected="a STUDY in its module")
    return description


def _load(kind: str, name: str) -> Any:
    return load(_point(kind, name), f"the {_singular(kind)} {name}")


def _point(kind: str, name: str) -> EntryPoint:
    if name not in _points(kind):
        raise unknown(_singular(kind), name, names(kind), hint="streamgauge list")
    points = _points(kind)[name]
    if len(points) > 1:
        # Picking one of them could silently change the correct answer.
        raise UsageError(
            f"two packages have a {_singular(kind)} {name}",
            where=f"entry points of {points[0].group}",
            got=", ".join(_origin(point) for point in points),
            expected="one",
            hint="rename it in your package, or remove the package",
        )
    return points[0]


def _made(kind: str, name: str) -> Any:
    """An instance of the class. Raises UsageError if it cannot be created, for example if a method is missing."""
    loaded = _load(kind, name)
    try:
        return loaded()
    except StreamgaugeError:
        raise
    except Exception as problem:
        raise _broken(_point(kind, name), f"the {_singular(kind)} {name} could not be loaded", problem) from problem


def load(point: EntryPoint, what: str) -> Any:
    """Load an entry point. Raises UsageError if it does not exist or cannot be imported."""
    try:
        return point.load()
    # Importing another package may fail in any way.
    except (Exception, SystemExit) as problem:
        raise _broken(point, f"{what} could not be loaded", problem) from problem


def _broken(point: EntryPoint, what: str, problem: BaseException) -> UsageError:
    is_plain = isinstance(problem, ImportError | AttributeError)
    return UsageError(
        what,
        where=f"entry point of {point.group}: {point.value}",
        got=str(problem) if is_plain else f"{type(problem).__name__}: {problem}",
        hint="fix or remove the package that provides it",
    )


def _singular(kind: str) -> str:
    return "study" if kind == "studies" else kind.removesuffix("s")


def _origin(point: EntryPoint) -> str:
    return point.value if point.dist is None else f"{point.value} ({point.dist.name})"


def unknown(what: str, name: str, known: Iterable[str], hint: str | None = None) -> UsageError:
    """The error for an unknown name, with the nearest known one."""
    known = sorted({*known})
    near = nearest(name, known)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    return UsageError(f"unknown {what}: {name!r}{meant}", expected=one_of(known), hint=hint)
