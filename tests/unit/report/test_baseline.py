"""Which earlier run a new one is compared with."""

from __future__ import annotations

from pathlib import Path

import pytest
import synthetic_run

from run_files import change, content
from streamgauge.campaigns.baseline import against, check_baseline
from streamgauge.cli.result import finish
from streamgauge.errors import UsageError
from streamgauge.model.comparison import Comparison
from streamgauge.rundir import RunDir


def write(path: Path, age_s: int = 0, p50: float = 1.0, **changes: object) -> Path:
    """A run whose latencies are ``p50`` times the usual ones, made ``age_s`` ago."""
    path.parent.mkdir(parents=True, exist_ok=True)
    run = synthetic_run.write_valid(path)
    summary = content(run.summary_path)
    total = {name: value and value * p50 for name, value in summary["latency_ms"]["total"].items()}
    change(run.summary_path, latency_ms={**summary["latency_ms"], "total": total}, state="steady", **changes)
    outcome = content(run.outcome_path)
    moments = {name: value for name, value in outcome.items() if name.endswith("_ns") and isinstance(value, int)}
    change(run.outcome_path, **{name: value - age_s * 10**9 for name, value in moments.items()})
    return path


def test_a_directory_is_compared_as_it_is(tmp_path: Path) -> None:
    found = against(str(write(tmp_path / "old", p50=2.0)), write(tmp_path / "new"))
    assert isinstance(found, Comparison)
    assert found.ratio == pytest.approx(0.5, rel=0.01)


def test_the_latest_is_the_newest_usable_run_that_was_measured_alike(tmp_path: Path) -> None:
    write(tmp_path / "oldest", age_s=3 * 3600, p50=4.0)
    write(tmp_path / "older", age_s=2 * 3600, p50=2.0)
    write(tmp_path / "invalid", age_s=3600, verdict="INVALID", reasons=["late"])
    other = write(tmp_path / "other", age_s=3600)
    manifest = content(other / "manifest.json")
    manifest["scenario"]["load"]["rate_per_s"] = 399
    change(other / "manifest.json", scenario=manifest["scenario"])
    found = against("latest", write(tmp_path / "new"))
    assert isinstance(found, Comparison)
    assert Path(found.a.path).name == "older"
    assert found.ratio == pytest.approx(0.5, rel=0.01)


def test_the_first_run_has_no_baseline(tmp_path: Path) -> None:
    assert "no earlier run" in str(against("latest", write(tmp_path / "new")))


def test_why_no_earlier_run_is_a_baseline(tmp_path: Path) -> None:
    """The new run has no latency, so there is nothing wrong with the earlier one."""
    write(tmp_path / "old", age_s=3600)
    new = write(tmp_path / "new")
    change(new / "summary.json", latency_ms={"total": None})
    assert "has no median latency" in str(against("latest", new))


def test_a_missing_baseline_is_found_before_anything_is_measured(tmp_path: Path) -> None:
    check_baseline("latest")
    check_baseline(str(write(tmp_path / "old")))
    with pytest.raises(UsageError):
        check_baseline(str(tmp_path / "nothing"))


def test_an_unusable_baseline_is_found_before_anything_is_measured(tmp_path: Path) -> None:
    write(tmp_path / "invalid", verdict="INVALID", reasons=["late"])
    write(tmp_path / "drifting")
    change(tmp_path / "drifting" / "summary.json", state="drifting")
    for name in ("invalid", "drifting"):
        with pytest.raises(UsageError):
            check_baseline(str(tmp_path / name))


def test_files_are_written_although_the_baseline_was_measured_otherwise(tmp_path: Path) -> None:
    old, new = write(tmp_path / "old"), write(tmp_path / "new")
    manifest = content(old / "manifest.json")
    manifest["scenario"]["load"]["rate_per_s"] = 399
    change(old / "manifest.json", scenario=manifest["scenario"])
    junit, markdown = tmp_path / "junit.xml", tmp_path / "summary.md"
    with pytest.raises(UsageError, match="not measured alike"):
        finish(new, RunDir.open(new).summary(), as_json=False, baseline=str(old), junit=junit, markdown=markdown)
    assert 'errors="1"' in junit.read_text()
    assert "not measured alike" in markdown.read_text()
