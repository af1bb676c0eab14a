"""Reads the Parquet files of slices, which a run keeps in place of its records."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.errors import UsageError
from streamgauge.stored import damaged

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT = ("key", "kind")
"""All other columns are numbers."""


def read_table(path: Path, columns: Sequence[str], *, whole: Collection[str] = ()) -> pa.Table:
    """These columns of it, of which ``whole`` have a value in each row. Raises UsageError when the file is missing or
    damaged."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path).select(list(columns))
    except FileNotFoundError:
        raise UsageError("a file is missing in the run directory", where=path, hint="run it again") from None
    except (OSError, KeyError, ValueError, pa.ArrowException) as problem:
        got = f"cannot be read: {str(problem).splitlines()[0]}"
        raise damaged(path, got, f"the columns {', '.join(columns)}") from None
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        if name in whole and table.column(name).null_count:
            raise damaged(path, f"the column {name} has rows without a value", "a value in each row")
        is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
        if not (pa.types.is_string(kind) if name in _TEXT else is_number):
            raise damaged(path, f"the column {name} holds {kind}", "text" if name in _TEXT else "numbers")
    return table
