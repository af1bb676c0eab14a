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

    def report(good: bool, what: str, value: str, hint: str = "", *, needed: bool = True) -> None:
        nonlocal fine
        fine &= good or not needed
        mark = "ok" if good else "LACKING" if needed else "–"
        typer.echo(wrapped(f"{mark:<7}  {what:<20} ", value + (f"  → {hint}" if hint else "")))

    report(True, "streamgauge", __version__)
    report(True, "Python", platform.python_version())
    try:
        java = find_java()
        report(True, "Java", f"{java.version} ({java.source})")
    except EnvironmentProblem as problem:
        report(False, "Java", problem.what, problem.hint or "")
    report(True, "PySpark", version("pyspark"))
    transport = registry.transport(defaults.TRANSPORT)
    report(True, f"{transport.title} client", ", ".join(transport.client_versions().values()))
    for group, users in jar_groups().items():
        locked, missing = jars.locked(group), jars.missing((group,))
        size_mb = sum(jar.size for jar in missing or locked) / 1e6
        count = f"{len(missing)} of {len(locked)} missing" if missing else f"{len(locked)} jars"
        # Not needed yet: `run` fetches them by itself where there is a network.
        report(
            not missing,
            f"jars {group}",
            f"{count}, {size_mb:.0f} MB, for {', '.join(users)}",
            f"streamgauge fetch {group}" if missing else "",
            needed=False,
        )
    about = machine.describe()
    try:
        default = draw(Request(scenarios.resolve(defaults.SCENARIO), Path("runs") / "doctor"), "doctor", Path("WORK"))
        need_mb, disk_mb = default.memory_mb, default.disk_mb
    except EnvironmentProblem:
        need_mb = disk_mb = 0  # without a Java, which is reported above, nothing can be planned
    memory = machine.available_memory_mb()
    enough = memory >= need_mb
    available = f"{memory:,} MB available of {about.memory_mb:,}"
    report(enough, "memory", available, "" if enough else f"{need_mb:,} MB are needed")
    for name, where in (("temp", Path(tempfile.gettempdir())), ("here", Path.cwd())):
        free = machine.free_disk_mb(where)
        enough = free >= disk_mb
        report(enough, f"disk {name}", f"{free:,} MB free in {where}", "" if enough else f"{disk_mb:,} MB are needed")
    report(True, "cores", f"{about.cores}, load {about.load_at_start}")
    report(True, "port", f"127.0.0.1:{free_port()} is free")
    try:
        known = calibration.read()
        # Not a lack: without one, results near the limits of the machine are not marked.
        line = _calibration_line(known) if known else "none of this machine"
        report(True, "calibration", line, "" if known else "streamgauge calibrate")
    except UsageError as problem:
        report(False, "calibration", f"{problem.what}: {problem.where}", problem.hint or "")
    for name in registry.names("engines"):
        problems = lacks(registry.engine(name))
        state = "ready" if not problems else "lacks " + "; ".join(problems)
        report(not problems, f"engine {name}", state, needed=False)
    if not fine:
        raise typer.Exit(5)


def _calibration_line(calibration: Calibration) -> str:
    floor_ms = calibration.floor_ms.latest.p50
    floor = "not known" if floor_ms is None else f"{floor_ms:g} ms"
    return f"floor {floor}, ceiling {calibration.ceiling_per_s:,.0f}/s, by {calibration.scenario} at {calibration.at}"
