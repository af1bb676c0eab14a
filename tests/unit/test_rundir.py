import json
from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.rundir import RunDir, write_json


def test_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(UsageError, match="not empty"):
        RunDir.create(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "precious"


def test_round_trip(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run")
    manifest = RunDir(Path(__file__).parents[1] / "golden" / "format-1").manifest()
    run.write_manifest({**manifest, "run": "a"})
    assert RunDir.open(run.path).manifest() == {**manifest, "run": "a"}


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
