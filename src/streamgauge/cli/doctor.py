"""``streamgauge doctor``: what this machine has, what it lacks, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli import terminal
from streamgauge.cli.layout import echo_json, wrapped

if TYPE_CHECKING:
    from streamgauge.model.calibration import Calibration

FORMAT = 1


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    name: str
    ok: bool
    value: str
    hint: str = ""
    needed: bool = True
    """Whether every run needs it."""

    @property
    def mark(self) -> str:
        return "ok" if self.ok else "LACKING" if self.needed else "–"


def doctor(
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print JSON alone on stdout: format, ok, and findings with name, ok, value, hint, needed."
        ),
    ] = False,
) -> None:
    """Check Python, Java, jars, memory, disk and ports; exit code 5 if a run could not start."""
    findings = list(_findings())
    fine = all(finding.ok or not finding.needed for finding in findings)
    if as_json:
        echo_json({"format": FORMAT, "ok": fine, "findings": [asdict(finding) for finding in findings]})
    else:
        for finding in findings:
            if not terminal.detail.quiet or not finding.ok:
                text = finding.value + (f"  → {finding.hint}" if finding.hint else "")
                typer.echo(wrapped(f"{finding.mark:<7}  {finding.name:<20} ", text))
    if not fine:
        raise typer.Exit(5)


def _findings() -> Iterator[Finding]:
    import os
    import platform
    from importlib.metadata import version

    from streamgauge import __version__, defaults, registry
    from streamgauge.errors import EnvironmentProblem
    from streamgauge.jvm.java import find_java
    from streamgauge.measure.requirements import lacks
    from streamgauge.processes.ports import free_port

    yield Finding("streamgauge", True, __version__)
    yield Finding("Python", True, platform.python_version())
    try:
        java = find_java()
        yield Finding("Java", True, f"{java.version} ({java.source})")
        if (home := os.environ.get("JAVA_HOME")) and java.source not in ("STREAMGAUGE_JAVA", "JAVA_HOME"):
            yield Finding("JAVA_HOME", False, f"{home} has no usable Java: ignored", needed=False)
    except EnvironmentProblem as problem:
        yield Finding("Java", False, problem.what, problem.hint or "")
    yield Finding("PySpark", True, version("pyspark"))
    transport = registry.transport(defaults.TRANSPORT)
    yield Finding(f"{transport.title} client", True, ", ".join(transport.client_versions().values()))
    yield from _jars()
    yield from _room()
    yield Finding("port", True, f"127.0.0.1:{free_port()} is free")
    yield _other_runs()
    yield _calibration()
    for name in registry.names("engines"):
        problems = lacks(registry.engine(name))
        state = "ready" if not problems else "lacks " + "; ".join(problems)
        yield Finding(f"engine {name}", not problems, state, needed=False)


def _jars() -> Iterator[Finding]:
    from streamgauge import jars
    from streamgauge.measure.requirements import jar_groups

    for group, users in jar_groups().items():
        locked, missing = jars.locked(group), jars.missing((group,))
        size_mb = sum(jar.size for jar in missing or locked) / 1e6
        jars_here = "1 jar" if len(locked) == 1 else f"{len(locked)} jars"
        count = f"{len(missing)} of {len(locked)} missing" if missing else jars_here
        # Not needed yet: `run` fetches them by itself where there is a network.
        yield Finding(
            f"jars {group}",
            not missing,
            f"{count}, {size_mb:.0f} MB, for {', '.join(users)}",
            f"streamgauge fetch {group}" if missing else "",
            needed=False,
        )


def _room() -> Iterator[Finding]:
    """Memory, disk and cores, against what the default scenario needs."""
    from pathlib import Path

    from streamgauge import defaults, dirs
    from streamgauge.errors import EnvironmentProblem
    from streamgauge.machine import description as machine
    from streamgauge.measure.plan import Request, draw
    from streamgauge.studies import scenario as scenarios

    about = machine.describe()
    try:
        default = draw(Request(scenarios.resolve(defaults.SCENARIO), Path("runs") / "doctor"), "doctor", Path("WORK"))
        need_mb, disk_mb = default.memory_mb, default.disk_mb
    except EnvironmentProblem:
        need_mb = disk_mb = 0  # without a Java, which is reported above, nothing can be planned
    memory = machine.available_memory_mb()
    enough = memory >= need_mb
    available = f"{memory:,} MB available of {about.memory_mb:,}"
    yield Finding("memory", enough, available, "" if enough else f"{need_mb:,} MB are needed")
    try:
        temp = dirs.temp_dir()
    except EnvironmentProblem as problem:
        yield Finding("disk temp", False, f"{problem.where}: {problem.got}", problem.hint or "")
        temp = None
    for name, where in (("temp", temp), ("here", Path.cwd())):
        if where is None:
            continue
        free = machine.free_disk_mb(where)
        enough = free >= disk_mb
        value = f"{free:,} MB free in {where}"
        yield Finding(f"disk {name}", enough, value, "" if enough else f"{disk_mb:,} MB are needed")
    busy = machine.is_busy(about)
    hint = "busy: stop other programs before you measure" if busy else ""
    yield Finding("cores", not busy, f"{about.cores}, load average {about.load_at_start}", hint, needed=False)


def _other_runs() -> Finding:
    from streamgauge.processes.leftovers import survey

    others = survey()
    states = {one.state for one in others}
    hint = "streamgauge clean" if "dead" in states else "wait until they have ended" if states else ""
    return Finding("other runs", not others, "; ".join(one.text for one in others) or "none", hint, needed=False)


def _calibration() -> Finding:
    from streamgauge.errors import UsageError
    from streamgauge.machine import calibration

    try:
        known = calibration.read()
    except UsageError as problem:
        return Finding("calibration", False, f"{problem.what}: {problem.where}", problem.hint or "")
    # Not a lack: without one, results near the limits of the machine are not marked.
    line = _calibration_line(known) if known else "not calibrated"
    return Finding("calibration", True, line, "" if known else "streamgauge calibrate")


def _calibration_line(calibration: Calibration) -> str:
    floor_ms = calibration.floor_ms.latest.p50
    floor = "not known" if floor_ms is None else f"{floor_ms:g} ms"
    return f"floor {floor}, ceiling {calibration.ceiling_per_s:,.0f}/s, by {calibration.scenario} at {calibration.at}"
