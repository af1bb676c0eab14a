"""Files that are sent without a change, and those that are refused with a message."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path
from typing import Any

import pytest
from test_your_data import only, problem_with, write

from streamgauge.workloads.yours.reader import read

BOM = b"\xef\xbb\xbf"
NESTED = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("a.jsonl", "\n\n\n", "", ["line 1", "a line is blank"]),
        ("a.jsonl", "\n", "", ["line 1", "a line is blank"]),
        ("a.jsonl", '{"id":1}\n \n{"id":2}\n', "", ["line 2", "a line is blank"]),
        ("a.jsonl", '{"id":1}\n\n\n', "", ["line 2", "a line is blank"]),
        pytest.param("a.jsonl", f'{{"id":{NESTED}}}', "", ["line 1", "nested too deeply"], id="nested"),
        ("a.jsonl", '{"id":1}\n{"id":"\\ud800"}\n', ",key=id", ["line 2", "cannot become a key"]),
        ("a.jsonl", b'{"id":"\xff"}\n', "", ["line 1", "not valid JSON"]),
        ("a.csv", '"id,name\n1,2\n', "", ["line 1", "the first line is not valid CSV"]),
        ("a.csv", '"id"x,name\n1,2\n', "", ["line 1", "the first line is not valid CSV"]),
        ("a.csv", "id\n1\n\n2\n", "", ["line 3", "a line is blank"]),
        ("a.csv", "\n\n", "", ["line 1", "does not name the columns"]),
    ],
)
def test_a_line_that_cannot_be_used(
    tmp_path: Path, name: str, content: str | bytes, options: str, said: list[str]
) -> None:
    message = problem_with(f"s={write(tmp_path / name, content)}{options}")
    assert all(one in message for one in said), message


@pytest.mark.parametrize(
    ("name", "content", "values"),
    [
        ("a.jsonl", BOM + b'{"id":1}\n{"id":2}\n', [b'{"id":1}', b'{"id":2}']),
        ("a.csv", BOM + b'"id"\n1\n', [b"1"]),
        ("a.jsonl", b'{"id":1}\n\n', [b'{"id":1}']),
        ("a.jsonl", b'{"id":1}\r\n\r\n', [b'{"id":1}\r']),
        ("a.csv", b"id\n1\n\n", [b"1"]),
    ],
)
def test_a_bom_and_a_blank_line_at_the_end_are_not_sent(
    tmp_path: Path, name: str, content: bytes, values: list[bytes]
) -> None:
    rows = read(only(f"s={write(tmp_path / name, content)},key=id"))
    assert list(rows.values) == values and rows.keys[0] == b"1"


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet", "a.avro", "a.txt", "gen.py:make"])
def test_only_regular_files_are_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name.partition(":")[0]
    path.mkdir()
    assert "a directory" in problem_with(f"s={tmp_path / name}")
    path.rmdir()
    os.mkfifo(path)
    assert "expected: a regular file" in problem_with(f"s={tmp_path / name}")


def test_a_schema_that_is_not_a_regular_file(tmp_path: Path) -> None:
    pytest.importorskip("fastavro")
    os.mkfifo(tmp_path / "a.avsc")
    text = f"s={write(tmp_path / 'a.avro', b'')},schema={tmp_path / 'a.avsc'}"
    assert "expected: a regular file" in problem_with(text)


def parquet_file(path: Path, **columns: Any) -> Path:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_maps_become_objects(tmp_path: Path) -> None:
    import pyarrow as pa

    numbered = pa.array([[(1, "a"), (2, None)], [], None], pa.map_(pa.int64(), pa.string()))
    inner = pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.int64()))]))
    nested = pa.array([[{"m": [("x", 1)]}, None], None, [{"m": None}]], inner)
    rows = read(only(f"s={parquet_file(tmp_path / 'a.parquet', m=numbered, n=nested)}"))
    assert [json.loads(value) for value in rows.values] == [
        {"m": {"1": "a", "2": None}, "n": [{"m": {"x": 1}}, None]},
        {"m": {}, "n": None},
        {"m": None, "n": [{"m": None}]},
    ]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([b"ok", b"\xff"], ["column odd", "record 1", "binary data"]),
        ([[b"\xff"], None], ["column odd", "record 1", "binary data"]),
        ([1.0, float("nan")], ["column odd", "record 2", "nan"]),
        ([1.0, float("-inf")], ["column odd", "record 2", "inf"]),
        ([{"x": 1.0}, {"x": float("inf")}], ["column odd", "record 2"]),
    ],
)
def test_parquet_values_without_a_form_in_json(tmp_path: Path, values: list[Any], said: list[str]) -> None:
    message = problem_with(f"s={parquet_file(tmp_path / 'a.parquet', id=[1, 2], odd=values)}")
    assert all(one in message for one in said), message


def test_a_parquet_map_with_a_key_twice(tmp_path: Path) -> None:
    import pyarrow as pa

    twice = pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64()))
    assert "a key twice" in problem_with(f"s={parquet_file(tmp_path / 'a.parquet', m=twice)}")


RECORDS = [{"type": "record", "name": name, "fields": [{"name": "x", "type": "long"}]} for name in "AB"]
ENUM = {"type": "enum", "name": "E", "symbols": ["P", "Q"]}
FIXED = {"type": "fixed", "name": "F", "size": 2}
UNIONS = {
    "type": "record",
    "name": "R",
    "fields": [
        {"name": "id", "type": "bytes"},
        {"name": "u", "type": RECORDS},
        {"name": "e", "type": ["string", ENUM]},
        {"name": "n", "type": ["long", "int", "bytes", FIXED]},
        {"name": "m", "type": {"type": "map", "values": {"type": "array", "items": ["A", "B"]}}},
    ],
}
BRANCHES = [
    {"id": b"\xff", "u": ("B", {"x": 1}), "e": ("E", "P"), "n": ("int", 1), "m": {"k": [("B", {"x": 3})]}},
    {"id": b"2", "u": ("A", {"x": 1}), "e": ("string", "P"), "n": ("F", b"ab"), "m": {"k": [("A", {"x": 3})]}},
]


def avro_file(path: Path, schema: Any, rows: list[Any]) -> Path:
    fastavro = pytest.importorskip("fastavro")
    with path.open("wb") as file:
        fastavro.writer(file, schema, rows, codec="deflate")
    return path


def test_avro_records_are_the_bytes_of_the_file(tmp_path: Path) -> None:
    """So unions keep their branches."""
    fastavro = pytest.importorskip("fastavro")
    expected = []
    for row in BRANCHES:
        encoded = io.BytesIO()
        fastavro.schemaless_writer(encoded, fastavro.parse_schema(UNIONS), row)
        expected.append(encoded.getvalue())
    rows = read(only(f"s={avro_file(tmp_path / 'a.avro', UNIONS, BRANCHES)},key=id"))
    assert list(rows.values) == expected
    assert list(rows.keys) == [b"\xff", b"2"]


def test_avro_unions_keep_their_branches_with_another_schema(tmp_path: Path) -> None:
    fastavro = pytest.importorskip("fastavro")
    other = {**UNIONS, "fields": UNIONS["fields"][1:3]}
    schema = write(tmp_path / "other.avsc", json.dumps(other))
    rows = read(only(f"s={avro_file(tmp_path / 'a.avro', UNIONS, BRANCHES)},schema={schema}"))
    parsed = fastavro.parse_schema(other)
    decoded = [fastavro.schemaless_reader(io.BytesIO(one), parsed, None, return_named_type=True) for one in rows.values]
    assert decoded == [{"u": ("B", {"x": 1}), "e": ("E", "P")}, {"u": ("A", {"x": 1}), "e": "P"}]


@pytest.mark.parametrize("option", ["key", "time"])
def test_avro_values_without_fields(tmp_path: Path, option: str) -> None:
    file = avro_file(tmp_path / "a.avro", "long", [1, 2])
    assert list(read(only(f"s={file}")).values) == [b"\2", b"\4"]
    message = problem_with(f"s={file},{option}=id")
    assert "has no fields" in message and "record 1" in message


@pytest.mark.parametrize("content", [b"", b"Obj\1", b"nothing", b'Obj\1\4\x16avro.schema\x0a"x"'])
def test_what_is_not_avro(tmp_path: Path, content: bytes) -> None:
    pytest.importorskip("fastavro")
    assert "not valid Avro" in problem_with(f"s={write(tmp_path / 'a.avro', content)}")


@pytest.mark.parametrize("content", ["", "5", "{}", '{"type":"record","name":"R","fields":5}', '["nothing"]'])
def test_what_is_not_an_avro_schema(tmp_path: Path, content: str) -> None:
    file = avro_file(tmp_path / "a.avro", "long", [1])
    message = problem_with(f"s={file},schema={write(tmp_path / 'a.avsc', content)}")
    assert "the Avro schema cannot be read" in message and "a.avsc" in message


def test_a_record_is_too_large_with_its_key(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", json.dumps({"id": "x" * 500_000}))
    assert read(only(f"s={file}")).values
    assert "a record is too large" in problem_with(f"s={file},key=id")
