"""A journal can be read back, even after a torn write."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from streamgauge.processes import proctable
from streamgauge.processes.journal import Journal, journals, read_journal
from streamgauge.processes.proctable import Identity


@pytest.fixture
def journal(tmp_path):
    journal = Journal(tmp_path / "run.jsonl", "run", guardian=Identity(12, 3.5))
    journal.work_dir(Path("/somewhere/streamgauge-1"))
    journal.intent("engine", "token-1")
    journal.started("engine", Identity(34, 5.25))
    yield journal
    journal.close()


def test_a_journal_survives_a_round_trip(journal):
    record = read_journal(journal.path)
    assert record.run == "run"
    assert record.cli == proctable.identity(os.getpid())
    assert record.guardian == Identity(12, 3.5)
    assert record.boot == proctable.boot()
    assert record.work_dirs == [Path("/somewhere/streamgauge-1")]
    assert record.tokens == {"token-1"}
    assert record.leaders == [Identity(34, 5.25)]


def test_only_the_user_may_read_it(journal):
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600


def test_torn_last_line_is_skipped(journal):
    whole = journal.path.read_bytes()
    start_of_last = whole.rstrip().rindex(b"\n") + 1
    for cut in range(start_of_last, len(whole.rstrip())):
        journal.path.write_bytes(whole[:cut])
        record = read_journal(journal.path)
        assert record.tokens == {"token-1"}
        assert record.leaders == []


def test_line_after_a_torn_one_is_read(journal):
    with journal.path.open("ab") as file:
        file.write(b'{"intent": "load", "tok')
    journal.intent("load", "token-2")
    assert read_journal(journal.path).tokens == {"token-1", "token-2"}


def test_lines_that_are_not_objects_are_skipped(journal):
    with journal.path.open("ab") as file:
        file.write(b'5\n["intent"]\n\xff\xfe\n{}\n')
    assert read_journal(journal.path).tokens == {"token-1"}


@pytest.mark.parametrize(
    "line",
    [
        b'{"started": "x"}',
        b'{"started": "x", "pid": "34", "created": 5.25}',
        b'{"started": "x", "pid": 34, "created": null}',
        b'{"intent": "x"}',
        b'{"intent": "x", "token": null}',  # no token at all, which most processes of the machine have
        b'{"intent": "x", "token": ["token-1"]}',
        b'{"work_dir": 5}',
        b'{"guardian": 5}',
        b'{"guardian": {"pid": 12}}',
    ],
)
def test_lines_that_are_not_understood_are_skipped(journal, line):
    before = read_journal(journal.path)
    with journal.path.open("ab") as file:
        file.write(line + b"\n")
    assert read_journal(journal.path) == before
    journal.intent("load", "token-2")
    assert read_journal(journal.path).tokens == {"token-1", "token-2"}


@pytest.mark.parametrize("content", [b"", b"\n", b'{"run": "r"}\n', b"nonsense", b"[1]\n"])
def test_a_file_without_a_header_is_not_a_journal(tmp_path, content):
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    assert read_journal(path) is None
    assert read_journal(tmp_path / "missing.jsonl") is None


def test_second_journal_of_the_same_name_is_refused(journal):
    before = journal.path.read_bytes()
    with pytest.raises(FileExistsError):
        Journal(journal.path, "run", guardian=Identity(1, 1.0))
    assert journal.path.read_bytes() == before
    assert list(journal.path.parent.iterdir()) == [journal.path]


def test_removed_journal_is_gone(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMGAUGE_STATE", str(tmp_path))
    (tmp_path / "journal").mkdir()
    journal = Journal(tmp_path / "journal" / "run.jsonl", "run", guardian=Identity(1, 1.0))
    assert journals() == [journal.path]
    journal.remove()
    assert journals() == []
