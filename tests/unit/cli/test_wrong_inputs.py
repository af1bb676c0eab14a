"""What a newcomer reads after a mistake: command lines that are refused, each with its message and exit code.

``wrong_inputs.txt`` holds them as a terminal shows them. A new case is a line ``$ streamgauge …`` there, in any place;

    PYTHONPATH=tests python tests/unit/cli/test_wrong_inputs.py

runs all of them and writes what they print. Read every line that changes: it is the interface.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from unittest import mock

import pytest

from built_commands import built_once
from streamgauge.cli.main import main
from streamgauge.jvm.java import find_java

FILE = Path(__file__).with_name("wrong_inputs.txt")
GOLDEN = Path(__file__).parents[2] / "golden" / "format-1"
AT_LEAST = 60
MEASURED = re.compile(r"\d[\d,]*(?= MB (?:available|free))")
"""What differs from machine to machine."""
PIP = re.compile(r"\S+ -m pip install")
VARIABLE = re.compile(r"[A-Z_]+=")


def cases() -> dict[str, str]:
    """What each command prints, with its exit code, as the file has it."""
    blocks = re.split(r"^\$ ", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    heads = (block.partition("\n") for block in blocks[1:])
    return {command: printed.rstrip("\n") for command, _, printed in heads}


def prepare(folder: Path) -> None:
    """The directory that the commands run in."""
    (folder / "full").mkdir()
    (folder / "full" / "notes.txt").write_text("mine")
    (folder / "file.txt").write_text("no directory")
    (folder / "broken.py").write_text("def build(spark, source:\n")
    (folder / "empty.py").write_text("")
    (folder / "script.py").write_text("def build(spark, source): ...\n")
    (folder / "rows.jsonl").write_text('{"id": 1}\n{"id": 2}\n')
    (folder / "bad.jsonl").write_text('{"id": 1}\n{"id": \n')
    (folder / "gen.py").write_text("def order(n): ...\n")
    (folder / "client.properties").write_text("security.protocol=SASL_SSL\n")
    (folder / "unknown.properties").write_text("security.protokol=SSL\n")
    shutil.copytree(GOLDEN, folder / "run")
    (folder / "damaged").mkdir()
    (folder / "damaged" / "manifest.json").write_text("{")
    (folder / "empty").mkdir()
    (folder / "dangling").symlink_to("nowhere")
    for name, content in (("early", '{"format": "1"}'), ("searched", "{}")):
        (folder / name).mkdir()
        (folder / name / "capacity.json").write_text(content)
    (folder / "searched" / "report.html").touch()


def outcome(command: str, folder: Path) -> str:
    """What the command prints in that directory, and its exit code; nothing is started."""
    words = shlex.split(command)
    given = [word for word in words if VARIABLE.match(word)]
    variables = {"COLUMNS": "100", "STREAMGAUGE_STATE": str(folder / "state")} | dict(
        word.split("=", 1) for word in given
    )
    out, err, code = io.StringIO(), io.StringIO(), None
    if given:
        find_java.cache_clear()
    with (
        mock.patch.dict(os.environ, variables),
        mock.patch.object(sys, "argv", words[len(given) :]),
        built_once(),
        mock.patch("streamgauge.measure.runner._run", side_effect=AssertionError("a run was started")),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    if given:
        find_java.cache_clear()
    assert out.getvalue() == "", "stdout is for results"
    text = MEASURED.sub("N", PIP.sub("pip install", err.getvalue().replace(str(folder), "DIR")))
    return f"exit code {code}\n{text.rstrip()}"


@pytest.mark.parametrize("command", cases())
def test_the_message_and_the_exit_code(command: str, tmp_path: Path) -> None:
    prepare(tmp_path)
    assert outcome(command, tmp_path) == cases()[command]


def test_there_are_enough_and_all_are_refused_without_a_traceback() -> None:
    assert len(cases()) >= AT_LEAST
    for command, printed in cases().items():
        assert re.match(r"exit code [25]\n(?:(?!streamgauge).*\n)?streamgauge: ", printed), command
        assert not re.search(r"Traceback|Input should|Value error|internal error", printed), command


def regenerate() -> None:
    blocks = []
    for command in cases():
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder))
            blocks.append(f"$ {command}\n{outcome(command, Path(folder))}\n")
    FILE.write_text("\n".join(blocks), encoding="utf-8")


if __name__ == "__main__":
    regenerate()
