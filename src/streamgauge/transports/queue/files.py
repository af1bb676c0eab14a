"""What passed the queues and the collector, as Parquet files beside the path of the records."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS = 100_000


class TableFile:
    """A Parquet file that a thread of its own writes, so that whoever adds to it never waits for the disk.

    ``build`` turns the items that were added into a table. The file appears under its name when it is closed. A
    problem with the disk is raised by the next ``add`` and by ``close``, as OSError.
    """

    def __init__(self, path: Path, schema: pa.Schema, build: Callable[[Sequence[Any]], pa.Table]) -> None:
        self._path, self._part = path, path.with_name(path.name + ".part")
        self._build = build
        self._writer: Any = pq.ParquetWriter(self._part, schema, compression="none", use_dictionary=False)
        self._items: queue.SimpleQueue[tuple[Any, int] | None] = queue.SimpleQueue()
        self._problem: OSError | None = None
        self._thread = threading.Thread(target=self._write, daemon=True)
        self._thread.start()

    def add(self, item: Any, rows: int) -> None:
        """``rows`` is how many rows of the table it becomes."""
        if self._problem is not None:
            raise self._problem
        self._items.put((item, rows))

    def close(self) -> None:
        self._items.put(None)
        self._thread.join()
        if self._problem is not None:
            raise self._problem
        self._part.replace(self._path)

    def _write(self) -> None:
        try:
            items: list[Any] = []
            rows = 0
            while (added := self._items.get()) is not None:
                items.append(added[0])
                rows += added[1]
                if rows >= GROUP_ROWS:
                    self._writer.write_table(self._build(items))
                    items, rows = [], 0
            if items:
                self._writer.write_table(self._build(items))
            self._writer.close()
        except Exception as problem:
            # Of whatever kind: nothing may be added any more, and the file must not look complete.
            self._problem = problem if isinstance(problem, OSError) else OSError(str(problem))


def events_file(path: Path, width: int) -> TableFile:
    """Of the records of a queue; its items are (first offset, bytes of the records, moment in ns)."""
    value = pa.binary(width)
    schema = pa.schema([("value", value), ("offset", pa.int64()), ("appended_ms", pa.int64())])

    def build(items: Sequence[tuple[int, bytes, int]]) -> pa.Table:
        counts = [len(records) // width for _, records, _ in items]
        data = pa.py_buffer(b"".join(records for _, records, _ in items))
        values = pa.Array.from_buffers(value, sum(counts), [None, data])
        offsets = np.concatenate([np.arange(first, first + n) for (first, _, _), n in zip(items, counts, strict=True)])
        appended_ms = np.repeat([at_ns // 1_000_000 for _, _, at_ns in items], counts)
        return pa.Table.from_arrays([values, pa.array(offsets), pa.array(appended_ms)], schema=schema)

    return TableFile(path, schema, build)


def handed_file(path: Path) -> TableFile:
    """Of what was handed over first; its items are (first offset, how many, moment in ns)."""
    schema = pa.schema([(name, pa.int64()) for name in ("first", "count", "handed_ns")])

    def build(items: Sequence[tuple[int, int, int]]) -> pa.Table:
        return pa.Table.from_arrays(
            [pa.array(column, pa.int64()) for column in zip(*items, strict=True)], schema=schema
        )

    return TableFile(path, schema, build)


def results_file(path: Path) -> TableFile:
    """Of a collector; its items are (first offset, [(key, value), …], moment in ns)."""
    schema = pa.schema(
        [("key", pa.binary()), ("value", pa.binary()), ("offset", pa.int64()), ("appended_ms", pa.int64())]
    )

    def build(items: Sequence[tuple[int, list[tuple[bytes, bytes]], int]]) -> pa.Table:
        counts = [len(results) for _, results, _ in items]
        pairs = [pair for _, results, _ in items for pair in results]
        first = items[0][0]
        columns = [
            pa.array([key for key, _ in pairs], pa.binary()),
            pa.array([value for _, value in pairs], pa.binary()),
            pa.array(np.arange(first, first + len(pairs))),
            pa.array(np.repeat([at_ns // 1_000_000 for _, _, at_ns in items], counts)),
        ]
        return pa.Table.from_arrays(columns, schema=schema)

    return TableFile(path, schema, build)
