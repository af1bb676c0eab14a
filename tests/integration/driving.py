"""The command line as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

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
