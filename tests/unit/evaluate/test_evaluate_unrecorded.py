"""A run whose topics are not there proves nothing, and must not pass."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from run_files import change, content, write_manifest
from streamgauge.evaluate import evaluate_without_spark, needs_spark
from streamgauge.evaluate.verdict import exit_code
from streamgauge.model.summary import Summary
from streamgauge.rundir import RunDir

GOLDEN = Path(__file__).parents[2] / "golden" / "format-1"


def unrecorded(path: Path, *, outcome: dict[str, Any] | None = None, slo: Sequence[str] = ()) -> RunDir:
    """A run without its topics, with a changed outcome and these objectives."""
    shutil.copytree(GOLDEN, path)
    run = RunDir.open(path)
    for stream in ("flow", "speed", "output"):
        shutil.rmtree(run.recorded(stream))
    manifest = content(run.manifest_path)
    manifest["scenario"]["slo"] = list(slo)
    write_manifest(run, manifest)
    change(run.outcome_path, **(outcome or {}))
    return run


def test_a_run_without_its_topics_is_invalid(tmp_path: Path) -> None:
    assert needs_spark(RunDir.open(GOLDEN))
    run = unrecorded(tmp_path / "run")
    assert not needs_spark(run)
    summary = evaluate_without_spark(run)
    assert summary.verdict == "INVALID"
    assert "not recorded" in summary.reasons[0]
    assert exit_code(summary) == 3


def given_up(tmp_path: Path, **changes: Any) -> Summary:
    """A run that was ended in the middle of its measured interval, because more load made no sense."""
    start_ns = RunDir.open(GOLDEN).outcome().measured_start_ns
    hopeless = {"hopeless": "overloaded: 9000 records wait", "drain": None, "drain_end_ns": start_ns + 4 * 10**9}
    return evaluate_without_spark(unrecorded(tmp_path / "run", outcome=hopeless | changes))


def test_a_run_that_was_given_up_is_a_finding(tmp_path: Path) -> None:
    summary = given_up(tmp_path)
    assert (summary.verdict, summary.reasons) == ("VALID", [])
    assert (summary.state, summary.sustained, exit_code(summary)) == ("overloaded", False, 1)
    assert "overloaded: 9000 records wait" in summary.warnings


def test_a_run_that_was_given_up_is_still_held_to_what_spoils_it(tmp_path: Path) -> None:
    summary = given_up(tmp_path, load_error="no memory")
    assert (summary.verdict, summary.sustained, exit_code(summary)) == ("INVALID", False, 3)


def test_objectives_are_judged_and_a_missing_figure_is_a_miss(tmp_path: Path) -> None:
    run = unrecorded(tmp_path / "run", slo=["generator.late_max < 20ms", "latency.p50 < 1s", "results.lost == 0"])
    assert [slo.as_json() for slo in evaluate_without_spark(run).slo] == [
        {"slo": "generator.late_max < 20ms", "value": 0.332, "limit": 20, "unit": "ms", "passed": True},
        {"slo": "latency.p50 < 1s", "value": None, "limit": 1, "unit": "s", "passed": False},
        {"slo": "results.lost == 0", "value": None, "limit": 0, "unit": "", "passed": False},
    ]
