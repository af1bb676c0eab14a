"""A run whose topics are not there proves nothing, and must not pass."""

from __future__ import annotations

import shutil
from pathlib import Path

from streamgauge.evaluate import evaluate_without_spark, needs_spark
from streamgauge.evaluate.verdict import exit_code
from streamgauge.rundir import RunDir

GOLDEN = Path(__file__).parents[2] / "golden" / "format-1"


def test_a_run_without_its_topics_is_invalid(tmp_path: Path) -> None:
    shutil.copytree(GOLDEN, tmp_path / "run")
    run = RunDir.open(tmp_path / "run")
    assert needs_spark(run)
    for stream in ("flow", "speed", "output"):
        shutil.rmtree(run.recorded(stream))
    assert not needs_spark(run)
    summary = evaluate_without_spark(run)
    assert summary["verdict"] == "INVALID"
    assert "not recorded" in summary["reasons"][0]
    assert exit_code(summary) == 3
