"""A run directory of each format version can still be read, and evaluates to the same bytes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from streamgauge.conformance.suite import Bench
from streamgauge.rundir import RunDir

GOLDEN = Path(__file__).parents[1] / "golden"


@pytest.mark.parametrize("name", sorted(path.name for path in GOLDEN.iterdir()))
def test_an_old_run_evaluates_to_the_same_bytes(shared: Bench, name: str, tmp_path: Path) -> None:
    shutil.copytree(GOLDEN / name, tmp_path / name)
    run = RunDir.open(tmp_path / name)
    run.summary_path.unlink()
    shared.evaluator.evaluate(run, lambda text: None)
    assert run.summary_path.read_text() == (GOLDEN / name / "summary.json").read_text()
