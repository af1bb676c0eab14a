"""Evaluating a run again: the report follows the summary; a run whose records were deleted keeps its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from written_runs import write_run

from streamgauge.errors import UsageError
from streamgauge.measure.evaluation import evaluate_again, keep_reference
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


def test_a_corrected_reference_is_kept_only_by_runs_that_had_one(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 100.0)
    first, corrected = tmp_path / "reference.py", tmp_path / "corrected.py"
    first.write_text('key = ["id"]\ndef reference(inputs): ...\n')
    corrected.write_text('key = ["id", "n"]\ndef reference(inputs): ...\n')
    with pytest.raises(UsageError, match="made with neither --script nor --reference"):
        keep_reference(run, corrected)
    run.keep_reference(first)
    keep_reference(run, corrected)
    assert run.reference_path.read_text() == corrected.read_text()
    (tmp_path / "empty.py").write_text("")
    with pytest.raises(UsageError, match="no reference"):
        keep_reference(run, tmp_path / "empty.py")
    assert run.reference_path.read_text() == corrected.read_text()
