import json
from pathlib import Path
from typing import Any

import pytest

from streamgauge.errors import UsageError
from streamgauge.rundir import RunDir, write_json

GOLDEN = Path(__file__).parents[1] / "golden" / "format-1"


def test_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(UsageError, match="not empty"):
        RunDir.create(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "precious"


def test_round_trip(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run")
    manifest = RunDir(GOLDEN).manifest()
    run.write_manifest(manifest.with_changes(run="a"))
    assert RunDir.open(run.path).manifest() == manifest.with_changes(run="a")


@pytest.mark.parametrize(
    ("engine", "interval_s", "batches"),
    [
        ({"name": "echo", "options": {}}, 0.0, False),
        ({"name": "other", "options": {"trigger_ms": 500}}, 0.5, True),
        ({"name": "spark", "options": {"trigger_ms": 0, "realtime": False}}, 0.0, True),
        ({"name": "spark", "options": {"trigger_ms": 0, "realtime": True}}, 0.0, False),
        ({"name": "spark", "options": {"trigger_ms": 0}, "batch_interval_s": 2.0, "micro_batches": False}, 2.0, False),
    ],
)
def test_early_manifests_tell_of_micro_batches_by_options(
    tmp_path: Path, engine: dict[str, Any], interval_s: float, batches: bool
) -> None:
    manifest = json.loads((GOLDEN / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "engine": {**manifest["engine"], **engine}}))
    found = RunDir(tmp_path).manifest().engine
    assert (found.batch_interval_s, found.micro_batches) == (interval_s, batches)


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "not a run directory"), ('{"format": 99}', "does not read"), ("{", "not JSON")],
)
def test_refuses_what_it_cannot_read(tmp_path: Path, content: str | None, says: str) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(UsageError, match=says):
        RunDir.open(tmp_path)


def test_a_torn_last_sample_is_left_out(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run")
    samples = [{"t_ns": moment, "mono_ns": moment, "bracket_ns": 1} for moment in (1, 2)]
    run.append_samples("clock", samples)
    with (run.path / "samples" / "clock.jsonl").open("a") as file:
        file.write('{"t_ns"')
    assert run.samples("clock") == samples


def test_json_is_written_whole(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"a": 1})
    with pytest.raises(TypeError):
        write_json(tmp_path / "a.json", {"a": object()})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 1}
