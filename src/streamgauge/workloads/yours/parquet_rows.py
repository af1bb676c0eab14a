"""Parquet rows, which become JSON objects."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from streamgauge.errors import UsageError
from streamgauge.workloads.yours.given import Given
from streamgauge.workloads.yours.json_lines import find_field
from streamgauge.workloads.yours.rows import Fields, Rows, plain_json


def read(given: Given, path: Path) -> Rows:
    """Raises UsageError for a file that is not Parquet, and for values that JSON has no form for."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path).read()
    except (pa.ArrowException, ValueError, OSError) as problem:
        raise UsageError("the data file is not valid Parquet", where=path, got=str(problem).split("\n")[0]) from None
    names = table.column_names
    if len({*names}) < len(names):
        raise UsageError("the data file has two columns of the same name", where=path, got=", ".join(names))
    columns = [_column(path, name, table.column(name)) for name in names]
    fields = Fields(given, by_line=False)
    values = []
    for number in range(1, table.num_rows + 1):
        row = {name: column[number - 1] for name, column in zip(names, columns, strict=True)}
        fields.take(number, row)
        values.append(_encoded(fields, row))
    return fields.rows(values, find_field(values, given.time))


def _column(path: Path, name: str, column: Any) -> list[Any]:
    converted = _conversion(column.type)
    try:
        return [converted(value) for value in column.to_pylist()]
    # Arrow has errors of its own, and passes on those of zones, dates and texts.
    except Exception as problem:
        what = f"column {name} of the data file cannot become JSON"
        raise UsageError(what, where=path, got=str(problem).split("\n")[0]) from None


def _conversion(arrow_type: Any) -> Callable[[Any], Any]:
    """Makes objects of maps, which Arrow gives as lists of pairs, however deep they are."""
    from pyarrow import types

    if types.is_map(arrow_type):
        item = _conversion(arrow_type.item_type)
        return lambda pairs: None if pairs is None else _object(pairs, item)
    if types.is_struct(arrow_type):
        inner = [arrow_type.field(place) for place in range(arrow_type.num_fields)]
        members = {field.name: _conversion(field.type) for field in inner}
        return lambda struct: None if struct is None else {name: members[name](struct[name]) for name in members}
    if hasattr(arrow_type, "value_type") and not types.is_dictionary(arrow_type):
        element = _conversion(arrow_type.value_type)
        return lambda values: None if values is None else [element(value) for value in values]
    return lambda value: value


def _object(pairs: Any, item: Callable[[Any], Any]) -> dict[str, Any]:
    named = {_name(key): item(value) for key, value in pairs}
    if len(named) < len(pairs):
        raise ValueError(f"a map has a key twice: {reprlib.repr([key for key, _ in pairs])}")
    return named


def _name(key: Any) -> str:
    plain = plain_json(key)
    return plain if isinstance(plain, str) else json.dumps(plain, allow_nan=False)


def _encoded(fields: Fields, row: Mapping[str, Any]) -> bytes:
    try:
        return _json(row)
    except (ValueError, TypeError, RecursionError):
        for name, value in row.items():
            try:
                _json(value)
            except (ValueError, TypeError, RecursionError) as problem:
                what = f"column {name} has a value that JSON has no form for"
                got = f"{reprlib.repr(value)}: {problem}"
                raise fields.wrong(-1, what, got, "text, finite numbers, times, or lists and maps of those") from None
        raise


def _json(value: Any) -> bytes:
    text = json.dumps(value, default=plain_json, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode()
