"""CSV rows: as they are in the file, or as JSON objects."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from streamgauge.errors import UsageError
from streamgauge.workloads.yours.given import Given
from streamgauge.workloads.yours.json_lines import find_field
from streamgauge.workloads.yours.rows import Fields, Finder, Found, Rows, shown, wrong

_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""Not 007, which is a name."""
_FIELD = re.compile(r'"(?:[^"]|"")*"|[^,]*')


def read(given: Given, path: Path) -> Rows:
    """Raises UsageError for a file that is not UTF-8, and for a row that is not valid CSV or lacks fields."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UsageError("the data file is not UTF-8", where=path, got=str(problem)) from None
    names, rows = _split(given, text)
    fields = Fields(given, by_line=True)
    values: list[bytes] = []
    objects: list[dict[str, str]] = []
    for number, row, raw in rows:
        fields.take(number, row)
        if given.as_json:
            objects.append(row)
        else:
            values.append(raw)
    if given.as_json:
        values = _as_objects(names, objects)
        return fields.rows(values, find_field(values, given.time))
    return fields.rows(values, _find_column(values, names.index(given.time) if given.time and values else 0))


def _split(given: Given, text: str) -> tuple[list[str], Iterator[tuple[int, dict[str, str], bytes]]]:
    """The names in the first line, and for each row its line number, its fields and its bytes."""
    lines = io.StringIO(text, newline="").readlines()
    if len(lines) > 2 and not lines[-1].strip():
        lines.pop()
    reader = csv.reader(lines, strict=True)
    try:
        names = next(reader, None)
    except csv.Error as problem:
        raise wrong(given, 1, "the first line is not valid CSV", got=f"{shown(lines[0].encode())}: {problem}") from None
    if not names or len({*names}) < len(names):
        raise wrong(given, 1, "the first line does not name the columns", got=", ".join(names or ()) or "nothing")

    def rows() -> Iterator[tuple[int, dict[str, str], bytes]]:
        begin = reader.line_num
        while True:
            try:
                row = next(reader, None)
            except csv.Error as problem:
                raise wrong(given, begin + 1, "a row is not valid CSV", got=str(problem)) from None
            if row is None:
                return
            raw = "".join(lines[begin : reader.line_num]).removesuffix("\n").removesuffix("\r")
            if not raw.strip():
                raise wrong(given, begin + 1, "a line is blank", expected=f"the fields {', '.join(names)}")
            if len(row) != len(names):
                raise wrong(
                    given,
                    begin + 1,
                    "a row has the wrong number of fields",
                    got=f"{len(row)}: {shown(raw.encode())}",
                    expected=f"{len(names)}: {', '.join(names)}",
                )
            yield begin + 1, dict(zip(names, row, strict=True)), raw.encode()
            begin = reader.line_num

    return names, rows()


def _as_objects(names: Sequence[str], rows: Sequence[dict[str, str]]) -> list[bytes]:
    """Each row as a JSON object. CSV has no types: a column of numbers alone becomes numbers, written as in the file.

    An empty field of such a column is null.
    """
    plain = [name for name in names if all(_JSON_NUMBER.fullmatch(row[name]) for row in rows if row[name])]
    numeric = {name for name in plain if any(row[name] for row in rows)}
    written = {name: json.dumps(name, ensure_ascii=False) for name in names}

    def value(name: str, text: str) -> str:
        return (text or "null") if name in numeric else json.dumps(text, ensure_ascii=False)

    return [
        ("{" + ",".join(f"{written[name]}:{value(name, text)}" for name, text in row.items()) + "}").encode()
        for row in rows
    ]


def _find_column(values: Sequence[bytes], column: int) -> Finder:
    """Locates the n-th field in rows as they are in the file; inside its quotes, if it has any."""

    def find(row: int) -> Found | None:
        text, at = values[row].decode(), 0
        for _ in range(column):
            at = _field_end(text, at) + 1
        start, end = at, _field_end(text, at)
        if text[start : start + 1] == '"':
            start, end = start + 1, end - 1
        first, inner = len(text[:start].encode()), text[start:end]
        return first, first + len(inner.encode()), inner

    return find


def _field_end(text: str, at: int) -> int:
    found = _FIELD.match(text, at)
    assert found is not None
    return found.end()
