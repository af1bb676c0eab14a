"""``--script FILE``, and ``--job``, as it was called before."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner
from written_runs import write_run

from streamgauge.cli.main import app
from streamgauge.errors import UsageError

NOTE = "note: --job is now --script\n"


@pytest.fixture
def script(tmp_path: Path) -> Path:
    file = tmp_path / "my.py"
    file.write_text("def build(spark, source): ...\n")
    return file


def plan(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["plan", "ospbench/latency", *map(str, arguments)])


def test_both_names_take_the_script(script: Path) -> None:
    now, before = plan("--script", script), plan("--job", script)
    for done in (now, before):
        assert done.exit_code == 0, done.output
        assert f"replaced by your own: {script}, unvalidated" in " ".join(done.stdout.split())
    assert (now.stderr, before.stderr) == ("", NOTE)


@pytest.mark.parametrize("command", ["run", "plan", "capacity", "evaluate"])
def test_both_at_once_are_refused(command: str, script: Path) -> None:
    what = str(script.parent / "run") if command == "evaluate" else "ospbench/latency"
    done = CliRunner().invoke(app, [command, what, "--script", str(script), "--job", "other.py"])
    assert isinstance(done.exception, UsageError)
    assert f"got: --script {script} and --job other.py" in done.exception.message()
    assert done.stderr == ""


def test_evaluate_takes_the_old_name(tmp_path: Path, script: Path) -> None:
    run = write_run(tmp_path / "run", 100.0)
    for name, note in (("--script", ""), ("--job", NOTE)):
        done = CliRunner().invoke(app, ["evaluate", str(run.path), name, str(script)])
        assert isinstance(done.exception, UsageError)
        assert "the run was made with neither --script nor --reference" in done.exception.message()
        assert done.stderr == note


@pytest.mark.parametrize("command", ["run", "plan", "capacity", "evaluate"])
def test_help_shows_the_new_name_alone(command: str) -> None:
    output = CliRunner().invoke(app, [command, "--help"]).stdout
    assert "--script" in output
    assert "--job" not in output


def test_scripts_that_import_the_old_module_still_work() -> None:
    from streamgauge import job, script

    assert (job.behind, job.behind_each) == (script.behind, script.behind_each)
