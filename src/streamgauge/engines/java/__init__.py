"""Shared by engines written in Java: classes for the job, the protocol and the workloads, and their compilation.

Sources are part of the package and are compiled once per user. The compiler is itself a jar, so a Java runtime is
enough. Compiled classes are cached under a hash of all inputs of the compilation.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from streamgauge import dirs, environment, jars
from streamgauge.errors import EnvironmentProblem
from streamgauge.jvm.java import OLDEST_MAJOR, find_java

SHARED = Path(__file__).parent / "src"
_COMPILER = "ecj"
_WARNINGS = (
    "allDeadCode,allDeprecation,conditionAssign,emptyBlock,enumSwitch,fallthrough,finally,hashCode,intfRedundant,null,"
    "paramAssign,removal,semicolon,switchDefault,unnecessaryElse,unused,uselessTypeCheck,varargsCast"
)
_OUTPUT_LINES = 60


def libraries() -> list[Path]:
    """The jars that the shared classes need on the class path."""
    return [path for path in jars.locations("java") if not path.name.startswith(f"{_COMPILER}-")]


def classes(engine: str, sources: Path, class_path: Sequence[Path]) -> Path:
    """The directory for the compiled classes of an engine, including the shared ones; it may not exist yet."""
    digest = hashlib.sha256(f"{_compiler().name} {_WARNINGS}\n".encode())
    for root in (SHARED, sources):
        for file in _java_files(root):
            text = file.read_bytes()
            digest.update(f"{file.relative_to(root).as_posix()} {len(text)}\n".encode() + text)
    for jar in class_path:
        digest.update(f"{jar.name} {jar.stat().st_size if jar.exists() else 'missing'}\n".encode())
    return dirs.cache_dir() / "classes" / f"{engine}-{digest.hexdigest()[:16]}"


def compile_java(engine: str, sources: Path, class_path: Sequence[Path], say: Callable[[str], None]) -> Path:
    """Compile the classes unless they are cached; returns their directory. Safe to call concurrently.

    Raises EnvironmentProblem with the compiler's output if it reports an error or a warning.
    """
    target = classes(engine, sources, class_path)
    if target.is_dir():
        return target
    say(f"compiling the Java sources of {engine} (once)")
    jars.paths("java")  # raises if the compiler is missing
    java = find_java().path
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{engine}-"))
    except OSError as error:
        raise _disk_problem(target, error) from error
    try:
        _compile(engine, sources, [java, "-jar", _compiler()], class_path, part)
        _rename(part, target)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return target


def _compile(engine: str, sources: Path, compiler: Sequence[Path | str], class_path: Sequence[Path], out: Path) -> None:
    # Not --release, which needs data that only a JDK has.
    argv = [
        *compiler,
        f"-{OLDEST_MAJOR}",
        f"-warn:+{_WARNINGS}",
        *("-failOnWarning", "-proc:none", "-encoding", "UTF-8", "-d", out),
        *("-classpath", os.pathsep.join(str(jar) for jar in class_path)),
        *(file for root in (SHARED, sources) for file in _java_files(root)),
    ]
    done = subprocess.run(
        argv,
        env=environment.chosen(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode != 0:
        output_lines = (done.stdout + done.stderr).strip().splitlines()
        raise EnvironmentProblem(
            f"cannot compile the Java sources of engine {engine}",
            where=sources,
            got=f"{_compiler().stem} exited with code {done.returncode}",
            log_tail="\n".join(output_lines[-_OUTPUT_LINES:]),
        )


def _rename(part: Path, target: Path) -> None:
    try:
        part.rename(target)
    except OSError as error:
        if not target.is_dir():  # otherwise another process has compiled the same classes
            raise _disk_problem(target, error) from error


def _compiler() -> Path:
    return next(path for path in jars.locations("java") if path.name.startswith(f"{_COMPILER}-"))


def _java_files(root: Path) -> list[Path]:
    return sorted(root.rglob("*.java"))


def _disk_problem(target: Path, error: OSError) -> EnvironmentProblem:
    return EnvironmentProblem("cannot write the compiled classes", where=target, got=error.strerror)
