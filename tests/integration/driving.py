"""Runs the command line as a user would, or in this process if it starts no other."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from attempts import until_valid
from built_commands import built_once
from streamgauge.cli.main import main
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir

STREAMGAUGE = str(Path(sys.executable).parent / "streamgauge")

Measure = Callable[..., tuple[RunDir, Summary]]


def streamgauge(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line to completion."""
    return subprocess.run(
        [STREAMGAUGE, *arguments],
        env={**os.environ, **(env or {})},
        cwd=cwd,
        text=True,
        capture_output=True,
        timeout=280,
        check=False,
    )


class Printed(NamedTuple):
    """The output and exit code of a command in this process."""

    returncode: int
    stdout: str
    stderr: str


def in_process(*arguments: str, cwd: Path | None = None) -> Printed:
    """The same without a new process, which saves a second; for commands that start none."""
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    with (
        built_once(),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        contextlib.chdir(cwd or Path.cwd()),
    ):
        sys.argv = [STREAMGAUGE, *arguments]
        try:
            main()
        except SystemExit as end:
            return Printed(int(end.code or 0), out.getvalue(), err.getvalue())
        finally:
            sys.argv = argv
    raise AssertionError("main always exits")


def repeated(attempt: Callable[[int], subprocess.CompletedProcess[str]]) -> subprocess.CompletedProcess[str]:
    """Repeat a command whose measurement was INVALID (exit code 3)."""
    return until_valid(attempt, lambda done: done.returncode == 3)
