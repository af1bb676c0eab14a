"""The launcher's side of a script's packages (the shim's ``packages.py`` is the other).

The script's own JVM cannot reach a repository, so a Spark outside the fence resolves them and the script gets the
jars. The shim asks with a file ``NAME.packages``, and ``NAME.jars`` is the answer.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_FIRST_WORD = "jars:"
_RESOLVE = f"""
import json, sys
from pyspark.sql import SparkSession

builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
loopback = {{"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}}
for key, value in {{**json.load(sys.stdin), **loopback}}.items():
    builder = builder.config(key, value)
print("{_FIRST_WORD}" + builder.getOrCreate().sparkContext.getConf().get("spark.jars", ""))
"""


class PackageResolver:
    """Answers one request after another, in the environment of the script but without its shim and its fence."""

    def __init__(self, shim: Path, python: str, environment: Mapping[str, str]) -> None:
        self._shim, self._python = shim, python
        self._environment = {**os.environ, **environment}
        self._answer: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def look(self) -> None:
        """Begin with a request, or answer it; returns at once."""
        if self._process is None:
            self._begin()
        elif self._process.poll() is not None:
            self._end()

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            self._process.wait()

    def _begin(self) -> None:
        for request in self._shim.glob("*.packages"):
            answer = request.with_suffix(".jars")
            if not answer.exists():
                self._answer = answer
                with request.open("rb") as settings, answer.with_suffix(".log").open("wb") as log:
                    self._process = subprocess.Popen(
                        [self._python, "-c", _RESOLVE],
                        stdin=settings,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        env=self._environment,
                        cwd=self._shim,
                    )
                return

    def _end(self) -> None:
        assert self._process is not None and self._answer is not None
        lines = self._answer.with_suffix(".log").read_text(encoding="utf-8", errors="replace").splitlines()
        found = next((line for line in reversed(lines) if line.startswith(_FIRST_WORD)), None)
        content = {"jars": [], "problem": ""}
        if self._process.returncode == 0 and found is not None:
            content["jars"] = [jar for jar in found.removeprefix(_FIRST_WORD).split(",") if jar]
        else:
            content["problem"] = _why(lines) or f"exit code {self._process.returncode}"
        half = self._answer.with_suffix(".half")
        half.write_text(json.dumps(content), encoding="utf-8")
        half.replace(self._answer)
        self._process = None


def _why(lines: list[str]) -> str:
    """Spark's own words, from its log."""
    named = [line.strip() for line in lines if "unresolved dependency" in line or "not found" in line]
    exceptions = [line.strip() for line in lines if "Exception" in line or "Error" in line]
    return next(iter([*named, *exceptions]), "")
