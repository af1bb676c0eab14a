"""Your own data: what --data takes, how files become records, and what is wrong with a file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from streamgauge.errors import UsageError
from streamgauge.workloads.yours import event_times
from streamgauge.workloads.yours.data import EVENT_HEADER, NUMBER_HEADER, YourRecords
from streamgauge.workloads.yours.given import Given, parse
from streamgauge.workloads.yours.reader import read


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def only(text: str) -> Given:
    [given] = parse(text)
    return given


def problem_with(text: str, records: int = 1) -> str:
    with pytest.raises(UsageError) as caught:
        YourRecords(parse(text), records)
    return caught.value.message()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("orders", "invalid --data"),
        ("orders=", "invalid --data"),
        ("or ders=a.jsonl", "invalid --data"),
        ("orders=a.jsonl,kye=id", "did you mean key?"),
        ("orders=a.jsonl,key=a,key=b", "at most once"),
        ("orders=a.data", "the format of the data is not known"),
        ("orders=a.jsonl,format=xml", "the format of the data is not known"),
        ("orders=a.txt,key=id", "a format with fields, not text"),
        ("orders=a.jsonl,loop=yes", "true or false"),
        ("orders", "[,as=json][,share=N][,schema=FILE][,schema_id=N]"),
        ("orders=a.jsonl,as=json", "as=json is only for CSV"),
        ("orders=gen.py:make,as=json", "as=json is only for CSV"),
        ("orders=a.csv,as=xml", "expected: as=json"),
        ("orders=a.jsonl,share=²", "a whole number from 1"),
        ("orders=~nobody_of_this_name/a.jsonl", "unknown home directory"),
        ("orders=a.jsonl,share=0", "a whole number from 1"),
        ("orders=a.jsonl,schema_id=1", "format=avro"),
        ("orders=gen.py:make,key=id", "a function decides itself"),
        ("a=1.jsonl;a=2.jsonl", "names the stream a twice"),
    ],
)
def test_what_data_refuses(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert said in caught.value.message()


def test_data_is_written_as_it_is_read() -> None:
    text = "orders=/x/a.csv,format=csv,key=id,time=at,loop=true,as=json,share=3;made=/x/gen.py:make"
    assert ";".join(given.typed for given in parse(text)) == text


def test_lines_stay_as_they_are(tmp_path: Path) -> None:
    lines = [b'{"id": 1,  "x": "\xc3\xa4"}', b'{ "id":2 }', b'{"id":3}\r']
    file = write(tmp_path / "a.jsonl", b"\n".join(lines) + b"\n")
    rows = read(only(f"s={file},key=id"))
    assert list(rows.values) == lines
    assert list(rows.keys) == [b"1", b"2", b"3"]


def test_text_stays_as_it_is_byte_for_byte(tmp_path: Path) -> None:
    file = write(tmp_path / "a.txt", b"one\n\n\xff\xfe two\r\nlast")
    assert list(read(only(f"s={file}")).values) == [b"one", b"", b"\xff\xfe two\r", b"last"]


def test_csv_rows_stay_as_they_are(tmp_path: Path) -> None:
    file = write(tmp_path / "a.csv", 'id,name\n1,"a ""b"", c"\n2,"two\nlines"\n3, x \n')
    rows = read(only(f"s={file},key=id"))
    assert list(rows.values) == [b'1,"a ""b"", c"', b'2,"two\nlines"', b"3, x "]
    assert list(rows.keys) == [b"1", b"2", b"3"]


def test_csv_as_json(tmp_path: Path) -> None:
    """A column of numbers alone has numbers, as the file writes them; 007 is a name."""
    file = write(tmp_path / "a.csv", 'id,name,price,code\n1,"a, b",2.50,007\n2,c,,8\n')
    assert list(read(only(f"s={file},as=json")).values) == [
        b'{"id":1,"name":"a, b","price":2.50,"code":"007"}',
        b'{"id":2,"name":"c","price":null,"code":"8"}',
    ]


def test_parquet_as_json(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    at = datetime(2024, 5, 1, 12, tzinfo=UTC)
    pq.write_table(pa.table({"id": [7, 8], "at": [at, at], "tags": [["a"], None]}), tmp_path / "a.parquet")
    rows = read(only(f"s={tmp_path / 'a.parquet'},key=id,time=at"))
    assert json.loads(rows.values[0]) == {
        "id": 7,
        "at": "2024-05-01T12:00:00+00:00",
        "tags": ["a"],
    }
    assert rows.times[0].ms == 1_714_564_800_000


def test_avro_in_the_wire_format_of_a_registry(tmp_path: Path) -> None:
    import io

    fastavro = pytest.importorskip("fastavro")
    schema = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}
    with (tmp_path / "a.avro").open("wb") as file:
        fastavro.writer(file, schema, [{"id": 1}, {"id": 300}])
    rows = read(only(f"s={tmp_path / 'a.avro'},key=id,schema_id=42"))
    assert [value[:5] for value in rows.values] == [b"\x00\x00\x00\x00\x2a"] * 2
    parsed = fastavro.parse_schema(schema)
    assert [fastavro.schemaless_reader(io.BytesIO(value[5:]), parsed, None)["id"] for value in rows.values] == [1, 300]


@pytest.mark.parametrize(
    ("name", "content", "options", "said"),
    [
        ("a.jsonl", '{"id": 1}\n{"id": \n', "", "line 2"),
        ("a.jsonl", '{"id": 1}\n[1]\n', "", "a line is not a JSON object"),
        ("a.jsonl", '{"id": 1}\n{"no": 1}\n', ",key=id", "line 2"),
        ("a.jsonl", '{"at": "soon"}\n', ",time=at", "not a time"),
        ("a.jsonl", "", "", "no records"),
        ("a.csv", "id,name\n1\n", "", "line 2"),
        ("a.csv", 'id,name\n1,"x\n', "", "not valid CSV"),
        ("a.csv", "id,id\n1,2\n", "", "does not name the columns"),
        ("a.csv", b"id\n\xff\n", "", "not UTF-8"),
        ("a.parquet", b"PAR1nothing", "", "not valid Parquet"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, name: str, content: str | bytes, options: str, said: str) -> None:
    file = write(tmp_path / name, content)
    message = problem_with(f"s={file}{options}")
    assert said in message and str(file) in message


def test_a_missing_file_and_one_that_is_too_short(tmp_path: Path) -> None:
    assert "cannot be read" in problem_with(f"s={tmp_path / 'none.jsonl'}")
    file = write(tmp_path / "a.jsonl", '{"id": 1}\n')
    message = problem_with(f"s={file}", records=2)
    assert "does not last for the whole run" in message and "loop=true" in message


def test_records_have_their_number_in_a_header(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", "".join(f'{{"id": {n}}}\n' for n in range(10)))
    built = YourRecords(parse(f"s={file},key=id,loop=true"), 25).build(8, 5)["s"]
    assert list(built.n_seq) == [8, 9, 10, 11, 12]
    assert list(built.keys) == [b"8", b"9", b"0", b"1", b"2"]
    assert built.headers is not None and built.headers[2] == [(NUMBER_HEADER, b"10")]


@pytest.mark.parametrize("blocks", [[30], [1] * 30, [7, 7, 7, 7, 2], [4, 26]])
def test_streams_take_turns_whatever_the_blocks(tmp_path: Path, blocks: list[int]) -> None:
    a = write(tmp_path / "a.jsonl", "".join(f'{{"a": {n}}}\n' for n in range(20)))
    b = write(tmp_path / "b.jsonl", "".join(f'{{"b": {n}}}\n' for n in range(20)))
    dataset = YourRecords(parse(f"a={a},share=2;b={b}"), 30)
    seen: dict[str, list[tuple[int, bytes]]] = {"a": [], "b": []}
    first = 0
    for count in blocks:
        for stream, records in dataset.build(first, count).items():
            seen[stream] += zip(records.n_seq, records.values, strict=True)
        first += count
    assert [n for n, _ in seen["a"]] == [n for n in range(30) if n % 3 != 2]
    assert [n for n, _ in seen["b"]] == list(range(2, 30, 3))
    assert [json.loads(value) for _, value in seen["a"]] == [{"a": n} for n in range(20)]
    assert [json.loads(value) for _, value in seen["b"]] == [{"b": n} for n in range(10)]


def test_event_time_continues_when_a_file_is_repeated(tmp_path: Path) -> None:
    lines = [f'{{"inner": {{"at": 5}}, "at" : "2024-05-01T12:00:0{n}Z", "n": {n}}}' for n in range(3)]
    file = write(tmp_path / "a.jsonl", "\n".join(lines))
    built = YourRecords(parse(f"s={file},time=at,loop=true"), 9).build(0, 9)["s"]
    moments = [datetime.fromisoformat(json.loads(value)["at"]) for value in built.values]
    assert [(later - moments[0]).total_seconds() for later in moments] == list(range(9))
    assert built.values[0] == lines[0].encode()
    assert built.values[3] == lines[0].replace("12:00:00Z", "12:00:03Z").encode()
    assert built.headers is not None
    first_ms = 1_714_564_800_000
    assert [header[1] for header in built.headers] == [(EVENT_HEADER, b"%d" % (first_ms + 1000 * n)) for n in range(9)]


@pytest.mark.parametrize("value", ["soon", True, None, {}, 1e30, ""])
def test_what_is_not_an_event_time(value: object) -> None:
    assert event_times.read(value) is None
