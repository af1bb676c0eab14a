"""``python -m streamgauge.processes.background PROGRAM …``: run a program when nobody else wants the CPU."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

NICE = 19
AUTOGROUP = Path("/proc/self/autogroup")
"""Linux may divide the CPU between sessions first; this file holds the nice value of the session."""


def main(arguments: list[str]) -> None:
    os.nice(NICE)
    with contextlib.suppress(OSError):
        if AUTOGROUP.exists():
            AUTOGROUP.write_text(str(NICE))
    os.execvp(arguments[0], arguments)  # noqa: S606  # the arguments are the plan's


if __name__ == "__main__":
    main(sys.argv[1:])
