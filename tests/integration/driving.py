"""The command line as a user starts it, and in this process where it starts nothing."""

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
from streamgauge.cli.main import main
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir

STREAMGAUGE = str(Path(sys.executable).parent / "streamgauge")

Measure = Callable[..., tuple[RunDir, Summary]]


def streamgauge(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
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
    """What a command in this process printed, and how it ended."""

    returncode: int
    stdout: str
    stderr: str


def in_process(*arguments: str, cwd: Path | None = None) -> Printed:
    """The same without a process, which saves a second; for commands that start none themselves."""
    out, err, argv = io.StringIO(), io.StringIO(), sys.argv
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), contextlib.chdir(cwd or Path.cwd()):
        sys.argv = [STREAMGAUGE, *arguments]
        try:
            main()
        except SystemExit as end:
            return Printed(int(end.code or 0), out.getvalue(), err.getvalue())
        finally:
            sys.argv = argv
    raise AssertionError("main always exits")


def repeated(attempt: Callable[[int], subprocess.CompletedProcess[str]]) -> subprocess.CompletedProcess[str]:
    """A command whose measurement the machine spoilt (exit code 3) is repeated."""
    return until_valid(attempt, lambda done: done.returncode == 3)
