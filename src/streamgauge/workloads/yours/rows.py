"""The rows of a data file: read and checked completely before any record is sent."""

from __future__ import annotations

import csv
import io
import json
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.install_hint import install_command
from streamgauge.workloads.yours import event_times
from streamgauge.workloads.yours.event_times import EventTime
from streamgauge.workloads.yours.given import Given

BYTES_MAX = 2**30
"""Every load worker keeps the whole file in memory."""
RECORD_BYTES_MAX = 900_000
"""A broker takes a megabyte at most, unless it is told otherwise."""
_SHOWN = 60
_JSON_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
"""Not 007, which is a name."""

Later = Callable[[int, EventTime, int], bytes]
"""A row's value with its event time so many milliseconds later."""


@dataclass(frozen=True)
class Rows:
    """Keys and values of the records in the order of the file."""

    values: Sequence[bytes]
    keys: Sequence[bytes | None]
    times: Sequence[EventTime] = ()
    later: Later | None = None

    @property
    def bytes(self) -> int:
        return sum(map(len, self.values)) + sum(len(key or b"") for key in self.keys)

    @property
    def period_ms(self) -> int:
        """How much later everything is when the file is repeated: its span, and a step between two rows."""
        first, last = min(time.ms for time in self.times), max(time.ms for time in self.times)
        return last - first + max(round((last - first) / max(len(self.times) - 1, 1)), 1)


def read(given: Given) -> Rows:
    """Raises UsageError, which names file and line, for anything that cannot be sent."""
    path = Path(given.file)
    try:
        state = path.stat()
    except OSError as problem:
        raise UsageError("the data file cannot be read", where=path, got=problem.strerror) from None
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
    try:
        rows = _READERS[given.format](given, Path(given.file))
    except OSError as problem:
        raise UsageError("the data file cannot be read", where=given.file, got=problem.strerror) from None
    if not rows.values:
        raise UsageError("the data file has no records", where=given.file)
    for number, value in enumerate(rows.values, 1):
        if len(value) > RECORD_BYTES_MAX:
            raise UsageError(
                "a record is too large",
                where=f"{given.file}, record {number}",
                got=f"{len(value):,} bytes",
                expected=f"at most {RECORD_BYTES_MAX:,}",
            )
    return rows


def _text(_given: Given, path: Path) -> Rows:
    lines = _lines(path.read_bytes())
    return Rows(lines, [None] * len(lines))


def _lines(content: bytes) -> list[bytes]:
    return content.removesuffix(b"\n").split(b"\n") if content else []


def _json_lines(given: Given, path: Path) -> Rows:
    lines = _lines(path.read_bytes())
    fields = _Fields(given, by_line=True)
    for number, line in enumerate(lines, 1):
        try:
            row = json.loads(line)
        except ValueError as problem:
            raise _wrong(given, number, "a line is not valid JSON", got=f"{_shown(line)}: {problem}") from None
        if not isinstance(row, dict):
            raise _wrong(given, number, "a line is not a JSON object", got=_shown(line))
        fields.take(number, row)
    return Rows(lines, fields.keys, fields.times, _JsonLater(given, lines) if given.time else None)


class _JsonLater:
    """Exchanges the time in the bytes of a line, which stay as they are otherwise."""

    def __init__(self, given: Given, lines: Sequence[bytes]) -> None:
        self._given, self._lines = given, lines
        name = json.dumps(given.time).encode()
        self._field = re.compile(re.escape(name) + rb'\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9.eE+-]+)')

    def __call__(self, row: int, time: EventTime, shift_ms: int) -> bytes:
        line = self._lines[row]
        for found in self._field.finditer(line):
            start, end = found.span(1)
            changed = line[:start] + json.dumps(time.later(shift_ms)).encode() + line[end:]
            # A field of that name may also be inside another one.
            if json.loads(changed).get(self._given.time) != json.loads(line)[self._given.time]:
                return changed
        raise _wrong(self._given, row + 1, f"the time field {self._given.time} cannot be exchanged", _shown(line))


def _csv(given: Given, path: Path) -> Rows:
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UsageError("the data file is not UTF-8", where=path, got=str(problem)) from None
    names, rows = _csv_rows(given, text)
    fields, values, objects = _Fields(given, by_line=True), [], []
    for number, row, raw in rows:
        fields.take(number, row)
        if given.as_json:
            objects.append(row)
        else:
            values.append(raw)
    if given.as_json:
        values = _csv_objects(names, objects)
    later = _json_later(values, given) if given.as_json else partial(_csv_later, values, names, given)
    return Rows(values, fields.keys, fields.times, later if given.time else None)


def _csv_rows(given: Given, text: str) -> tuple[list[str], Iterator[tuple[int, dict[str, str], bytes]]]:
    """The names in the first line, and for each row its line number, its fields and its bytes."""
    lines = io.StringIO(text, newline="").readlines()
    reader = csv.reader(lines, strict=True)
    names = next(reader, None)
    if not names or len({*names}) < len(names):
        raise _wrong(given, 1, "the first line does not name the columns", got=", ".join(names or ()) or "nothing")

    def rows() -> Iterator[tuple[int, dict[str, str], bytes]]:
        begin = reader.line_num
        while True:
            try:
                row = next(reader, None)
            except csv.Error as problem:
                raise _wrong(given, begin + 1, "a row is not valid CSV", got=str(problem)) from None
            if row is None:
                return
            if len(row) != len(names):
                raise _wrong(
                    given,
                    begin + 1,
                    "a row has the wrong number of fields",
                    got=f"{len(row)}: {_shown(''.join(lines[begin : reader.line_num]).encode())}",
                    expected=f"{len(names)}: {', '.join(names)}",
                )
            raw = "".join(lines[begin : reader.line_num]).removesuffix("\n").removesuffix("\r")
            yield begin + 1, dict(zip(names, row, strict=True)), raw.encode()
            begin = reader.line_num

    return names, rows()


def _csv_objects(names: Sequence[str], rows: Sequence[dict[str, str]]) -> list[bytes]:
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


def _csv_later(
    values: Sequence[bytes], names: Sequence[str], given: Given, row: int, time: EventTime, ms: int
) -> bytes:
    fields = next(csv.reader([values[row].decode()]))
    fields[names.index(given.time)] = str(time.later(ms))
    written = io.StringIO()
    csv.writer(written, lineterminator="").writerow(fields)
    return written.getvalue().encode()


def _json_later(values: Sequence[bytes], given: Given) -> Later:
    def later(row: int, time: EventTime, shift_ms: int) -> bytes:
        return _as_json({**json.loads(values[row]), given.time: time.later(shift_ms)})

    return later


def _parquet(given: Given, path: Path) -> Rows:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, ValueError) as problem:
        raise UsageError("the data file is not valid Parquet", where=path, got=str(problem).splitlines()[0]) from None
    return _objects(given, table.to_pylist(), _as_json)


def _avro(given: Given, path: Path) -> Rows:
    try:
        import fastavro
    except ImportError:
        raise EnvironmentProblem(
            "Avro needs the package fastavro", where=path, hint=install_command(["fastavro"])
        ) from None
    wanted = _avro_schema(fastavro, given.schema) if given.schema else None
    try:
        with path.open("rb") as file:
            reader = fastavro.reader(file, reader_schema=wanted)
            objects, schema = list(reader), wanted or reader.writer_schema
    except (ValueError, EOFError, KeyError, IndexError, TypeError, fastavro.read.SchemaResolutionError) as problem:
        raise UsageError("the data file is not valid Avro", where=path, got=str(problem)) from None
    # Confluent's wire format: a zero byte and the schema's number before each record.
    before = b"" if given.schema_id is None else struct.pack(">bI", 0, given.schema_id)
    parsed = fastavro.parse_schema(schema)

    def encode(row: Any) -> bytes:
        written = io.BytesIO(before)
        written.seek(0, io.SEEK_END)
        fastavro.schemaless_writer(written, parsed, row)
        return written.getvalue()

    return _objects(given, objects, encode)


def _avro_schema(fastavro: Any, path: str) -> Any:
    try:
        return fastavro.parse_schema(json.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError, fastavro.schema.SchemaParseException) as problem:
        raise UsageError("the Avro schema cannot be read", where=path, got=str(problem)) from None


def _objects(given: Given, objects: Sequence[dict[str, Any]], encode: Callable[[Any], bytes]) -> Rows:
    """Rows without a text of their own."""
    fields = _Fields(given, by_line=False)
    for number, row in enumerate(objects, 1):
        fields.take(number, row)

    def later(row: int, time: EventTime, shift_ms: int) -> bytes:
        value = objects[row][given.time]
        shifted = event_times.read(_plain(value))
        assert shifted is not None
        exchanged: Any = shifted.later(shift_ms)
        if isinstance(value, datetime):
            exchanged = datetime.fromisoformat(exchanged)
        return encode({**objects[row], given.time: exchanged})

    return Rows([encode(row) for row in objects], fields.keys, fields.times, later if given.time else None)


class _Fields:
    """Keys and event times of the rows."""

    def __init__(self, given: Given, *, by_line: bool) -> None:
        self.keys: list[bytes | None] = []
        self.times: list[EventTime] = []
        self._given, self._by_line = given, by_line

    def take(self, number: int, row: dict[str, Any]) -> None:
        given = self._given
        for name, option in ((given.key, "key"), (given.time, "time")):
            if name and row.get(name) is None:
                raise _wrong(
                    given,
                    number,
                    f"a record lacks {name}, its {option} field",
                    got=f"fields {', '.join(map(str, row)) or 'none'}",
                    by_line=self._by_line,
                )
        self.keys.append(_key(row[given.key]) if given.key else None)
        if given.time:
            time = event_times.read(_plain(row[given.time]))
            if time is None:
                raise _wrong(
                    given,
                    number,
                    f"the time field {given.time} is not a time",
                    got=repr(row[given.time]),
                    expected=event_times.EXPECTED,
                    by_line=self._by_line,
                )
            self.times.append(time)


def _key(value: Any) -> bytes:
    plain = _plain(value)
    return plain.encode() if isinstance(plain, str) else json.dumps(plain).encode()


def _as_json(row: Any) -> bytes:
    return json.dumps(row, default=_plain, ensure_ascii=False, separators=(",", ":")).encode()


def _plain(value: Any) -> Any:
    """What JSON has no form for, as text."""
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, str | int | float | bool | list | dict) or value is None:
        return value
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _wrong(
    given: Given, number: int, what: str, got: object = None, expected: object = None, *, by_line: bool = True
) -> UsageError:
    where = f"{given.file}, {'line' if by_line else 'record'} {number}"
    return UsageError(what, where=where, got=got, expected=expected)


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


_READERS: dict[str, Callable[[Given, Path], Rows]] = {
    "jsonl": _json_lines,
    "csv": _csv,
    "parquet": _parquet,
    "avro": _avro,
    "text": _text,
}


def total_bytes(rows: Iterable[Rows]) -> int:
    return sum(one.bytes for one in rows)
