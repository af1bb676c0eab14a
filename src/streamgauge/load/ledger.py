"""The ledger of a load worker: what was sent when, slice by slice (docs/reference/run-directory.md)."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from streamgauge.errors import EnvironmentProblem
from streamgauge.model import NS_PER_S
from streamgauge.rundir import LEDGER_COLUMNS as COLUMNS

_SCHEMA = pa.schema([(name, pa.int64()) for name in COLUMNS])
_GROUP_ROWS = 2_000
"""Takes about a millisecond to write, so that writing does not delay the load."""


class Slice:
    """One row: a slice that was sent, and its outcome."""

    __slots__ = ("acked_ns", "count", "errors", "first", "ledger", "sent_ns", "settled")

    def __init__(self, ledger: Ledger, first: int, count: int, sent_ns: int) -> None:
        self.ledger = ledger
        self.first = first
        self.count = count
        self.sent_ns = sent_ns
        self.acked_ns = 0
        self.errors = 0
        self.settled = False

    def settle(self, errors: int) -> None:
        """The transport has answered for every record; ``errors`` of them failed."""
        self.settled = True
        self.errors = errors
        self.ledger.settled_records += self.count
        self.ledger.errors += errors
        if not errors:
            self.acked_ns = self.ledger.now_ns()

    def row(self) -> tuple[int, ...]:
        return (self.first, self.count, self.sent_ns, self.first + self.count - 1, self.acked_ns, self.errors)


class Ledger:
    """Writes rows in the order in which slices were sent, each as soon as it and all before it are settled.

    The file appears under its name when it is closed, so it is never read incomplete. Memory is bounded by the records
    in flight. Raises EnvironmentProblem when the file cannot be written.

    With ``part_s``, a row sent that long after the first of a file begins the next: *name*-0001, *name*-0002 …
    """

    def __init__(self, path: Path, now_ns: Callable[[], int], part_s: int = 0) -> None:
        self.now_ns = now_ns
        self.errors = 0
        self.settled_records = 0
        self.last_sent_ns = 0
        self._base = path
        self._part_ns = part_s * NS_PER_S
        self._number = 0
        self._next_ns: int | None = None
        """When the next file begins, once a row is in this one."""
        self._open: deque[Slice] = deque()
        self._columns = [array("q") for _ in COLUMNS]
        self._open_file()

    @property
    def held(self) -> int:
        """Rows in memory."""
        return len(self._open) + len(self._columns[0])

    def add(self, records: range, sent_ns: int) -> Slice:
        """Add the row of a slice that is sent now."""
        slice_ = Slice(self, records.start, len(records), sent_ns)
        self.last_sent_ns = sent_ns
        self._open.append(slice_)
        return slice_

    def write(self) -> None:
        """Write settled rows once there are enough of them."""
        self._collect()
        if len(self._columns[0]) >= _GROUP_ROWS:
            self._write_group()

    def close(self) -> None:
        """Write the rest. A slice that is still open has failed: it was never acknowledged."""
        for slice_ in self._open:
            if not slice_.settled:
                slice_.settle(slice_.count)
        self._collect()
        self._close_file()

    def _open_file(self) -> None:
        self._path = self._base
        if self._part_ns:
            self._number += 1
            self._path = self._base.with_stem(f"{self._base.stem}-{self._number:04}")
        self._part = self._path.with_name(self._path.name + ".part")
        try:
            self._writer: Any = pq.ParquetWriter(self._part, _SCHEMA)
        except OSError as problem:
            raise EnvironmentProblem("cannot write the ledger", where=self._path, got=str(problem)) from None

    def _close_file(self) -> None:
        self._write_group()
        self._writer.close()
        self._part.replace(self._path)

    def _collect(self) -> None:
        while self._open and self._open[0].settled:
            slice_ = self._open.popleft()
            if self._part_ns and self._next_ns is not None and slice_.sent_ns >= self._next_ns:
                self._close_file()
                self._open_file()
                self._next_ns = None
            if self._next_ns is None:
                self._next_ns = slice_.sent_ns + self._part_ns
            for column, value in zip(self._columns, slice_.row(), strict=True):
                column.append(value)

    def _write_group(self) -> None:
        columns, self._columns = self._columns, [array("q") for _ in COLUMNS]
        if rows := len(columns[0]):
            # From buffers: pa.array would first import pandas, which takes too long here.
            arrays = [pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(column)]) for column in columns]
            self._writer.write_batch(pa.record_batch(arrays, schema=_SCHEMA))
