"""StreamBench's programs on all kinds of records: in batch mode, with the streaming operators."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from streamgauge.engines.spark import programs
from streamgauge.engines.spark.workloads import streambench

Result = tuple[str, str]
Run = Callable[..., list[Result]]

SEARCHES = (
    "u1\tred bicycle\t2006-03-01 07:17:12\t1\thttp://www.bike.example/",
    "u2\tred  red car \t2006-03-01 07:17:13\t\t",
    "u1\t\t2006-03-01 07:17:14\t\t",
    "U1\tflüsse.und seen\t2006-03-01 07:17:15\t10\thttp://www.example/%",
)


@pytest.fixture
def run(spark: Any, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Key and value of a program's results for records numbered from ``first`` on."""

    def results(name: str, values: Sequence[str], first: int = 0, **parameters: Any) -> list[Result]:
        rows = [(str(first + n).encode(), value.encode()) for n, value in enumerate(values)]
        records = spark.createDataFrame(rows, "key binary, value binary")
        monkeypatch.setattr(streambench, "read", lambda *_: records)
        job = {"parameters": parameters, "options": {"redistribute": False}}
        frame = programs.find(f"streambench/{name}")(spark, job)
        return [
            tuple(row) for row in frame.select(*(frame[name].cast("string") for name in ("key", "value"))).collect()
        ]

    return results


@pytest.mark.parametrize("name", ["identity", "sink"])
def test_records_pass_unchanged(run: Run, name: str) -> None:
    assert run(name, SEARCHES) == [(str(n), value) for n, value in enumerate(SEARCHES)]


@pytest.mark.parametrize(("first", "percent"), [(0, 10), (0, 99), (2**31 - 50, 50), (2**40, 1)])
def test_a_sample_is_chosen_by_the_number(run: Run, first: int, percent: int) -> None:
    numbers = range(first, first + 300)
    kept = [n for n in numbers if n % 2**31 * 2654435761 % 2**32 < percent * 2**32 // 100]
    assert [int(key) for key, _ in run("sample", ["x"] * 300, first, sample_percent=percent)] == kept
    assert kept


@pytest.mark.parametrize("field", range(5))
def test_a_projection_keeps_a_field_even_if_it_is_empty(run: Run, field: int) -> None:
    expected = [(str(n), value.split("\t")[field]) for n, value in enumerate(SEARCHES)]
    assert run("projection", SEARCHES, field=field) == expected


@pytest.mark.parametrize("pattern", ["red", "e.u", "ü", "%", "07:17:1"])
def test_grep_looks_for_plain_text(run: Run, pattern: str) -> None:
    expected = [(str(n), value) for n, value in enumerate(SEARCHES) if pattern in value]
    assert run("grep", SEARCHES, pattern=pattern) == expected
    assert expected


def test_words_are_separated_by_single_spaces_and_empty_ones_do_not_count(run: Run) -> None:
    results = [(key, json.loads(value)) for key, value in run("wordcount", SEARCHES, field=1)]
    counts = {"red": 3, "bicycle": 1, "car": 1, "flüsse.und": 1, "seen": 1}
    assert sorted(results) == sorted((word, {"word": word, "n": n}) for word, n in counts.items())


@pytest.mark.parametrize(("field", "n"), [(0, 3), (1, 4), (3, 3)])
def test_an_empty_value_is_distinct_from_others(run: Run, field: int, n: int) -> None:
    ((key, value),) = run("distinctcount", SEARCHES, field=field)
    assert (key, json.loads(value)) == ("distinct", {"n": n})


def test_statistics_are_exact(run: Run) -> None:
    """A double could not hold the sum."""
    numbers = (3, -5, 2**60 + 1, 2**60)
    packets = [" ".join(["0"] * 4 + [str(number)] + ["1"] * 12) for number in numbers]
    ((key, value),) = run("statistics", packets, field=4)
    assert (key, json.loads(value)) == (
        "statistics",
        {"n": 4, "min": -5, "max": 2**60 + 1, "sum": 2**61 - 1, "mean": pytest.approx((2**61 - 1) / 4)},
    )


@pytest.mark.parametrize("name", ["wordcount", "distinctcount", "statistics"])
def test_no_records_have_no_result(run: Run, name: str) -> None:
    """The first batch of a query that starts before its load is empty."""
    assert run(name, [], field=4) == []
