"""The command line's own end: a bug, a closed pipe, a terminal that has not all characters."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

FULL = pytest.mark.full
MAIN = "from streamgauge.cli.main import app, main\n"


def run_main(
    *arguments: str, code: str = "", env: Mapping[str, str] | None = None, stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    """The command line in a process of its own, after ``code`` has changed it."""
    return subprocess.run(
        [sys.executable, "-c", f"{MAIN}{code}\nmain()", *arguments],
        env={**os.environ, **(env or {})},
        stdout=stdout,
        stderr=subprocess.PIPE,
        timeout=120,
        check=False,
    )


def with_bug(raised: str) -> str:
    """A command ``boom`` that raises this, or what this raises."""
    return f"@app.command()\ndef boom(password: str = ''):\n    raise {raised}\n"


@pytest.mark.parametrize(
    "raised",
    [
        "KeyError('lost')",
        "OSError('lost')",
        pytest.param("EOFError('lost')", marks=FULL),
        pytest.param("RecursionError('lost')", marks=FULL),
    ],
)
def test_a_bug_ends_with_70_and_its_traceback_is_in_a_file(tmp_path: Path, raised: str) -> None:
    state = tmp_path / "state"
    done = run_main("boom", code=with_bug(raised), env={"STREAMGAUGE_STATE": str(state)})
    message = done.stderr.decode()
    assert done.returncode == 70, message
    (file,) = (state / "bugs").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "Traceback" in file.read_text() and "lost" in file.read_text()
    assert "Traceback" not in message
    assert f"internal error: {raised.partition('(')[0]}" in message and str(file) in message and "try: " in message


def test_a_directory_that_was_removed_is_one_message(tmp_path: Path) -> None:
    gone = tmp_path / "run"
    done = run_main("boom", code=with_bug(f"open({str(gone / 'outcome.json.part')!r}, 'w')"))
    message = done.stderr.decode()
    assert done.returncode == 5, message
    assert "a directory was removed while it was in use" in message and f"where: {gone}" in message


def test_the_file_holds_no_secret_of_the_command_line(tmp_path: Path) -> None:
    done = run_main("boom", "--password", "s3cr", code=with_bug("KeyError()"), env={"STREAMGAUGE_STATE": str(tmp_path)})
    assert done.returncode == 70
    (file,) = (tmp_path / "bugs").iterdir()
    assert "boom --password" in file.read_text()
    assert "s3cr" not in file.read_text()


def test_without_a_state_directory_the_traceback_goes_to_the_temp_directory(tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file, so nothing can lie below it")
    env = {"STREAMGAUGE_STATE": str(blocked / "state"), "TMPDIR": str(tmp_path)}
    done = run_main("boom", code=with_bug("KeyError('lost')"), env=env)
    assert done.returncode == 70
    (file,) = tmp_path.glob("*.txt")
    assert str(file) in done.stderr.decode()


@pytest.mark.parametrize(
    ("arguments", "buffered"),
    [
        (["list"], ""),
        (["--help"], "1"),
        (["history", "--in", "{runs}"], ""),
        pytest.param(["list"], "1", marks=FULL),
        pytest.param(["--help"], "", marks=FULL),
        pytest.param(["run", "--help"], "", marks=FULL),
        pytest.param(["run", "--help"], "1", marks=FULL),
        pytest.param(["history", "--in", "{runs}"], "1", marks=FULL),
    ],
)
def test_a_closed_pipe_is_silent(arguments: list[str], buffered: str, tmp_path: Path) -> None:
    from shutil import copytree

    copytree(Path(__file__).parents[2] / "golden" / "format-1", tmp_path / "runs" / "one")
    words = [word.format(runs=tmp_path / "runs") for word in arguments]
    reader, writer = os.pipe()
    os.close(reader)
    env = {"PYTHONUNBUFFERED": buffered}
    done = run_main(*words, code=f"import os; os.chdir({str(tmp_path)!r})", stdout=writer, env=env)
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode == 141


def test_a_full_disk_behind_stdout_is_one_message() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with Path("/dev/full").open("wb") as full:
        done = run_main("list", stdout=full.fileno())
    assert done.returncode == 5
    assert done.stderr.decode().startswith("streamgauge: No space left on device\n")
    assert "Exception ignored" not in done.stderr.decode()


def test_what_a_latin_1_terminal_cannot_show_is_replaced() -> None:
    env = {"PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    code = "import typer\n@app.command()\ndef show():\n    typer.echo('– → ü')"
    done = run_main("show", env=env, code=code)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == "? ? ü\n".encode("latin-1")


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=FULL), pytest.param("utf-8", marks=FULL)])
def test_json_loses_no_character_whatever_the_encoding(encoding: str) -> None:
    env = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    code = "from streamgauge.cli.layout import echo_json\n@app.command()\ndef show():\n    echo_json({'a': '– ü 😀'})"
    done = run_main("show", env=env, code=code)
    assert json.loads(done.stdout) == {"a": "– ü 😀"}


def test_without_home_and_password_entry_one_message_names_the_variables() -> None:
    code = "import pathlib\ndef none():\n    raise RuntimeError('no home')\npathlib.Path.home = none"
    env = dict.fromkeys(("HOME", "STREAMGAUGE_STATE", "XDG_STATE_HOME", "STREAMGAUGE_CACHE", "XDG_CACHE_HOME"), "")
    done = run_main("clean", code=code, env=env)
    assert done.returncode == 5
    message = done.stderr.decode()
    assert "there is no home directory" in message and "STREAMGAUGE_STATE" in message
