"""Where work directories are: where TMPDIR says, or nowhere."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from streamgauge import dirs
from streamgauge.errors import EnvironmentProblem


def test_a_directory_that_can_be_written_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert dirs.temp_dir() == tmp_path


@pytest.mark.parametrize("name", ["missing", "file"])
def test_no_other_directory_takes_its_place(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TMPDIR", str(tmp_path / name))
    with pytest.raises(EnvironmentProblem, match="the directory for temporary files cannot be used") as refused:
        dirs.temp_dir()
    assert str(tmp_path / name) in refused.value.message()
