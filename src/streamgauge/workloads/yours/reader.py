"""Reads a data file: completely, and checked before any record is sent."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from streamgauge.errors import UsageError
from streamgauge.workloads.yours import avro_records, csv_rows, json_lines, parquet_rows
from streamgauge.workloads.yours.files import stat_regular, unreadable
from streamgauge.workloads.yours.given import Given
from streamgauge.workloads.yours.rows import Rows, check_size

BYTES_MAX = 2**30
"""Every load worker keeps the whole file in memory."""
_NOUN = "the data file"


def read(given: Given) -> Rows:
    """Raises UsageError, which names file and line, for anything that cannot be sent."""
    path = Path(given.file)
    state = stat_regular(path, _NOUN)
    if state.st_size > BYTES_MAX:
        raise UsageError(
            "the data file is too large",
            where=path,
            got=f"{state.st_size:,} bytes",
            expected=f"at most {BYTES_MAX:,}: the load keeps it in memory",
            hint="a part of it with loop=true, or a function: --data STREAM=gen.py:function",
        )
    return _read(given, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=8)
def _read(given: Given, _changed_ns: int, _size: int) -> Rows:
    """Read once for a plan that is drawn several times."""
    path = Path(given.file)
    try:
        rows = _READERS[given.format](given, path)
    except OSError as problem:
        raise unreadable(path, _NOUN, problem) from None
    except RecursionError:
        raise UsageError("a record is nested too deeply", where=path) from None
    if not rows.values:
        raise UsageError("the data file has no records", where=path)
    for number, (key, value) in enumerate(zip(rows.keys, rows.values, strict=True), 1):
        check_size(key, value, f"{path}, record {number}")
    return rows


def _text(_given: Given, path: Path) -> Rows:
    lines = json_lines.split_lines(path.read_bytes())
    return Rows(lines, [None] * len(lines))


_READERS: dict[str, Callable[[Given, Path], Rows]] = {
    "jsonl": json_lines.read,
    "csv": csv_rows.read,
    "parquet": parquet_rows.read,
    "avro": avro_records.read,
    "text": _text,
}
