"""What an engine, or streamgauge itself, lacks on this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib.metadata import PackageNotFoundError, version

from streamgauge import defaults, jars, registry
from streamgauge.contracts import Engine
from streamgauge.errors import EnvironmentProblem
from streamgauge.install_hint import install_command
from streamgauge.jvm.java import find_java


def missing_packages(engine: Engine) -> list[str]:
    """The Python packages that the engine needs and that are not installed."""
    return [package for package in engine.traits.packages if not _is_installed(package)]


def _is_installed(package: str) -> bool:
    try:
        version(package)
    except PackageNotFoundError:
        return False
    return True


def check_packages(engine: Engine) -> None:
    """Raises EnvironmentProblem when one is missing."""
    for package in missing_packages(engine):
        raise EnvironmentProblem(
            f"engine {engine.name} needs the Python package {package}",
            got="it is not installed",
            hint=install_command([package]),
        )


def fetch_jars(groups: Iterable[str], say: Callable[[str], None]) -> None:
    """Download the jars of these groups that are missing."""
    if missing := jars.missing(groups):
        say(f"fetching {len(missing)} jars, {sum(jar.size for jar in missing) / 1e6:.0f} MB (once)")
        jars.fetch(groups)


def jar_groups() -> dict[str, list[str]]:
    """Every jar group that a run may need, each with who needs it."""
    transport = registry.transport(defaults.TRANSPORT)
    users = {group: [f"the {transport.server_noun}"] for group in transport.jar_groups} | {"spark": ["the evaluation"]}
    for name in registry.names("engines"):
        for group in registry.engine(name).traits.jar_groups:
            users.setdefault(group, []).append(name)
    return users


def without_package() -> dict[str, str]:
    """Jar groups that only engines need whose Python package is not installed, each with what installs it."""
    engines = {name: registry.engine(name) for name in registry.names("engines")}
    lacking = {name: packages for name, engine in engines.items() if (packages := missing_packages(engine))}
    return {
        group: install_command(lacking[users[0]])
        for group, users in jar_groups().items()
        if all(user in lacking for user in users)
    }


def lacks(engine: Engine) -> list[str]:
    """One phrase per thing that is missing before the engine can run; empty when it is ready."""
    problems = []
    if engine.traits.needs_java:
        try:
            find_java()
        except EnvironmentProblem as problem:
            problems.append(problem.what)
    for package in missing_packages(engine):
        problems.append(f"the package {package} ({install_command([package])})")
    if missing := jars.missing(engine.traits.jar_groups):
        problems.append(f"{len(missing)} jars (streamgauge fetch {' '.join(engine.traits.jar_groups)})")
    return problems
