"""What can be checked of a user's script without running it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.workloads.own.script import inspect

BUILD = "def build(spark, source):\n    return source\n"
CHECKED = BUILD + "def reference(inputs):\n    return inputs['flow']\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "my.py"


def test_a_script_is_inspected(file: Path) -> None:
    file.write_text(CHECKED + "key = ['id', 'window_end_ms']\nsettles_s = 2\n")
    inspected = inspect(file)
    assert (inspected.key, inspected.settles_s, inspected.name) == (("id", "window_end_ms"), 2.0, "my.py")
    assert inspected.path == str(file)
    assert inspected.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


def test_it_is_not_run(file: Path) -> None:
    file.write_text(BUILD + "import sys\nsys.exit('this was run')\n")
    assert inspect(file).key == ()


@pytest.mark.parametrize(
    "text",
    [
        "build = lambda spark, source: source",
        "from elsewhere import build",
        "from elsewhere import *",
        "if True:\n    def build(spark, source): ...\nelse:\n    build = None",
        "try:\n    from elsewhere import build\nexcept ImportError:\n    pass",
        "def build(*everything): ...",
        "def build(spark, source, depth=3): ...",
    ],
)
def test_every_way_to_define_build(file: Path, text: str) -> None:
    file.write_text(text)
    assert inspect(file).key == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def bild(spark, source): ...", "does not define build"),
        ("def outer():\n    def build(spark, source): ...", "does not define build"),
        ("x = 1\ndef build(spark, source)\n    pass", "my.py:2: syntax error"),
        ("x = 1\x00", "my.py: syntax error"),
        ("async def build(spark, source): ...", "must be an ordinary function"),
        ("class build: ...", "must be an ordinary function"),
        ("def build(source): ...", "def build(spark, source)"),
        ("def build(spark, source, third): ...", "def build(spark, source)"),
        ("def build(spark, source, *, depth): ...", "def build(spark, source)"),
        (CHECKED, "defines reference but not key"),
        (BUILD + "key = ['id']", "defines key but not reference"),
        (CHECKED + "key = 'id'", "line 5"),
        (CHECKED + "key = []", "invalid key"),
        (CHECKED + "key = {['id']}", "not a literal"),
        (CHECKED + "key = ['id', 'id']", "invalid key"),
        (CHECKED + "key = ['id', 7]", "invalid key"),
        (CHECKED + "key = list('ab')", "not a literal"),
        (BUILD + "def reference(): ...\nkey = ['id']", "def reference(inputs)"),
        (BUILD + "settles_s = '2s'", "a literal number of seconds from 0"),
        (BUILD + "settles_s = -1", "a literal number of seconds from 0"),
        (BUILD + "settles_s = True", "a literal number of seconds from 0"),
    ],
)
def test_mistakes_are_found_before_anything_runs(file: Path, text: str, says: str) -> None:
    file.write_text(text)
    with pytest.raises(UsageError) as refused:
        inspect(file)
    assert says in refused.value.message()
    assert str(file) in refused.value.message()


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        inspect(tmp_path / "none.py")
    with pytest.raises(UsageError, match="Is a directory"):
        inspect(tmp_path)
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    with pytest.raises(UsageError, match="syntax error"):
        inspect(tmp_path / "latin.py")
