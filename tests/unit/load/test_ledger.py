"""The ledger: one row per slice, in order, with its outcome."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.errors import EnvironmentProblem
from streamgauge.load.ledger import COLUMNS, Ledger


def rows_of(path: Path) -> list[tuple[int, ...]]:
    table = pq.read_table(path)
    assert table.column_names == list(COLUMNS)
    assert {str(field.type) for field in table.schema} == {"int64"}
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def test_rows_come_back_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "worker-0.parquet"
    ledger = Ledger(path, now_ns=lambda: 77)
    first = ledger.add(range(10), 5)
    second = ledger.add(range(10, 11), 6)
    never = ledger.add(range(11, 14), 7)
    second.settle(0)
    first.settle(4)
    ledger.write()
    assert not never.settled
    ledger.close()
    assert rows_of(path) == [(0, 10, 5, 9, 0, 4), (10, 1, 6, 10, 77, 0), (11, 3, 7, 13, 0, 3)]
    assert ledger.errors == 7


@settings(deadline=None)
@given(st.permutations(range(30)), st.integers(1, 8))
def test_order_of_acknowledgements_does_not_change_the_order_of_rows(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], write_every: int
) -> None:
    path = tmp_path_factory.mktemp("ledger") / "worker-0.parquet"
    ledger = Ledger(path, now_ns=lambda: 1)
    slices = [ledger.add(range(n, n + 1), n) for n in range(30)]
    for done, index in enumerate(order):
        slices[index].settle(0)
        if done % write_every == 0:
            ledger.write()
    ledger.close()
    assert rows_of(path) == [(n, 1, n, n, 1, 0) for n in range(30)]


def test_rows_are_written_during_the_run(tmp_path: Path) -> None:
    path = tmp_path / "worker-0.parquet"
    ledger = Ledger(path, now_ns=lambda: 1)
    most = 0
    for n in range(20_000):
        ledger.add(range(n, n + 1), n).settle(0)
        ledger.write()
        most = max(most, ledger.held)
    ledger.close()
    assert most <= 2_000
    assert pq.ParquetFile(path).num_row_groups >= 10
    assert [row[0] for row in rows_of(path)] == list(range(20_000))


def test_the_file_appears_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "worker-0.parquet"
    ledger = Ledger(path, now_ns=lambda: 1)
    ledger.add(range(1), 1).settle(0)
    assert not path.exists()
    ledger.close()
    assert [file.name for file in tmp_path.iterdir()] == ["worker-0.parquet"]


def test_an_empty_ledger_has_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "worker-0.parquet"
    Ledger(path, now_ns=lambda: 1).close()
    assert rows_of(path) == []


def test_a_ledger_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="cannot write the ledger"):
        Ledger(tmp_path / "missing" / "worker-0.parquet", now_ns=lambda: 1)


def test_a_ledger_in_parts_is_complete_part_by_part(tmp_path: Path) -> None:
    """A part ends with the first row that was sent a second or more after its own first."""
    ledger = Ledger(tmp_path / "worker-0.parquet", now_ns=lambda: 1, part_s=1)
    slices = [ledger.add(range(n, n + 1), n * 400_000_000) for n in range(7)]
    for slice_ in slices[:4]:
        slice_.settle(0)
    ledger.write()
    # Row 3, at 1.2 s, begins the second part.
    assert sorted(path.name for path in tmp_path.iterdir()) == ["worker-0-0001.parquet", "worker-0-0002.parquet.part"]
    assert [row[0] for row in rows_of(tmp_path / "worker-0-0001.parquet")] == [0, 1, 2]
    ledger.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f"worker-0-000{number}.parquet" for number in (1, 2, 3)]
    assert [row[0] for name in names for row in rows_of(tmp_path / name)] == list(range(7))
