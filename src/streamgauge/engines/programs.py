"""Which workloads an engine has a program for: found by the files in its folder, so that no list of them is kept."""

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
    """As the engines' Java finds it (Programs.java)."""
    family, _, name = workload.replace("-", "").partition("/")
    return Path(family, f"{prefix}{name[:1].upper()}{name[1:]}.java")


def nothing_to_customise(workloads: Iterable[str]) -> Limit:
    """Those of the workloads that keep no state have no customised implementation."""
    stateless = (name for name in workloads if not registry.workload(name).kind.stateful)
    return Limit(frozenset(stateless), _CUSTOMISED, "it keeps no state: there is nothing to customise")


def one_implementation(workloads: Iterable[str], customised: Iterable[str]) -> Limit:
    """Those of the workloads that keep state, but have no customised implementation."""
    stateful = {name for name in workloads if registry.workload(name).kind.stateful}
    return Limit(frozenset(stateful.difference(customised)), _CUSTOMISED, "it has one implementation, the built-in one")
