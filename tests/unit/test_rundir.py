import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from streamgauge.errors import UsageError
from streamgauge.model import Script
from streamgauge.model.samples import ClockSample
from streamgauge.model.summary import ScriptUsed
from streamgauge.rundir import RunDir, check_free, write_json
from streamgauge.workloads.own.script import inspect

GOLDEN = Path(__file__).parents[1] / "golden" / "format-1"


def test_never_overwrites(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(UsageError, match="not empty"):
        RunDir.create(tmp_path)
    assert (tmp_path / "mine.txt").read_text() == "precious"


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("file", "the search is a file"),
        ("file/below", r"the search cannot be created(.|\n)*file is a file"),
        ("dangling", "dangling is a symbolic link to nowhere, which does not exist(.|\n)*another --out"),
        ("dangling/below", "dangling is a symbolic link to nowhere, which does not exist"),
        ("/dev/null", "the search is a file"),
        ("/proc/x", "no files can be stored in /proc"),
        ("full", r"the search is not empty(.|\n)*or one with a\.json"),
    ],
)
def test_a_place_where_nothing_can_be_written(tmp_path: Path, place: str, says: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "full" / "other").mkdir(parents=True)
    with pytest.raises(UsageError, match=says):
        check_free(tmp_path / place, "search", "a.json")
    check_free(tmp_path / "full" / "other", "search")


@pytest.mark.parametrize(
    ("file", "says"),
    [
        ("capacity.json", "capacity search"),
        ("scale.json", "scale"),
        ("reproduction.json", "reproduction"),
        ("set.json", "several runs"),
    ],
)
def test_a_directory_of_several_runs_is_named(tmp_path: Path, file: str, says: str) -> None:
    (tmp_path / file).write_text("{}")
    with pytest.raises(UsageError, match="try: the command that wrote it, with the same --out"):
        RunDir.open(tmp_path)
    (tmp_path / "report.html").touch()
    with pytest.raises(
        UsageError, match=rf"not a run directory(.|\n)*got: the directory of .*{says}(.|\n)*report\.html"
    ):
        RunDir.open(tmp_path)


@pytest.mark.parametrize(
    ("typed", "got"), [("runs/first-rum", "no such directory"), ("runs/first-run/summary.json", "a file")]
)
def test_a_run_directory_that_was_meant_is_named(tmp_path: Path, typed: str, got: str) -> None:
    meant = tmp_path / "runs" / "first-run"
    meant.mkdir(parents=True)
    for file in ("manifest.json", "summary.json"):
        (meant / file).write_text("{}")
    (tmp_path / "runs" / "first-rum-of-all").mkdir()
    with pytest.raises(UsageError) as refused:
        RunDir.open(tmp_path / typed)
    assert refused.value.what == f"not a run directory; did you mean {meant}?"
    assert refused.value.got == got


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
def test_micro_batches_of_early_manifests_follow_from_options(
    tmp_path: Path, engine: dict[str, Any], interval_s: float, batches: bool
) -> None:
    manifest = json.loads((GOLDEN / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**manifest, "engine": {**manifest["engine"], **engine}}))
    read = RunDir(tmp_path).manifest().engine
    assert (read.batch_interval_s, read.micro_batches) == (interval_s, batches)


def test_early_runs_call_the_script_job(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run")
    manifest, summary = (json.loads((GOLDEN / name).read_text()) for name in ("manifest.json", "summary.json"))
    used = {"path": "/home/user/my.py", "sha256": "1a2b", "key": ["id"], "settles_s": 3.0}
    manifest["scenario"]["job"] = used
    del summary["script"]
    summary["job"] = {"name": "my.py", "sha256": "1a2b", "reference": "1a2b"}
    write_json(run.manifest_path, manifest)
    write_json(run.summary_path, summary)
    (run.path / "job.py").write_text("the script")
    assert run.manifest().scenario.script == Script("/home/user/my.py", "1a2b", ("id",), 3.0)
    assert run.summary().script == ScriptUsed(name="my.py", sha256="1a2b", reference="1a2b")
    assert run.script_path.read_text() == "the script"

    run.write_manifest(run.manifest())
    run.write_summary(run.summary())
    written = json.loads(run.manifest_path.read_text())["scenario"], json.loads(run.summary_path.read_text())
    assert [("script" in content, "job" in content) for content in written] == [(True, False)] * 2
    assert (written[0]["script"], written[1]["script"]) == (used, summary["job"])


def test_a_new_run_has_its_script_under_that_name(tmp_path: Path) -> None:
    file = tmp_path / "my.py"
    file.write_text("def build(spark, source): ...\n")
    run = RunDir.create(tmp_path / "run")
    run.keep_script(inspect(file))
    assert (run.path / "script.py").read_bytes() == file.read_bytes()
    file.write_text("def build(spark, source): ...  # another\n")
    assert run.script_path == run.path / "script.py"
    run.discard()
    assert not run.path.exists()


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "not a run directory"), ('{"format": 99}', "does not read"), ("{", "not JSON")],
)
def test_refuses_what_it_cannot_read(tmp_path: Path, content: str | None, says: str) -> None:
    if content is not None:
        (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(UsageError, match=says):
        RunDir.open(tmp_path)


def test_a_missing_or_newer_summary_can_be_regenerated(tmp_path: Path) -> None:
    run = RunDir(shutil.copytree(GOLDEN, tmp_path / "run"))
    summary = json.loads(run.summary_path.read_text())
    run.summary_path.write_text(json.dumps(summary | {"format": 99}))
    with pytest.raises(UsageError, match=r"summary\.json is damaged") as problem:
        run.summary()
    assert "format is 99" in problem.value.message()
    run.summary_path.unlink()
    with pytest.raises(UsageError, match="a file is missing in the run directory") as problem:
        run.summary()
    assert f"streamgauge evaluate {run.path}" in problem.value.message()


def test_a_torn_last_sample_is_skipped(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path / "run")
    samples = [ClockSample(t_ns=moment, mono_ns=moment, bracket_ns=1) for moment in (1, 2)]
    run.append_samples(*samples)
    with (run.path / "samples" / "clock.jsonl").open("a") as file:
        file.write('{"t_ns"')
    assert run.samples(ClockSample) == samples


def test_json_is_written_atomically(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"a": 1})
    with pytest.raises(TypeError):
        write_json(tmp_path / "a.json", {"a": object()})
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": 1}
