"""Earlier runs: found, listed, plotted where they may be, and safe to show."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import synthetic_run
from typer.testing import CliRunner
from written_runs import write_run

from run_files import change, content
from streamgauge.cli.main import app
from streamgauge.errors import UsageError
from streamgauge.report.history import find, render, write
from streamgauge.stored import write_json

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&<b>"


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs a day apart (the later one in a set), a failed one, one of another scenario, and what is none."""
    root = tmp_path / "runs"
    root.mkdir()
    synthetic_run.write_valid(root / "z-first")
    later = synthetic_run.write_valid(root / "a-set" / "1")
    change(later.outcome_path, load_start_ns=synthetic_run.START_NS + 86_400 * 10**9)
    synthetic_run.write_failed(root / "failed")
    other = synthetic_run.write_valid(root / "other")
    manifest = content(other.manifest_path)
    manifest["scenario"] |= {"name": "burst"}
    write_json(other.manifest_path, manifest)
    (root / "broken").mkdir()
    (root / "broken" / "manifest.json").write_text("{")
    (root / "cut-off").mkdir()
    (root / "cut-off" / "manifest.json").write_text('{"format": 1}')
    (root / "notes").mkdir()
    synthetic_run.write_valid(root / "search" / "probe-1")
    (root / "search" / "capacity.json").write_text("{}")
    return root


def figures(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, re.DOTALL)
    assert match
    content: dict[str, Any] = json.loads(match[1])
    return content


def test_finds_runs_newest_last(runs: Path) -> None:
    entries, notes = find(runs, "ospbench/latency")
    assert [entry.directory.relative_to(runs).as_posix() for entry in entries] == ["failed", "z-first", "a-set/1"]
    assert entries[0].at == datetime(2026, 11, 15, 10, 15, tzinfo=UTC), "it never started: the moment of its name"
    assert len(notes) == 2
    assert all("skipped" in note for note in notes)
    assert {entry.scenario for entry in find(runs)[0]} == {"ospbench/latency", "ospbench/burst"}


def test_plots_valid_runs_only(runs: Path) -> None:
    page = render(*find(runs, "ospbench/latency"))
    drawn = figures(page)
    assert set(drawn) == {"0-p50", "0-p99", "0-rate"}
    (trace,) = drawn["0-p50"]["data"]
    assert trace["name"] == "spark · ingest · 400/s"
    assert len(trace["x"]) == len(trace["y"]) == 2
    assert trace["x"] == sorted(trace["x"])
    assert "FAILED" in page
    for key in drawn:
        assert f'id="figure-{key}"' in page
    assert page == render(*find(runs, "ospbench/latency"))


def test_preloaded_input_has_no_rate(tmp_path: Path) -> None:
    synthetic_run.write_preloaded(tmp_path / "run")
    entries, _ = find(tmp_path)
    assert (entries[0].offered_per_s, entries[0].measured) == (None, "spark · ingest · preloaded")


def test_runs_that_were_set_otherwise_are_not_one_line(runs: Path) -> None:
    real_time = synthetic_run.write_valid(runs / "real-time")
    manifest = content(real_time.manifest_path)
    manifest["engine"]["options"] = {**manifest["engine"]["options"], "realtime": True}
    write_json(real_time.manifest_path, manifest)
    drawn = figures(render(*find(runs, "ospbench/latency")))
    names = {trace["name"] for trace in drawn["0-p50"]["data"]}
    assert names == {f"spark · ingest · 400/s · realtime {word}" for word in ("yes", "no")}


@pytest.mark.parametrize(
    ("section", "key", "value", "names"),
    [
        ("scenario", "seed", 2, {"spark · ingest · 400/s"}),
        ("engine", "version", "9.9", {"spark · ingest · 400/s"}),
        ("scenario", "partitions", 7, {f"spark · ingest · 400/s · partitions {number}" for number in (2, 7)}),
        ("machine", "cores", 8, {f"spark · ingest · 400/s · machine.cores {number}" for number in (2, 8)}),
    ],
)
def test_whatever_identifies_a_measurement_draws_a_line(
    runs: Path, section: str, key: str, value: object, names: set[str]
) -> None:
    other = synthetic_run.write_valid(runs / "otherwise")
    manifest = other.manifest().as_json()
    manifest[section][key] = value
    write_json(other.manifest_path, manifest)
    drawn = figures(render(*find(runs, "ospbench/latency")))
    assert {trace["name"] for trace in drawn["0-p50"]["data"]} == names


def test_a_directory_is_no_page(runs: Path, tmp_path: Path) -> None:
    for out in (tmp_path, Path()):
        with pytest.raises(UsageError, match="the page cannot be written"):
            write(*find(runs), out)
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]


def test_one_section_per_scenario(runs: Path) -> None:
    page = render(*find(runs))
    assert {key.split("-")[0] for key in figures(page)} == {"0", "1"}
    assert "<h2>ospbench/burst</h2>" in page
    assert "<h2>Skipped</h2>" in page


def test_nothing_breaks_out(runs: Path) -> None:
    run = synthetic_run.write_valid(runs / "hostile")
    manifest = content(run.manifest_path)
    manifest["engine"]["name"] = manifest["scenario"]["stage"] = HOSTILE
    write_json(run.manifest_path, manifest)
    page = render(*find(runs))
    assert HOSTILE not in page
    assert "<img src=x" not in page
    assert "http-equiv" in page


def test_written_whole(runs: Path, tmp_path: Path) -> None:
    target = write(*find(runs), tmp_path / "pages" / "history.html")
    assert [entry.name for entry in target.parent.iterdir()] == ["history.html"]
    assert "http://" not in re.sub(r"<script>.*?</script>", "", target.read_text(), flags=re.DOTALL)


def test_the_command(runs: Path, tmp_path: Path) -> None:
    out = tmp_path / "history.html"
    asked = CliRunner().invoke(app, ["history", "ospbench/latency", "--in", str(runs), "--out", str(out)])
    assert asked.exit_code == 0, asked.output
    assert "VALID" in asked.stdout
    assert "FAILED" in asked.stdout
    assert "skipped" in asked.stderr
    assert out.is_file()


@pytest.mark.parametrize(
    ("arguments", "says"), [(["ospbench/none"], "runs of ospbench/burst"), (["--in", "nowhere"], "no such directory")]
)
def test_nothing_to_list(runs: Path, tmp_path: Path, arguments: list[str], says: str) -> None:
    asked = CliRunner().invoke(app, ["history", "--in", str(runs), "--out", str(tmp_path / "page.html"), *arguments])
    assert isinstance(asked.exception, UsageError)
    assert says in asked.exception.message()
    assert not (tmp_path / "page.html").exists()


def test_an_active_run_is_not_called_damaged(tmp_path: Path) -> None:
    for name in ("active", "damaged"):
        synthetic_run.write_valid(tmp_path / name).summary_path.unlink()
    _, notes = find(tmp_path, is_active=lambda directory: directory.name == "active")
    assert notes == [
        f"{tmp_path / 'active'}: skipped, the run has not ended yet",
        f"{tmp_path / 'damaged'}: skipped, a file is missing in the run directory: summary.json",
    ]


def test_a_run_that_was_interrupted_has_no_verdict(tmp_path: Path) -> None:
    write_run(tmp_path / "stopped", None, verdict="INVALID", interrupted=True)
    ((entry,), _) = find(tmp_path)
    assert entry.verdict == "interrupted" and not entry.usable
