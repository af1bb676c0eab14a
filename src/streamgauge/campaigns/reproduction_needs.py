"""What the engines of a reproduction need, seen to before its first experiment: hours later is too late."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from streamgauge import registry
from streamgauge.errors import EnvironmentProblem
from streamgauge.install_hint import install_command
from streamgauge.jvm.java import find_java
from streamgauge.measure.plan import Request, needed_jar_groups
from streamgauge.measure.requirements import fetch_jars, missing_packages


def make_ready(requests: Sequence[Request], say: Callable[[str], None]) -> None:
    """Fetch the jars of all engines, and let each make what it needs.

    Raises EnvironmentProblem: one that names every package that is missing, or the first jar that cannot be had.
    """
    engines = [registry.engine(name) for name in dict.fromkeys(request.scenario.engine for request in requests)]
    lacking = {engine.name: packages for engine in engines if (packages := missing_packages(engine))}
    if lacking:
        raise EnvironmentProblem(
            f"nothing was run: {', '.join(lacking)} cannot run here",
            got="; ".join(f"{name} lacks the Python package {', '.join(names)}" for name, names in lacking.items()),
            hint=install_command(package for packages in lacking.values() for package in packages),
        )
    if any(engine.traits.needs_java for engine in engines):
        find_java()
    groups = {
        group
        for request in requests
        for group in needed_jar_groups(request.scenario, own_transport=request.transport_address is None)
    }
    fetch_jars(groups, say)
    for engine in engines:
        engine.prepare(say)
