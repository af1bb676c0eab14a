"""Repeated runs are counted, and too many fail the session."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

import attempts
from attempts import Runs, until_valid


@pytest.fixture(autouse=True)
def lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "lock"
    file.touch()
    monkeypatch.setattr(attempts, "LOCK", file)
    return file


def invalid_until(valid: int, runs: Runs, attempts: int = 3) -> int:
    return until_valid(lambda attempt: attempt, lambda attempt: attempt < valid, attempts, runs)


def test_a_run_is_repeated_until_it_is_valid() -> None:
    runs = Runs()
    assert invalid_until(0, runs) == 0
    assert (runs.total, runs.summary()) == (1, "1 runs, none was INVALID")
    assert invalid_until(2, runs) == 2
    assert (runs.total, len(runs.invalid)) == (4, 2)
    assert runs.summary() == ("4 runs, 2 of them INVALID and repeated: test_a_run_is_repeated_until_it_is_valid")
    assert invalid_until(9, runs) == 2, "the last one if all were INVALID"
    assert (runs.total, len(runs.invalid)) == (7, 5)
    assert invalid_until(9, runs, attempts=1) == 0
    assert (runs.total, len(runs.invalid)) == (8, 5), "a test of an INVALID run"


@pytest.mark.parametrize(
    ("total", "invalid", "fails"), [(4, 4, False), (9, 5, True), (10, 5, False), (40, 20, False), (40, 21, True)]
)
def test_half_of_the_runs_and_four_in_any_case_may_be_repeated(total: int, invalid: int, fails: bool) -> None:
    assert (Runs(total, ["test"] * invalid).problem() is not None) is fails


def test_a_repeated_run_has_the_machine_to_itself(lock: Path) -> None:
    def others_may_run(_: int) -> bool:
        with lock.open() as other:
            try:
                fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
        return True

    assert until_valid(others_may_run, lambda _: False, runs=Runs())
    assert not until_valid(others_may_run, lambda shared: shared, runs=Runs())
