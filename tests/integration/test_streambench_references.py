"""The correct answers of StreamBench's programs, computed by hand."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pytest

from streamgauge.contracts import INPUT_STAMPS, RunningWorkload
from streamgauge.evaluate import running, tally
from streamgauge.model import NS_PER_MS
from streamgauge.workloads.seed_records import SeedRecords
from streamgauge.workloads.streambench import programs
from streamgauge.workloads.streambench.data import Packets, SearchLog

T0_MS = 1_767_225_600_000
"""All times below are milliseconds after this."""
SENT_BEFORE_MS = 3
_INPUT = (
    "key string, value string, partition int, offset bigint, appended_ms bigint, n_seq bigint, intended_ns bigint, "
    "partition_bit bigint"
)
_OUTPUT = "key string, value string, partition int, offset bigint, appended_ms bigint"


class Record(NamedTuple):
    n_seq: int
    at_ms: int
    partition: int
    offset: int
    value: str

    @property
    def stamps(self) -> dict[str, int]:
        """The columns of a contribution that describe its record."""
        appended_ms = T0_MS + self.at_ms
        return {
            "n_seq": self.n_seq,
            "appended_ms": appended_ms,
            "partition": self.partition,
            "offset": self.offset,
            "intended_ns": (appended_ms - SENT_BEFORE_MS) * NS_PER_MS,
            "partition_bit": 1 << self.partition,
        }


# In the order of (appended, partition, offset) they are 1, 0, 2, 4, 3, 5: 0 and 2 were appended in the same
# millisecond to different partitions, 4 and 3 to the same partition. Words: an empty query, spaces on either side,
# two spaces in a row, a word twice, words that JSON must escape, and letters outside of ASCII.
SEARCHES = (
    Record(0, 20, 0, 3, "u1\tred car\t2006-03-01 00:00:01\t1\thttp://www.car.com"),
    Record(1, 10, 1, 0, "u2\t blue  car \t2006-03-01 00:00:02\t\t"),
    Record(2, 20, 1, 1, "u1\tcar car\t2006-03-01 00:00:03\t\t"),
    Record(3, 30, 0, 5, 'u3\t"q" \\ grün\t2006-03-01 00:00:04\t2\thttp://www.red.com'),
    Record(4, 30, 0, 4, "u2\t\t2006-03-01 00:00:05\t\t"),
    Record(5, 40, 1, 2, "\tCar card\t2006-03-01 00:00:06\t\t"),
)
PACKETS = tuple(
    Record(n, at_ms, n % 2, n // 2, " ".join(["7"] * 4 + [number] + ["8"] * 12))
    for n, (at_ms, number) in enumerate(((10, "5"), (30, "-3"), (20, "9"), (40, "4000000000000")))
)
NUMBERS = (5, 9, -3, 4_000_000_000_000)
"""Values of the packets, in order."""


def inputs(spark: Any, records: Sequence[Record]) -> dict[str, Any]:
    """The topic, as the evaluation passes it to a workload."""
    order = ("partition", "offset", "appended_ms", "n_seq", "intended_ns", "partition_bit")
    rows = [(str(one.n_seq), one.value, *(one.stamps[name] for name in order)) for one in records]
    return {"records": spark.createDataFrame(rows, _INPUT)}


def answer(spark: Any, workload: programs.PerRecord, **parameters: Any) -> dict[int, str]:
    rows = [row.asDict() for row in workload.reference(inputs(spark, SEARCHES), parameters).collect()]
    for row in rows:
        stamps = SEARCHES[row["n_seq"]].stamps
        appended_ms = stamps["appended_ms"]
        assert {name: value for name, value in row.items() if name not in ("n_seq", "result")} == {
            "inputs": 1,
            "appended_min_ms": appended_ms,
            "appended_max_ms": appended_ms,
            "appended_mean_ms": float(appended_ms),
            "intended_max_ns": stamps["intended_ns"],
            "partitions": stamps["partition_bit"],
        }
    assert len({row["n_seq"] for row in rows}) == len(rows)
    return {row["n_seq"]: row["result"] for row in rows}


def decoded(spark: Any, workload: Any, *outputs: tuple[str | None, str | None]) -> list[dict[str, Any]]:
    """The decoded outputs, without the transport's columns."""
    rows = [(key, value, 0, place, T0_MS) for place, (key, value) in enumerate(outputs)]
    frame = workload.decode(spark.createDataFrame(rows, _OUTPUT), {"field": 1}).orderBy("offset")
    of_transport = {"key", "value", "partition", "offset", "appended_ms"}
    assert of_transport < set(frame.columns)
    return [
        {name: value for name, value in row.asDict().items() if name not in of_transport} for row in frame.collect()
    ]


def test_identity(spark: Any) -> None:
    assert answer(spark, programs.Identity()) == {one.n_seq: one.value for one in SEARCHES}


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        (0, ["u1", "u2", "u1", "u3", "u2", ""]),
        (1, ["red car", " blue  car ", "car car", '"q" \\ grün', "", "Car card"]),
        (2, [f"2006-03-01 00:00:0{n}" for n in range(1, 7)]),
        (3, ["1", "", "", "2", "", ""]),
        (4, ["http://www.car.com", "", "", "http://www.red.com", "", ""]),
    ],
)
def test_projection(spark: Any, field: int, expected: list[str]) -> None:
    assert answer(spark, programs.Projection(), field=field) == dict(enumerate(expected))


@pytest.mark.parametrize(
    ("pattern", "kept"),
    [
        ("red", {0, 3}),  # in the query, and in the URL
        ("car", {0, 1, 2, 5}),  # also inside another word; not in upper case
        ("r c", {2, 5}),
        ("ar\\b", set()),  # not a regular expression
        (".", {0, 3}),
        ("\\", {3}),
        ("%", set()),  # nor an SQL pattern
        ("ü", {3}),
    ],
)
def test_grep(spark: Any, pattern: str, kept: set[int]) -> None:
    assert answer(spark, programs.Grep(), pattern=pattern) == {n: SEARCHES[n].value for n in kept}


def test_sample(spark: Any) -> None:
    """Of the hash: 0 → 0, 1 → 2654435761, 2 → 1013904226 (2 × 2654435761 − 2^32), 3 → 3668339987, 4 → 2027808452,
    5 → 387276917 (5 × 2654435761 − 3 × 2^32). 10 % is 429496729, 50 % 2147483648."""
    assert set(answer(spark, programs.Sample(), sample_percent=10)) == {0, 5}
    assert set(answer(spark, programs.Sample(), sample_percent=50)) == {0, 2, 4, 5}
    assert set(answer(spark, programs.Sample(), sample_percent=99)) == {0, 1, 2, 3, 4, 5}
    assert set(answer(spark, programs.Sample(), sample_percent=1)) == {0}


def test_sample_of_large_numbers(spark: Any) -> None:
    """The number is hashed modulo 2^31, and no product overflows."""
    numbers = [0, 5, 7, 2**31 - 1, 2**31, 2**31 + 5, 2**40 + 7, 10**10]
    records = [Record(n, 0, 0, n, "") for n in numbers]
    kept = programs.Sample().reference(inputs(spark, records), {"sample_percent": 33})
    by_hand = [n for n in numbers if n % 2147483648 * 2654435761 % 4294967296 < 1417339207]
    assert sorted(row["n_seq"] for row in kept.collect()) == by_hand
    assert by_hand == [0, 5, 7, 2**31, 2**31 + 5, 2**40 + 7]


def test_a_sample_has_about_the_configured_share(spark: Any) -> None:
    frame = spark.range(100_000).withColumnRenamed("id", "n_seq")
    for percent in (1, 10, 50, 99):
        kept = frame.where(programs.Sample().kept({"sample_percent": percent})).count()
        assert kept == pytest.approx(1000 * percent, abs=200)


@pytest.mark.parametrize(
    "workload", [programs.Identity(), programs.Sample(), programs.Projection(), programs.Grep()], ids=lambda w: w.name
)
def test_a_result_is_recognised_by_an_unchanged_key(spark: Any, workload: programs.PerRecord) -> None:
    outputs = (("12", "text"), ("0", ""), ("012", "a"), ("12.0", "a"), (" 12", "a"), ("x", "a"), ("", "a"), (None, "a"))
    results = decoded(spark, workload, *outputs, ("3", None))
    assert results[:2] == [{"n_seq": 12, "result": "text"}, {"n_seq": 0, "result": ""}]
    assert [row["n_seq"] for row in results[2:-1]] == [None] * 6
    assert results[-1] == {"n_seq": 3, "result": None}


def contributions(spark: Any, workload: Any, records: Sequence[Record], **parameters: Any) -> list[dict[str, Any]]:
    """In the order of their rank."""
    rows = [row.asDict() for row in workload.contributions(inputs(spark, records), parameters).collect()]
    return sorted(rows, key=lambda row: (row["appended_ms"], row["partition"], row["offset"]))


def test_wordcount_has_a_contribution_for_every_occurrence(spark: Any) -> None:
    expected = contributions(spark, programs.Wordcount(), SEARCHES, field=1)
    assert expected == [
        {"word": word, **SEARCHES[n].stamps}
        for n, word in (
            (1, "blue"),
            (1, "car"),
            (0, "red"),
            (0, "car"),
            (2, "car"),
            (2, "car"),
            (3, '"q"'),
            (3, "\\"),
            (3, "grün"),
            (5, "Car"),
            (5, "card"),
        )
    ]
    assert programs.Wordcount().aggregates({"field": 1}) == {}
    assert programs.Wordcount().possible({"field": 1}) is None


def test_wordcount_of_another_field(spark: Any) -> None:
    expected = contributions(spark, programs.Wordcount(), SEARCHES, field=3)
    assert [(row["word"], row["n_seq"]) for row in expected] == [("1", 0), ("2", 3)]


def test_a_count_of_words_is_read_from_json(spark: Any) -> None:
    word = '"q\\'
    outputs = (
        ("car", '{"word":"car","n":3}'),
        ("car", ' { "n" : 4, "word" : "car" } '),
        (word, json.dumps({"word": word, "n": 1})),
        ("grün", '{"word":"gr\\u00fcn","n":2}'),
        ("red", '{"word":"car","n":3}'),
        ("car", "car 3"),
        ("car", '{"word":"car","n":"3"}'),
        (None, '{"word":"car","n":3}'),
    )
    counts = [tuple(row.values()) for row in decoded(spark, programs.Wordcount(), *outputs)]
    assert counts[:4] == [("car", 3), ("car", 4), (word, 1), ("grün", 2)]
    assert [word for word, _ in counts[4:6]] == [None, None], "key and word differ; no JSON"
    assert counts[6][1] is None, "a text is not a number"
    assert counts[7][0] is None


def test_the_first_record_with_a_value_contributes_to_distinctcount(spark: Any) -> None:
    def firsts(field: int) -> list[dict[str, Any]]:
        return contributions(spark, programs.Distinctcount(), SEARCHES, field=field)

    # u2 comes first in 1, u1 in 0 (partition 0 before partition 1), u3 in 3, the empty user in 5.
    assert firsts(0) == [{"aggregate": "distinct", **SEARCHES[n].stamps} for n in (1, 0, 3, 5)]
    # 4 (no item rank) was appended before 3 (with one), but 1 was before both.
    assert firsts(3) == [{"aggregate": "distinct", **SEARCHES[n].stamps} for n in (1, 0, 3)]


def test_a_total_is_read_from_json(spark: Any) -> None:
    count, statistics = programs.Distinctcount(), programs.Statistics()
    assert decoded(spark, count, ("distinct", '{"n":3}'), ("x", '{"n":4}'), ("distinct", "5")) == [
        {"aggregate": "distinct", "n": 3},
        {"aggregate": "x", "n": 4},
        {"aggregate": "distinct", "n": None},
    ]
    wide = 4_000_000_000_011
    value = f'{{"mean":2.75,"sum":{wide},"max":4000000000000,"min":-3,"n":4}}'
    assert decoded(spark, statistics, ("statistics", value)) == [
        {"aggregate": "statistics", "n": 4, "min": -3, "max": 4_000_000_000_000, "sum": wide, "mean": 2.75}
    ]
    fraction = decoded(spark, statistics, ("statistics", '{"n":1,"min":1,"max":1,"sum":1.5,"mean":1}'))
    assert fraction[0]["sum"] is None, "an integer must be one"


def test_statistics_of_the_first_and_of_all_records(spark: Any) -> None:
    from pyspark.sql import Window

    workload, parameters = programs.Statistics(), {"field": 4}
    expected = contributions(spark, workload, PACKETS, **parameters)
    assert expected == [
        {"aggregate": "statistics", "number": number, **PACKETS[n].stamps}
        for n, number in zip((0, 2, 1, 3), NUMBERS, strict=True)
    ]
    frame = workload.contributions(inputs(spark, PACKETS), parameters)
    aggregates = workload.aggregates(parameters)
    rank = Window.partitionBy("aggregate").orderBy("appended_ms", "partition", "offset")
    prefixes = frame.select(*(column.over(rank).alias(name) for name, column in aggregates.items()))
    assert sorted(tuple(row) for row in prefixes.collect()) == sorted(
        [(5, 5, 5, 5.0), (5, 9, 14, 7.0), (-3, 9, 11, 11 / 3), (-3, 4 * 10**12, 4 * 10**12 + 11, 1_000_000_000_002.75)]
    )
    total = frame.groupBy("aggregate").agg(*(column.alias(name) for name, column in aggregates.items())).collect()
    assert [tuple(row) for row in total] == [("statistics", -3, 4 * 10**12, 4 * 10**12 + 11, 1_000_000_000_002.75)]


HUGE = 2**63 - 1
RESULTS: Mapping[str, tuple[bool, tuple[Any, ...]]] = {
    # Of 5, 9, −3 and 4: n, min, max, sum, mean.
    "all": (True, (4, -3, 9, 15, 3.75)),
    "the first": (True, (1, 5, 5, 5, 5.0)),
    "another first": (True, (1, -3, -3, -3, -3.0)),
    "two": (True, (2, -3, 9, 6, 3.0)),
    "mean of no finite fraction": (True, (3, -3, 5, 7, 7 / 3)),
    "mean of zero": (True, (2, -3, 3, 0, 0.0)),
    "below all": (False, (1, -4, -4, -4, -4.0)),
    "above all": (False, (1, 10, 10, 10, 10.0)),
    "minimum above maximum": (False, (2, 5, 4, 9, 4.5)),
    "one record, two values": (False, (1, -3, 9, 6, 6.0)),
    "sum below what the maximum leaves": (False, (2, -3, 9, 5, 2.5)),
    "sum above what the minimum leaves": (False, (2, -3, 9, 7, 3.5)),
    "mean of another n": (False, (3, -3, 9, 6, 3.0)),
    "mean a little off": (False, (4, -3, 9, 15, 3.75001)),
    "mean not a number": (False, (4, -3, 9, 15, float("nan"))),
    "no records": (False, (0, 5, 5, 5, 5.0)),
    "fewer than none": (False, (-1, 5, 5, -5, 5.0)),
    "n that only the number of records could rule out": (True, (HUGE, -3, 9, 15, 15 / HUGE)),
    "everything beyond all bounds": (False, (HUGE, -HUGE, HUGE, HUGE, 1.0)),
    "n at the other end": (False, (-HUGE - 1, -HUGE - 1, HUGE, HUGE, 1.0)),
    "no sum": (False, (4, -3, 9, None, 3.75)),
    "no mean": (False, (4, -3, 9, 15, None)),
    "no n": (False, (None, -3, 9, 15, 3.75)),
}


def test_which_statistics_are_possible_if_the_order_is_unknown(spark: Any) -> None:
    schema = "case string, n bigint, min bigint, max bigint, sum bigint, mean double"
    schema += ", final_min bigint, final_max bigint, final_sum bigint, final_mean double"
    rows = [(case, *result, -3, 9, 15, 3.75) for case, (_, result) in RESULTS.items()]
    frame = spark.createDataFrame(rows, schema)
    verdicts = frame.select("case", programs.Statistics().possible({"field": 4}).alias("possible")).collect()
    assert {row["case"]: row["possible"] for row in verdicts} == {case: right for case, (right, _) in RESULTS.items()}


def scattered(records: SeedRecords, number: int) -> list[Record]:
    """The first records of a data set, on three partitions, several per millisecond."""
    values = records.build(0, number)["records"].values
    return [Record(n, n // 7 - n % 3, n % 3, n // 3, value.decode()) for n, value in enumerate(values)]


def test_answers_for_generated_records_match_plain_python(spark: Any) -> None:
    searches = scattered(SearchLog(3), 3000)
    frame = inputs(spark, searches)

    def kept(workload: programs.PerRecord, **parameters: Any) -> list[int]:
        return sorted(row["n_seq"] for row in workload.reference(frame, parameters).collect())

    assert kept(programs.Grep(), pattern="bunlir") == [one.n_seq for one in searches if "bunlir" in one.value]
    words = Counter(word for one in searches for word in one.value.split("\t")[1].split(" "))
    counted = programs.Wordcount().contributions(frame, {"field": 1}).groupBy("word").count().collect()
    assert {row["word"]: row["count"] for row in counted} == words
    first: dict[str, int] = {}
    for one in sorted(searches, key=lambda one: (one.at_ms, one.partition, one.offset)):
        first.setdefault(one.value.split("\t")[0], one.n_seq)
    distinct = contributions(spark, programs.Distinctcount(), searches, field=0)
    assert [row["n_seq"] for row in distinct] == list(first.values())
    assert 500 < len(first) < 2000
    packets = scattered(Packets(3), 500)
    numbers = [int(one.value.split(" ")[1]) for one in packets]
    statistics = programs.Statistics()
    aggregates = [column.alias(name) for name, column in statistics.aggregates({"field": 1}).items()]
    row = statistics.contributions(inputs(spark, packets), {"field": 1}).agg(*aggregates).collect()[0]
    assert tuple(row) == (min(numbers), max(numbers), sum(numbers), sum(numbers) / 500)


def running_results(program: str) -> list[tuple[str, dict[str, Any]]]:
    """The output of a program that publishes every update: keys and values, in record order."""
    records = sorted(PACKETS if program == "statistics" else SEARCHES, key=lambda one: one[1:4])
    words: Counter[str] = Counter()
    users: set[str] = set()
    numbers: list[int] = []
    results: list[tuple[str, dict[str, Any]]] = []
    for one in records:
        if program == "wordcount":
            for word in one.value.split("\t")[1].split():
                words[word] += 1
                results.append((word, {"word": word, "n": words[word]}))
        elif program == "distinctcount" and (user := one.value.split("\t")[0]) not in users:
            users.add(user)
            results.append(("distinct", {"n": len(users)}))
        elif program == "statistics":
            numbers.append(int(one.value.split(" ")[4]))
            n, total = len(numbers), sum(numbers)
            values = {"n": n, "min": min(numbers), "max": max(numbers), "sum": total, "mean": total / n}
            results.append(("statistics", values))
    return results


@pytest.mark.parametrize(
    ("program", "field", "contributing", "last"),
    # The last result is that of record 5 (its last word, its user), or of packet 3.
    [
        ("wordcount", 1, {0, 1, 2, 3, 5}, 5),
        pytest.param("distinctcount", 0, {0, 1, 3, 5}, 5, marks=pytest.mark.full),
        pytest.param("statistics", 4, {0, 1, 2, 3}, 3, marks=pytest.mark.full),
    ],
)
def test_running_results_are_judged(spark: Any, program: str, field: int, contributing: set[int], last: int) -> None:
    workload: RunningWorkload = getattr(programs, program.capitalize())()
    records = inputs(spark, PACKETS if program == "statistics" else SEARCHES)

    def judged(results: Sequence[tuple[str, dict[str, Any]]]) -> list[Any]:
        rows = [(key, json.dumps(value), 0, place, T0_MS + 100 + place) for place, (key, value) in enumerate(results)]
        output = spark.createDataFrame(rows, _OUTPUT)
        return running.judge(records, output, workload, {"field": field}).collect()

    def fates(results: Sequence[tuple[str, dict[str, Any]]]) -> dict[int, int]:
        return {row["n_seq"]: row["fate"] for row in judged(results)}

    *others, (key, value) = running_results(program)
    matched = dict.fromkeys(contributing, tally.MATCHED)
    assert fates([*others, (key, value)]) == matched
    assert fates(others) == matched | {last: tally.MISSING}
    assert fates([*others, (key, value), (key, value | {"n": None})]) == matched | {last: tally.WRONG}
    assert fates([]) == dict.fromkeys(contributing, tally.MISSING)
    if program == "statistics":
        wrong = value | {"sum": value["sum"] - 1}
        assert fates([*others, (key, wrong)]) == matched | {last: tally.WRONG}
        # Both last results are unexpected: the fifth is the first that is not right.
        (row,) = (row for row in judged([*others, *others[:1], (key, wrong), (key, wrong)]) if row["n_seq"] == last)
        assert (row["last_wrong_ms"], row["intermediate"], row["outputs"]) == (T0_MS + 104, 2, 0)
    else:
        assert fates([*others, (key, value | {"n": value["n"] + 1})])[last] == tally.WRONG


def test_an_engine_that_takes_records_out_of_their_order_may_begin_with_another_one(spark: Any) -> None:
    """Its first result is that of the second packet: possible, but not the one of the first."""
    results = running_results("statistics")
    other = results[1][1]["sum"] - results[0][1]["sum"]
    assert other != results[0][1]["sum"]
    results[0] = ("statistics", {"n": 1, **dict.fromkeys(("min", "max", "sum", "mean"), other)})
    rows = [(key, json.dumps(value), 0, place, T0_MS + 100 + place) for place, (key, value) in enumerate(results)]
    output = spark.createDataFrame(rows, _OUTPUT)
    of_one_partition = [record._replace(partition=0, offset=record.at_ms) for record in PACKETS]

    def wrong(**order: bool) -> int:
        judged = running.judge(inputs(spark, of_one_partition), output, programs.Statistics(), {"field": 4}, **order)
        return sum(row["wrong_outputs"] for row in judged.collect())

    assert (wrong(), wrong(keeps_order=True), wrong(keeps_order=False)) == (1, 1, 0)


def test_contributions_have_the_timestamps_of_their_records(spark: Any) -> None:
    for workload in (programs.Wordcount(), programs.Distinctcount(), programs.Statistics()):
        columns = set(workload.contributions(inputs(spark, PACKETS), {"field": 1}).columns)
        assert {*workload.key, *INPUT_STAMPS} <= columns
