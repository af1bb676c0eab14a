"""The first line that a run prints: verdict and state, and whether the rate was sustained."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_runs import write_run

from streamgauge.cli.result import print_result


@pytest.mark.parametrize(
    ("verdict", "sustained", "line"),
    [
        ("VALID", True, "VALID · state steady · sustained"),
        ("VALID", False, "VALID · state steady · not sustained"),
        ("VALID", None, "VALID · state steady"),
        ("FAILED", True, "FAILED · state steady"),
    ],
)
def test_the_first_line(tmp_path: Path, capsys, verdict: str, sustained: bool | None, line: str) -> None:
    run = write_run(tmp_path / "run", 250.0, verdict=verdict, sustained=sustained)
    print_result(run, run.summary(), to_stderr=False)
    assert capsys.readouterr().out.split("\n")[1].rstrip() == line
