"""``streamgauge doctor``: what this machine has, what it lacks, and what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from streamgauge.cli.layout import wrapped

if TYPE_CHECKING:
    from streamgauge.model.calibration import Calibration


def doctor() -> None:
    """Check Python, Java, jars, memory, disk and ports; exit code 5 if a run could not start."""
    import platform
    import tempfile
    from importlib.metadata import version
    from pathlib import Path

    from streamgauge import __version__, defaults, jars, registry
    from streamgauge.errors import EnvironmentProblem, UsageError
    from streamgauge.jvm.java import find_java
    from streamgauge.machine import calibration
    from streamgauge.machine import description as machine
    from streamgauge.processes.ports import free_port
    from streamgauge.run.plan import Request, draw
    from streamgauge.run.requirements import jar_groups, lacks
    from streamgauge.studies import scenario as scenarios

    fine = True

    def say(good: bool, what: str, found: str, hint: str = "", *, needed: bool = True) -> None:
        nonlocal fine
        fine &= good or not needed
        mark = "ok" if good else "LACKING" if needed else "–"
        typer.echo(wrapped(f"{mark:<7}  {what:<20} ", found + (f"  → {hint}" if hint else "")))

    say(True, "streamgauge", __version__)
    say(True, "Python", platform.python_version())
    try:
        java = find_java()
        say(True, "Java", f"{java.version} ({java.source})")
    except EnvironmentProblem as problem:
        say(False, "Java", problem.what, problem.hint or "")
    say(True, "PySpark", version("pyspark"))
    transport = registry.transport(defaults.TRANSPORT)
    say(True, f"{transport.title} client", ", ".join(transport.client_versions().values()))
    for group, users in jar_groups().items():
        locked, missing = jars.locked(group), jars.missing((group,))
        size_mb = sum(jar.size for jar in missing or locked) / 1e6
        found = f"{len(missing)} of {len(locked)} missing" if missing else f"{len(locked)} jars"
        # Not needed yet: `run` fetches them by itself where there is a network.
        say(
            not missing,
            f"jars {group}",
            f"{found}, {size_mb:.0f} MB, for {', '.join(users)}",
            f"streamgauge fetch {group}" if missing else "",
            needed=False,
        )
    about = machine.describe()
    try:
        default = draw(Request(scenarios.resolve(defaults.SCENARIO), Path("runs") / "doctor"), "doctor", Path("WORK"))
        need_mb, disk_mb = default.memory_mb, default.disk_mb
    except EnvironmentProblem:
        need_mb = disk_mb = 0  # without a Java, which is said above, nothing can be planned
    memory = machine.available_memory_mb()
    enough = memory >= need_mb
    found = f"{memory:,} MB available of {about['memory_mb']:,}"
    say(enough, "memory", found, "" if enough else f"{need_mb:,} MB are needed")
    for name, where in (("temp", Path(tempfile.gettempdir())), ("here", Path.cwd())):
        free = machine.free_disk_mb(where)
        enough = free >= disk_mb
        say(enough, f"disk {name}", f"{free:,} MB free in {where}", "" if enough else f"{disk_mb:,} MB are needed")
    say(True, "cores", f"{about['cores']}, load {about['load_at_start']}")
    say(True, "port", f"127.0.0.1:{free_port()} is free")
    try:
        known = calibration.read()
        # Not a lack: without one, results near the limits of the machine are not marked.
        found = _calibration_line(known) if known else "none of this machine"
        say(True, "calibration", found, "" if known else "streamgauge calibrate")
    except UsageError as problem:
        say(False, "calibration", f"{problem.what}: {problem.where}", problem.hint or "")
    for name in registry.names("engines"):
        problems = lacks(registry.engine(name))
        state = "ready" if not problems else "lacks " + "; ".join(problems)
        say(not problems, f"engine {name}", state, needed=False)
    if not fine:
        raise typer.Exit(5)


def _calibration_line(found: Calibration) -> str:
    floor_ms = found.floor_ms.latest.p50
    floor = "not known" if floor_ms is None else f"{floor_ms:g} ms"
    return f"floor {floor}, ceiling {found.ceiling_per_s:,.0f}/s, by {found.scenario} at {found.at}"
