"""Event times of repeated files: only the text of the time changes, in the form that the file has."""

from __future__ import annotations

import io
import json
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from test_your_data import only, problem_with, write

from streamgauge.workloads.yours import event_times
from streamgauge.workloads.yours.data import YourRecords
from streamgauge.workloads.yours.given import parse
from streamgauge.workloads.yours.reader import read

NOON_MS = 1_714_564_800_000
"""2024-05-01T12:00:00Z"""


def repeated(file: Path, options: str = "", times: int = 2) -> list[bytes]:
    """The rows of all repetitions but the first."""
    text = f"s={file},time=at,loop=true{options}"
    size = len(read(only(text)).values)
    return list(YourRecords(parse(text), size * times).build(0, size * times)["s"].values[size:])


@pytest.mark.parametrize(
    ("text", "ms", "shift_ms", "later"),
    [
        ("1714564800", NOON_MS, 2000, "1714564802"),
        ("1714564800.5", NOON_MS + 500, 700, "1714564801.2"),
        ("1714564800.50", NOON_MS + 500, 700, "1714564801.20"),
        ("1714564800.123", NOON_MS + 123, 1500, "1714564801.623"),
        ("1714564800.123456789", NOON_MS + 123, 1500, "1714564801.623456789"),
        ("1714564800000", NOON_MS, 1500, "1714564801500"),
        ("1714564800000000", NOON_MS, 1500, "1714564801500000"),
        ("1714564800000000001", NOON_MS, 1500, "1714564801500000001"),
        ("-1", -1000, 2000, "1"),
        ("-0.5", -500, 1000, "0.5"),
        ("007", 7000, 2000, "009"),
        ("2024-05-01T12:00:00Z", NOON_MS, 1000, "2024-05-01T12:00:01Z"),
        ("2024-05-01t12:00:00z", NOON_MS, 1000, "2024-05-01t12:00:01z"),
        ("2024-05-01 12:00:00.250", NOON_MS + 250, 1500, "2024-05-01 12:00:01.750"),
        ("2024-05-01T14:00:00.5+02:00", NOON_MS + 500, 1500, "2024-05-01T14:00:02.0+02:00"),
        ("2024-05-01T14:00:00+02", NOON_MS, 1000, "2024-05-01T14:00:01+02"),
        ("2024-05-01T14:00:00+0200", NOON_MS, 1000, "2024-05-01T14:00:01+0200"),
        ("2024-05-01T06:30:00-05:30", NOON_MS, 1000, "2024-05-01T06:30:01-05:30"),
        ("20240501T120000Z", NOON_MS, 1000, "20240501T120001Z"),
        ("2024-05-01T12:00:00,123", NOON_MS + 123, 1, "2024-05-01T12:00:00,124"),
        ("2024-05-01T12:00:00.123456789Z", NOON_MS + 123, 1, "2024-05-01T12:00:00.124456789Z"),
        ("2024-05-01T12:00:00.9996Z", NOON_MS + 1000, 1, "2024-05-01T12:00:01.0006Z"),
        ("2024-05-01T12:00", NOON_MS, 60_000, "2024-05-01T12:01"),
        ("2024-05-01T12Z", NOON_MS, 3_600_000, "2024-05-01T13Z"),
        ("2024-05-31", NOON_MS + 29 * 86_400_000 + 43_200_000, 86_400_000, "2024-06-01"),
        ("0999-12-31T23:59:59Z", -30_610_224_001_000, 1000, "1000-01-01T00:00:00Z"),
    ],
)
def test_times_keep_their_form(text: str, ms: int, shift_ms: int, later: str) -> None:
    time = event_times.read_text(text)
    assert isinstance(time, event_times.RepeatableTime)
    assert time.ms == ms and shift_ms % time.unit_ms == 0
    assert time.later(0) == text and time.later(shift_ms) == later


@pytest.mark.parametrize(
    ("value", "ms"),
    [
        (1_714_564_800.123, NOON_MS + 123),
        (1_714_564_800.9996, NOON_MS + 1000),
        (1_714_564_800_000.0, NOON_MS),
        (datetime(2024, 5, 1, 12, tzinfo=UTC), NOON_MS),
        (date(2024, 5, 1), NOON_MS - 43_200_000),
        ("1.7145648e9", NOON_MS),
        (" 1714564800 ", NOON_MS),
        ("2024-W18-3T12:00:00Z", NOON_MS),
    ],
)
def test_what_else_is_an_event_time(value: object, ms: int) -> None:
    time = event_times.read(value)
    assert time is not None and time.ms == ms


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('{"a": 1.50, "at" : "2024-05-01T12:00:00+02"}', '{"a": 1.50, "at" : "2024-05-01T12:00:01+02"}'),
        ('{"at":"20240501T120000Z","b":1e3}', '{"at":"20240501T120001Z","b":1e3}'),
        ('{"at":"2024-05-01"}', '{"at":"2024-05-02"}'),
        ('{"at":"2024-05-01T12:00:00,123"}', '{"at":"2024-05-01T12:00:00,124"}'),
        ('{"at":1714564800}', '{"at":1714564801}'),
        ('{"at":10.50}', '{"at":10.51}'),
        ('{"at":1,"x":{"at":5},"at":2}', '{"at":1,"x":{"at":5},"at":3}'),
        ('{"x":"\\"at\\":1","ü":"ä", "\\u0061t":2 }', '{"x":"\\"at\\":1","ü":"ä", "\\u0061t":3 }'),
    ],
)
def test_a_json_line_changes_only_in_its_time(tmp_path: Path, first: str, second: str) -> None:
    assert repeated(write(tmp_path / "a.jsonl", first)) == [second.encode()]


@pytest.mark.parametrize("name", ["zeit_ü", 'a"b', "a\\\\b"])
def test_a_time_field_whose_name_needs_escaping(tmp_path: Path, name: str) -> None:
    name = name.replace("\\\\", "\\")
    for written in (json.dumps(name), json.dumps(name, ensure_ascii=False)):
        file = write(tmp_path / "a.jsonl", f"{{{written}: 5}}\n{{{written}: 6}}\n")
        built = YourRecords(parse(f"s={file},time={name},loop=true"), 4).build(0, 4)["s"].values
        assert list(built[2:]) == [f"{{{written}: 7}}".encode(), f"{{{written}: 8}}".encode()]


@pytest.mark.parametrize(
    ("row", "options", "later"),
    [
        ('"x",1714564800,"a ""b"""', "", '"x",1714564801,"a ""b"""'),
        ('"x, y","2024-05-01T12:00:00,5"," "', "", '"x, y","2024-05-01T12:00:00,6"," "'),
        ('"two\nlines",1714564800,ü', "", '"two\nlines",1714564801,ü'),
        ("ü,10.50,", "", "ü,10.51,"),
        ("1.50,10.50,x", ",as=json", '{"name":1.50,"at":10.51,"z":"x"}'),
        (
            "12345678901234567890.50,1714564800,x",
            ",as=json",
            '{"name":12345678901234567890.50,"at":1714564801,"z":"x"}',
        ),
        ("é,2024-05-01,x", ",as=json", '{"name":"é","at":"2024-05-02","z":"x"}'),
    ],
)
def test_a_csv_row_changes_only_in_its_time(tmp_path: Path, row: str, options: str, later: str) -> None:
    assert repeated(write(tmp_path / "a.csv", f"name,at,z\n{row}\n"), options) == [later.encode()]


def test_parquet_rows_are_repeated(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    at = pa.array([NOON_MS, NOON_MS + 500], pa.timestamp("ms", tz="UTC"))
    pq.write_table(pa.table({"at": at, "n": [1.5, 1e20]}), tmp_path / "a.parquet")
    assert repeated(tmp_path / "a.parquet") == [
        b'{"at":"2024-05-01T12:00:01+00:00","n":1.5}',
        b'{"at":"2024-05-01T12:00:01.500000+00:00","n":1e+20}',
    ]


@pytest.mark.parametrize(
    ("values", "laters"),
    [
        (["1714564800"] * 3, ["1714564801"] * 3),
        (['"2024-05-01T12:00"'] * 2, ['"2024-05-01T12:01"'] * 2),
        (["1714564800", "1714564800.5"], ["1714564801", "1714564801.5"]),
        (["1714564800000"] * 2, ["1714564800001"] * 2),
    ],
)
def test_every_repetition_is_later(tmp_path: Path, values: list[str], laters: list[str]) -> None:
    """By one unit of the coarsest value at least."""
    file = write(tmp_path / "a.jsonl", "\n".join(f'{{"at":{value}}}' for value in values))
    assert repeated(file) == [f'{{"at":{later}}}'.encode() for later in laters]


@pytest.mark.parametrize(
    ("name", "content", "line", "got"),
    [
        ("a.jsonl", '{"at":1}\n{"at":1.7145648e9}\n', 2, "1.7145648e9"),
        ("a.jsonl", '{"at":1}\n{"at":"2024-W18-3"}\n', 2, "2024-W18-3"),
        ("a.jsonl", '{"at":" 5"}\n', 1, "' 5'"),
        ("a.jsonl", '{"at":"2024-05-01T12:00:00\\u005a"}\n', 1, "u005a"),
        ("a.jsonl", '{"at":-0}\n', 1, "'-0'"),
        ("a.jsonl", '{"at":1}\n{"at":"9999-12-31T23:59:59Z"}\n', 2, "9999-12-31"),
        ("a.jsonl", '{"at":99999999999}\n', 1, "99999999999"),
        ("a.csv", 'x,at\n"a\nb",1\nc, 5\n', 4, "' 5'"),
    ],
)
def test_a_time_that_cannot_be_continued_is_found_when_the_file_is_read(
    tmp_path: Path, name: str, content: str, line: int, got: str
) -> None:
    file = write(tmp_path / name, content)
    message = problem_with(f"s={file},time=at,loop=true")
    assert f"{file}, line {line}\n" in message and got in message and "expected: " in message
    assert read(only(f"s={file},time=at")).times, "without loop=true, it is a time"


def test_times_that_end_before_the_load_does(tmp_path: Path) -> None:
    file = write(tmp_path / "a.jsonl", '{"at":"9999-12-29"}\n')
    YourRecords(parse(f"s={file},time=at,loop=true"), 3).build(0, 3)
    assert "cannot go on for the whole run" in problem_with(f"s={file},time=at,loop=true", records=4)


LONG_MS = {"type": "long", "logicalType": "timestamp-millis"}
DATE = {"type": "int", "logicalType": "date"}
NAMED = [{"type": "record", "name": name, "fields": [{"name": "x", "type": "long"}]} for name in "AB"]


def avro_file(path: Path, time_type: Any, times: list[Any]) -> tuple[Path, Any]:
    fastavro = pytest.importorskip("fastavro")
    fields = [{"name": "u", "type": NAMED}, {"name": "at", "type": time_type}, {"name": "v", "type": ["int", "long"]}]
    schema = fastavro.parse_schema({"type": "record", "name": "R", "namespace": "n", "fields": fields})
    with path.open("wb") as file:
        fastavro.writer(file, schema, [{"u": ("n.B", {"x": 1}), "at": time, "v": ("long", 2)} for time in times])
    return path, schema


@pytest.mark.parametrize(
    ("time_type", "times", "laters"),
    [
        ("long", [1_714_564_800] * 2, [1_714_564_801] * 2),
        ("int", [1_714_564_800], [1_714_564_801]),
        ("double", [1_714_564_800.0, 1_714_564_800.25], [1_714_564_800.5, 1_714_564_800.75]),
        (["null", "string"], ["2024-05-01T12:00:00Z"], ["2024-05-01T12:00:01Z"]),
        (DATE, [date(2024, 5, 1)] * 2, [date(2024, 5, 2)] * 2),
        (["null", LONG_MS], [NOON_MS], [datetime(2024, 5, 1, 12, 0, 0, 1000, UTC)]),
    ],
)
def test_avro_records_change_only_in_their_time(
    tmp_path: Path, time_type: Any, times: list[Any], laters: list[Any]
) -> None:
    fastavro = pytest.importorskip("fastavro")
    file, schema = avro_file(tmp_path / "a.avro", time_type, times)
    for value, later in zip(repeated(file, ",schema_id=7"), laters, strict=True):
        row = fastavro.schemaless_reader(io.BytesIO(value[5:]), schema, None, return_named_type=True)
        assert row == {"u": ("n.B", {"x": 1}), "at": later, "v": 2}
        assert value.startswith(b"\0\0\0\0\7\2\2") and value.endswith(b"\2\4"), "the branches are those of the file"


@pytest.mark.parametrize(
    ("time_type", "time", "said"),
    [
        ("float", 1e9, "not enough digits"),
        ("int", 2**31 - 1, "record 1"),
        (DATE, date(9999, 12, 31), "record 1"),
        ("string", "2024-W18-3", "record 1"),
        pytest.param(["int", "long"], ("long", 5), "got: '5'", id="the branch that fastavro would not take"),
    ],
)
def test_avro_times_that_cannot_be_continued(tmp_path: Path, time_type: Any, time: Any, said: str) -> None:
    file, _ = avro_file(tmp_path / "a.avro", time_type, [time])
    assert said in problem_with(f"s={file},time=at,loop=true")


def test_an_avro_record_that_contains_itself_is_not_repeated(tmp_path: Path) -> None:
    fastavro = pytest.importorskip("fastavro")
    fields = [{"name": "before", "type": ["null", "R"]}, {"name": "at", "type": "long"}]
    with (tmp_path / "a.avro").open("wb") as file:
        fastavro.writer(file, {"type": "record", "name": "R", "fields": fields}, [{"before": None, "at": 5}])
    assert "does not contain itself" in problem_with(f"s={tmp_path / 'a.avro'},time=at,loop=true")
