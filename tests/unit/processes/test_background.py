"""A program that runs when nobody else wants the CPU."""

from __future__ import annotations

import subprocess
import sys

from streamgauge.processes.background import NICE


def test_the_program_has_the_lowest_priority_and_its_own_arguments() -> None:
    shown = "import os, sys; print(os.getpriority(os.PRIO_PROCESS, 0), *sys.argv[1:])"
    command = [sys.executable, "-P", "-m", "streamgauge.processes.background", sys.executable, "-c", shown, "a b", "-c"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"{NICE} a b -c\n"
