"""Evaluating a run again: the report follows the summary; a run whose records were deleted keeps its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_runs import write_run

from streamgauge.errors import UsageError
from streamgauge.measure.evaluation import evaluate_again
from streamgauge.measure.reporter import NullReporter
from streamgauge.model.outcome import Outcome


def test_without_its_records_a_run_is_not_evaluated_again(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 100.0)
    before = run.summary_path.read_bytes()
    run.recorded_path.rmdir()
    with pytest.raises(UsageError, match="records of this run were deleted") as refused:
        evaluate_again(run, "local[*]", NullReporter())
    assert "streamgauge report" in refused.value.message()
    assert run.summary_path.read_bytes() == before


def test_the_report_follows_the_new_summary(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 100.0)
    run.write_outcome(Outcome.blank())
    assert not run.report_path.exists()
    summary = evaluate_again(run, "local[*]", NullReporter())
    assert summary.verdict != "VALID"
    assert summary.verdict in run.report_path.read_text(encoding="utf-8")
