"""Finds the workloads that an engine has a program for by the files in its folder, so no list must be maintained."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from streamgauge import registry
from streamgauge.model import Limit

_CUSTOMISED = {"implementation": "customised"}


def java_workloads(sources: Path, package: str, prefix: str = "") -> frozenset[str]:
    """The registered workloads that have a class below the package: ``family/name`` is ``family.Name``.

    With a prefix, such as ``Customised``, those that have a class of that name (``family.CustomisedName``).
    """
    root = sources.joinpath(*package.split("."))
    return frozenset(name for name in registry.names("workloads") if (root / _java_file(name, prefix)).is_file())


def _java_file(workload: str, prefix: str) -> Path:
    """The same rule as in Programs.java."""
    family, _, name = workload.replace("-", "").partition("/")
    return Path(family, f"{prefix}{name[:1].upper()}{name[1:]}.java")


def stateless_limit(workloads: Iterable[str]) -> Limit:
    """Stateless workloads have no customised implementation."""
    stateless = (name for name in workloads if not registry.workload(name).kind.stateful)
    return Limit(frozenset(stateless), _CUSTOMISED, "stateless workloads have no customised implementation")


def built_in_only_limit(workloads: Iterable[str], customised: Iterable[str]) -> Limit:
    """Stateful workloads without a customised implementation."""
    stateful = {name for name in workloads if registry.workload(name).kind.stateful}
    return Limit(frozenset(stateful.difference(customised)), _CUSTOMISED, "there is only a built-in implementation")


def redistribution_limit(workloads: Iterable[str], redistributed: Iterable[str]) -> Limit:
    """Workloads whose program cannot spread the records that it reads over all nodes."""
    others = frozenset(workloads).difference(redistributed)
    return Limit(others, {"redistribute": True}, "its program does not redistribute the records that it reads")
