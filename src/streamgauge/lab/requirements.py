"""What an engine, or the lab itself, lacks on this machine."""

from __future__ import annotations

from streamgauge import jars
from streamgauge.contracts import Engine
from streamgauge.errors import EnvironmentProblem
from streamgauge.jvm.java import find_java


def lacks(engine: Engine) -> list[str]:
    """One phrase per thing that is missing before the engine can run; empty when it is ready."""
    problems = []
    if engine.traits.needs_java:
        try:
            find_java()
        except EnvironmentProblem as problem:
            problems.append(problem.what)
    if missing := jars.missing(engine.traits.jar_groups):
        problems.append(f"{len(missing)} jars (streamgauge fetch {' '.join(engine.traits.jar_groups)})")
    return problems
