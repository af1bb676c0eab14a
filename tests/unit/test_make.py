"""``make demo``: overload is a finding, and only a run that went wrong fails it."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
@pytest.mark.parametrize(("code", "passes"), [(0, True), (1, True), (2, False), (3, False), (4, False), (5, False)])
def test_the_demo_passes_when_the_run_is_overloaded(tmp_path: Path, code: int, passes: bool) -> None:
    program = tmp_path / "bin" / "streamgauge"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@"\n[ "$1" != run ] || exit {code}\n')
    program.chmod(0o755)
    (tmp_path / ".runtime").touch()
    made = subprocess.run(
        ["make", "--silent", "demo", f"VENV={tmp_path}", "RUN=--for 5s"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if not name.startswith("MAKE")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.stdout.splitlines() == ["fetch kafka spark", "run ospbench/latency --for 5s"]
    assert (made.returncode == 0) is passes
    assert passes or f"Error {code}" in made.stderr
