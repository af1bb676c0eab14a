"""StreamBench's data sets: seeded records of the right size and shape, or a user's file, replayed in order."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.codec import Message, MessageKey
from streamgauge.errors import UsageError
from streamgauge.workloads import seed_file
from streamgauge.workloads.seed_records import SEED_RECORDS, SeedRecords, decimal_keys
from streamgauge.workloads.streambench.data import PACKET_FIELDS, WORDS, Packets, SearchLog, vocabulary

DATASETS = (SearchLog, Packets)
both = pytest.mark.parametrize("dataset", DATASETS)
SEARCH = "7\ttwo words\t2006-03-01 00:00:01\t\t"
PACKET = " ".join(str(n) for n in range(len(PACKET_FIELDS)))


@cache
def generated(dataset: type[SearchLog] | type[Packets], seed: int = 1) -> SeedRecords:
    return dataset(seed)


def flat(records: SeedRecords, first: int, count: int) -> list[tuple[int, bytes, bytes]]:
    built = records.build(first, count)
    assert list(built) == ["records"]
    return list(zip(built["records"].n_seq, built["records"].keys, built["records"].values, strict=True))


@settings(deadline=None)
@given(
    number=st.integers(1, 30),
    first=st.integers(0, 100) | st.integers(9_900, 10_100) | st.integers(0, 10**10),
    chunks=st.lists(st.integers(0, 70), max_size=6),
)
def test_any_split_into_chunks_gives_the_same_records(number: int, first: int, chunks: list[int]) -> None:
    records = SeedRecords([b"%d" % n for n in range(number)])
    pieces, start = [], first
    for count in chunks:
        pieces += flat(records, start, count)
        start += count
    assert pieces == flat(records, first, sum(chunks))
    assert pieces == [(n, b"%d" % n, b"%d" % (n % number)) for n in range(first, start)]
    assert records.values == [b"%d" % n for n in range(number)], "building changes nothing"


@given(first=st.integers(0, 10**12), count=st.integers(0, 25_000))
@settings(deadline=None, max_examples=30)
def test_keys_are_the_numbers_in_decimal_digits(first: int, count: int) -> None:
    assert decimal_keys(first, count) == [b"%d" % n for n in range(first, first + count)]


@both
def test_the_codec_finds_the_sequence_number_in_the_key(dataset: type[SearchLog]) -> None:
    for n_seq, key, value in flat(generated(dataset), 99_990, 20):
        assert MessageKey().read(Message(key, value)) == n_seq


@both
def test_seed_records_are_distinct_and_start_over_at_the_end(dataset: type[SearchLog]) -> None:
    records = generated(dataset)
    assert len(set(records.values)) == SEED_RECORDS
    values = [value for _, _, value in flat(records, 2 * SEED_RECORDS - 3, 6)]
    assert values == records.values[-3:] + records.values[:3]


@both
def test_the_seed_alone_decides(dataset: type[SearchLog]) -> None:
    assert dataset(2**64 + 1).values == generated(dataset, 1).values, "any integer is a seed"
    assert generated(dataset, 2).values != generated(dataset, 1).values


@pytest.mark.parametrize(("dataset", "digest"), [(SearchLog, "438031049dc48789"), (Packets, "ee4198525f32aec1")])
def test_a_seed_gives_the_same_records_in_every_version(dataset: type[SearchLog], digest: str) -> None:
    """Otherwise runs of two versions of streamgauge, or of numpy, could not be compared."""
    content = b"\n".join(generated(dataset).values)
    assert hashlib.sha256(content).hexdigest()[:16] == digest


@pytest.mark.parametrize(("dataset", "about"), [(SearchLog, 60), (Packets, 200)])
@pytest.mark.parametrize("seed", [1, 2])
def test_records_are_as_long_as_the_papers(dataset: type[SearchLog], about: int, seed: int) -> None:
    records = generated(dataset, seed)
    mean = sum(map(len, records.values)) / SEED_RECORDS
    assert mean == pytest.approx(about, rel=0.06)
    assert records.record_bytes == pytest.approx(mean + 8, abs=1)


def test_a_search_has_five_fields() -> None:
    line = re.compile(
        r"\d{6}\t[a-z]+(?: [a-z]+){0,5}\t2006-\d\d-\d\d \d\d:\d\d:\d\d\t(?:\t|(?:[1-9]|10)\thttp://www\.[a-z]+\.com)"
    )
    values = [value.decode() for value in generated(SearchLog).values]
    assert [value for value in values if not line.fullmatch(value)] == []
    times = [value.split("\t")[2] for value in values]
    assert all(one < other for one, other in pairwise(times))
    clicks = sum(not value.endswith("\t\t") for value in values)
    assert clicks / SEED_RECORDS == pytest.approx(0.5, abs=0.02)


def test_words_follow_zipf() -> None:
    assert len(set(vocabulary())) == WORDS
    counts = Counter(
        word for value in generated(SearchLog).values for word in value.split(b"\t")[1].decode().split(" ")
    )
    assert set(counts) <= set(vocabulary())
    assert len(counts) > 0.95 * WORDS
    total = sum(counts.values())
    harmonic = sum(1 / rank for rank in range(1, WORDS + 1))
    for rank in (1, 2, 10, 100):
        assert counts[vocabulary()[rank - 1]] == pytest.approx(total / harmonic / rank, rel=0.15)


def test_users_come_in_sessions_of_one_to_several_records() -> None:
    users = [value.split(b"\t")[0] for value in generated(SearchLog).values]
    sessions = Counter(len(list(records)) for _, records in groupby(users))
    assert sessions[1] > sessions[2] > sessions[3] > sessions[4] > 0
    assert len(set(users)) > 30_000


def test_a_packet_record_has_seventeen_integers_that_agree() -> None:
    first_before = 0
    for value in generated(Packets).values[:5_000]:
        numbers = [int(text) for text in value.split(b" ")]
        assert len(numbers) == len(PACKET_FIELDS) == 17
        size, counts, (flows, first_ms, last_ms, total) = numbers[0], numbers[1:13:2], numbers[13:]
        assert 40 <= size <= 1500
        assert min(*counts, flows) > 0
        assert numbers[2:13:2] == [size * count for count in counts]
        assert sum(counts[:2]) == sum(counts[2:])
        assert total == size * sum(counts[:2])
        assert first_before < first_ms <= last_ms < first_ms + 3_600_000
        first_before = first_ms


@pytest.mark.parametrize("field", range(17))
def test_every_field_of_the_packets_can_be_summed_up_at_the_largest_scale_of_a_laptop(field: int) -> None:
    packets = generated(Packets)
    assert isinstance(packets, Packets)
    packets.check_sum(field, 5_000_000)


def test_a_sum_beyond_64_bits_is_refused() -> None:
    packets = generated(Packets)
    assert isinstance(packets, Packets)
    with pytest.raises(UsageError, match="field 16 may not fit into 64 bits") as caught:
        packets.check_sum(16, 50_000_000)
    assert "over 50,000,000 records" in str(caught.value.got)


def write(path: Path, *lines: str, end: str = "\n") -> str:
    path.write_text("\n".join(lines) + end, encoding="utf-8", newline="")
    return str(path)


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_seed_file_is_replayed_unchanged(tmp_path: Path, end: str) -> None:
    lines = [SEARCH, '8\tquote " and \\ and ü\t\t1\thttp://x', "\t\t\t\t"]
    records = SearchLog(1, write(tmp_path / "searches", *lines, end=end))
    assert [value.decode() for _, _, value in flat(records, 1, 4)] == [*lines[1:], *lines[:2]]
    packets = Packets(1, write(tmp_path / "packets", PACKET, PACKET.replace(" 3 ", " -3.5 "), end=end))
    assert len(packets.values) == 2


BAD_FILES = {
    "no newline at all but NUL": (b"a\0b", "control character", "line 1", "NUL", "LF"),
    "NUL on line 2": (SEARCH.encode() + b"\n\0", "control character", "line 2", "NUL", "LF"),
    "a byte order mark": (b"\xef\xbb\xbf" + SEARCH.encode(), "byte order mark", "line 1", "EF BB BF", "without it"),
    "CR line ends": (SEARCH.encode() + b"\r\n", "control character", "line 1", "carriage return", "end with LF"),
    "another control character": (SEARCH.encode() + b"\n\x1b", "control character", "line 2", "0x1B", "LF"),
    "Latin-1": (SEARCH.encode() + b"\n" + "é\t\t\t\t".encode("latin-1"), "not UTF-8", "line 2", "0xE9", "UTF-8"),
    "four fields": (b"\n".join([SEARCH.encode(), b"1\t2\t3\t4"]), "number of fields", "line 2", "4: ", "5, each"),
    "six fields": (b"1\t2\t3\t4\t5\t6\n", "number of fields", "line 1", "6: ", "user id, query"),
    "an empty line": (SEARCH.encode() + b"\n\n", "number of fields", "line 2", "1: ''", "one tab"),
    "a long line": (SEARCH.encode() + b"x" * 20_000, "too long", "line 1", "bytes", "10,000 bytes"),
    "nothing": (b"", "empty", "bad", "0 bytes", "one record per line"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_an_unusable_seed_file_is_reported_with_its_line(tmp_path: Path, case: str) -> None:
    content, what, where, got, expected = BAD_FILES[case]
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=what) as caught:
        SearchLog(1, str(path))
    problem = caught.value
    assert str(problem.where).startswith(str(path))
    assert where in str(problem.where)
    assert got in str(problem.got)
    assert expected in str(problem.expected)
    assert len(str(problem)) < 600, "the message does not print the file"


def test_a_seed_file_must_be_a_readable_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    cases = {"missing": "No such file", ".": "a directory", "pipe": "not a regular file", "a\0b": "null"}
    for name, got in cases.items():
        with pytest.raises(UsageError, match="cannot be read") as caught:
            SearchLog(1, f"{tmp_path}/{name}")
        assert got in str(caught.value.got)


def test_a_seed_file_must_fit_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seed_file, "FILE_BYTES_MAX", len(SEARCH) + 1)
    assert len(SearchLog(1, write(tmp_path / "fits", SEARCH)).values) == 1
    with pytest.raises(UsageError, match="too large"):
        SearchLog(1, write(tmp_path / "large", SEARCH, "\t\t\t\t"))


@pytest.mark.parametrize("text", ["x", "", "1e5", "+1", "0x10", "1,5", "1.", ".5", "--1", "nan", "٣"])
def test_a_field_of_the_packets_must_be_a_number(tmp_path: Path, text: str) -> None:
    path = write(tmp_path / "packets", PACKET, PACKET.replace(" 4 ", f" {text} "))
    with pytest.raises(UsageError, match="not a number") as caught:
        Packets(1, path)
    assert str(caught.value.where).endswith("packets, line 2")
    assert caught.value.got == f"field 4: {text!r}"


@pytest.mark.parametrize("separator", ["\t", "  ", ","])
def test_packets_are_separated_by_single_spaces(tmp_path: Path, separator: str) -> None:
    path = write(tmp_path / "packets", PACKET.replace(" ", separator))
    with pytest.raises(UsageError, match="number of fields") as caught:
        Packets(1, path)
    assert "one space" in str(caught.value.expected)


@pytest.mark.parametrize("text", ["1.5", "1234567890123456789"])
def test_a_field_without_an_exact_sum_is_refused(tmp_path: Path, text: str) -> None:
    packets = Packets(1, write(tmp_path / "packets", PACKET, PACKET.replace(" 4 ", f" {text} ")))
    packets.check_sum(3, 10)
    with pytest.raises(UsageError, match="statistics cannot use field 4") as caught:
        packets.check_sum(4, 10)
    assert str(caught.value.where).endswith("packets, line 2")
    assert caught.value.got == repr(text)
