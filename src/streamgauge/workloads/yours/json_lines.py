"""JSON lines, and the place of a field in the bytes of a JSON object."""

from __future__ import annotations

import json
import re
from codecs import BOM_UTF8
from collections.abc import Sequence
from pathlib import Path

from streamgauge.workloads.yours.given import Given
from streamgauge.workloads.yours.rows import Fields, Finder, Found, Rows, shown, wrong

_OPENED, _COLON, _COMMA = (re.compile(rf"[ \t\n\r]*{mark}[ \t\n\r]*") for mark in ("{", ":", ","))
_DECODER = json.JSONDecoder()


def read(given: Given, path: Path) -> Rows:
    """Raises UsageError for a line that is not a JSON object."""
    lines = split_lines(path.read_bytes().removeprefix(BOM_UTF8))
    if len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    fields = Fields(given, by_line=True)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            raise wrong(given, number, "a line is blank", expected="a JSON object in every line")
        try:
            row = json.loads(line.decode())
        except ValueError as problem:
            raise wrong(given, number, "a line is not valid JSON", got=f"{shown(line)}: {problem}") from None
        except RecursionError:
            raise wrong(given, number, "a line is nested too deeply", got=shown(line)) from None
        if not isinstance(row, dict):
            raise wrong(given, number, "a line is not a JSON object", got=shown(line))
        fields.take(number, row)
    return fields.rows(lines, find_field(lines, given.time))


def split_lines(content: bytes) -> list[bytes]:
    return content.removesuffix(b"\n").split(b"\n") if content else []


def find_field(values: Sequence[bytes], name: str) -> Finder:
    """Locates the text or number of a field in JSON objects; None for a text that is written with escapes."""

    def find(row: int) -> Found | None:
        text = values[row].decode()
        found = _last_span(text, name)
        if found is None:
            return None
        start, end = found
        if text[start] == '"':
            start, end = start + 1, end - 1
        first = start if text.isascii() else len(text[:start].encode())
        inner = text[start:end]
        return (first, first + len(inner.encode()), inner) if "\\" not in inner else None

    return find


def _last_span(text: str, name: str) -> tuple[int, int] | None:
    """Of fields with the same name, readers of JSON take the last."""
    found = None
    after = _OPENED.match(text)
    while after and text[after.end()] == '"':
        field, at = _DECODER.raw_decode(text, after.end())
        colon = _COLON.match(text, at)
        assert colon is not None, "the line was read before"
        _, at = _DECODER.raw_decode(text, colon.end())
        if field == name:
            found = (colon.end(), at)
        after = _COMMA.match(text, at)
    return found
