"""Avro records: the bytes that the file has, or encoded again for another schema."""

from __future__ import annotations

import io
import json
import reprlib
import struct
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.install_hint import install_command
from streamgauge.workloads.yours import event_times
from streamgauge.workloads.yours.files import stat_regular
from streamgauge.workloads.yours.given import Given
from streamgauge.workloads.yours.rows import Fields, Found, Rows, wrong

_INT_LAST_MS = (2**31 - 1) * 1000


def read(given: Given, path: Path) -> Rows:
    """Raises UsageError for a file that is not Avro, and for records that another schema cannot hold."""
    try:
        import fastavro
    except ImportError:
        raise EnvironmentProblem(
            "Avro needs the package fastavro", where=path, hint=install_command(["fastavro"])
        ) from None
    wanted = _schema(fastavro, Path(given.schema)) if given.schema else None
    # Confluent's wire format: a zero byte and the schema's number before each record.
    before = b"" if given.schema_id is None else struct.pack(">bI", 0, given.schema_id)
    fields, schema = Fields(given, by_line=False), None
    values: list[bytes] = []
    with path.open("rb") as file:
        records = _resolved(fastavro, given, file, wanted) if wanted else _stored(fastavro, file)
        while True:
            try:
                record = next(records, None)
            except UsageError:
                raise
            # fastavro passes on whatever its decoders raise.
            except Exception as problem:
                got = f"{type(problem).__name__}: {problem}".split("\n")[0]
                raise UsageError("the data file is not valid Avro", where=path, got=got) from None
            if record is None:
                break
            schema, row, encoded = record
            fields.take(len(values) + 1, row)
            values.append(before + encoded)
    if not (given.loop and given.time and values):
        return fields.rows(values)
    time = _TimeCodec(fastavro, given, schema)
    found = [time.find(value, len(before)) for value in values]
    kinds = [type(value) for _, value in found]
    spans = [span for span, _ in found]
    return fields.rows(values, spans.__getitem__, lambda row, text: time.encode(_typed(text, kinds[row])), time.last_ms)


Record = tuple[Any, Any, bytes]
"""Its schema, its fields and its bytes."""


def _stored(fastavro: Any, file: Any) -> Iterator[Record]:
    """The bytes of the file, which keep the branches of unions."""
    reader = fastavro.block_reader(file)
    schema = fastavro.parse_schema(reader.writer_schema)
    for block in reader:
        stored = block.bytes_.getvalue()
        content = io.BytesIO(stored)
        for _ in range(block.num_records):
            start = content.tell()
            row = fastavro.schemaless_reader(content, schema, None)
            yield schema, row, stored[start : content.tell()]


def _resolved(fastavro: Any, given: Given, file: Any, schema: Any) -> Iterator[Record]:
    """Encoded again, for another schema; raises UsageError where fastavro would take another branch of a union."""
    content = file.read()
    plain = fastavro.reader(io.BytesIO(content), reader_schema=schema)
    named = fastavro.reader(io.BytesIO(content), reader_schema=schema, return_named_type=True)
    for number, (row, exact) in enumerate(zip(plain, named, strict=True), 1):
        encoded = io.BytesIO()
        fastavro.schemaless_writer(encoded, schema, exact)
        encoded.seek(0)
        # repr tells 1 from 1.0, and NaN equals itself.
        if repr(fastavro.schemaless_reader(encoded, schema, None, return_named_type=True)) != repr(exact):
            what = f"the record cannot be encoded with {given.schema} without a change"
            raise wrong(given, number, what, got=reprlib.repr(row), by_line=False)
        yield schema, row, encoded.getvalue()


class _TimeCodec:
    """Reads and writes the time field alone, in the bytes of a record."""

    def __init__(self, fastavro: Any, given: Given, schema: Any) -> None:
        """Raises UsageError for a schema whose time field cannot be located or continued."""
        self._fastavro, self._name = fastavro, given.time
        try:
            place = [field["name"] for field in schema["fields"]].index(given.time)
            self._before = self._part("streamgauge_before", schema["fields"][:place])
            self._own = self._part("streamgauge_time", schema["fields"][place : place + 1])
        except (TypeError, KeyError, ValueError, fastavro.schema.SchemaParseException):
            raise UsageError(
                f"loop=true cannot locate the time field {given.time} in the bytes of a record",
                where=given.file,
                expected="a schema that is one record and does not contain itself",
            ) from None
        types = schema["fields"][place]["type"]
        kinds = {_kind(one) for one in (types if isinstance(types, list) else [types])}
        if "float" in kinds:
            raise UsageError(
                f"loop=true cannot continue the time field {given.time}",
                where=given.file,
                got="float, which has not enough digits for a time",
                expected="long, double, string, date or a timestamp",
            )
        self.last_ms = _INT_LAST_MS if "int" in kinds else None

    def _part(self, name: str, fields: Sequence[Any]) -> Any:
        plain = [{"name": field["name"], "type": field["type"]} for field in fields]
        return self._fastavro.parse_schema({"type": "record", "name": name, "fields": plain})

    def find(self, value: bytes, offset: int) -> tuple[Found, Any]:
        """Where the time is in the bytes of a record, which begins at ``offset``, and the time as fastavro has it."""
        content = io.BytesIO(value)
        content.seek(offset)
        self._fastavro.schemaless_reader(content, self._before, None)
        start = content.tell()
        time = self._fastavro.schemaless_reader(content, self._own, None)[self._name]
        return (start, content.tell(), _text(time)), time

    def encode(self, time: Any) -> bytes:
        encoded = io.BytesIO()
        self._fastavro.schemaless_writer(encoded, self._own, {self._name: time})
        return encoded.getvalue()


def _kind(schema: Any) -> Any:
    return schema.get("logicalType", schema["type"]) if isinstance(schema, dict) else schema


def _text(time: Any) -> str:
    if isinstance(time, datetime):
        return time.isoformat(timespec="microseconds")
    if isinstance(time, date):
        return time.isoformat()
    return time if isinstance(time, str) else event_times.number_text(time)


def _typed(text: str, kind: Any) -> Any:
    return kind.fromisoformat(text) if issubclass(kind, date) else kind(text)


def _schema(fastavro: Any, path: Path) -> Any:
    stat_regular(path, "the Avro schema")
    try:
        return fastavro.parse_schema(json.loads(path.read_text(encoding="utf-8")))
    # fastavro raises whatever its look at a foreign structure raises.
    except Exception as problem:
        got = f"{type(problem).__name__}: {problem}".split("\n")[0]
        raise UsageError("the Avro schema cannot be read", where=path, got=got) from None
