"""The Python environment of a user's script."""

from __future__ import annotations

import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

from streamgauge.errors import EnvironmentProblem, UsageError

OLDEST = (3, 4)
_ANSWER_S = 60.0
_ASK = "import importlib.metadata as m; print(m.version('pyspark'))"

JAR_GROUPS = {"3.5": "spark-35", "4.2": "spark"}
"""By the version of PySpark: the jars of its Kafka connector. A script brings those of any other version itself."""


def interpreter(python: str) -> str:
    """The path of the interpreter; this one's, if none is named. Raises UsageError."""
    if not python:
        return sys.executable
    found = shutil.which(str(Path(python).expanduser()))
    if found is None:
        raise UsageError(
            "the interpreter of --python was not found",
            got=python,
            expected="the path of a Python, such as env/bin/python",
        )
    return str(Path(found).absolute())


@cache
def pyspark_version(python: str) -> str:
    """Of the environment of an interpreter. Raises EnvironmentProblem without one, or with one that is too old."""
    try:
        done = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, timeout=_ANSWER_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise EnvironmentProblem("the interpreter of --python does not start", where=python, got=str(problem)) from None
    if done.returncode != 0:
        raise EnvironmentProblem(
            "the environment of the script has no PySpark",
            where=python,
            got=(done.stderr.strip().splitlines() or ["nothing"])[-1],
            expected="pyspark 3.4 or later",
            hint=f"{python} -m pip install pyspark",
        )
    version = done.stdout.strip()
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        raise EnvironmentProblem(
            "the PySpark of the script is too old", where=python, got=version, expected="pyspark 3.4 or later"
        )
    return version


def jar_group(version: str) -> str | None:
    return JAR_GROUPS.get(".".join(version.split(".")[:2]))
