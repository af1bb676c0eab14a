"""Event-time windows with late records: the correct answer, computed by hand, and what is accepted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from streamgauge.evaluate import match, tally
from streamgauge.model import NS_PER_MS
from streamgauge.workloads.clicks.windows import Windowed

T0_MS = 1_767_225_600_000
"""All times below are milliseconds after this."""
_INPUT = (
    "key string, value string, partition int, offset bigint, appended_ms bigint, n_seq bigint, event_ms bigint, "
    "intended_ns bigint, partition_bit bigint"
)
_OUTPUT = "key string, value string, partition int, offset bigint, appended_ms bigint"

# Partition, event time, page. With a bound of 500 ms, the window that ends at 1000 is closed from 1500 on.
CLICKS = (
    (0, 100, "a"),
    (0, 900, "a"),
    (0, 1499, "a"),
    (0, 950, "a"),  # out of order: the newest before is 1499
    (0, 1500, "b"),
    (0, 999, "a"),  # late: the newest before is 1500
    (0, 1000, "a"),  # not late: in the window that ends at 2000
    (1, 3000, "c"),
    (1, 1200, "c"),  # late, and alone in its window
    (0, 2000, "a"),  # the newest of the other partition does not count
)
WINDOWS = {
    ("a", 1000): (3, 4, False),
    ("a", 2000): (2, 2, False),
    ("b", 2000): (1, 1, False),
    ("c", 4000): (1, 1, False),
    ("c", 2000): (0, 1, True),
    ("a", 3000): (1, 1, False),
}
"""Minimum, maximum, and whether the result is optional."""


def answer(spark: Any) -> Any:
    offsets = {0: 0, 1: 0}
    rows = []
    for n, (partition, event_ms, page) in enumerate(CLICKS):
        value = f"{n}\t{T0_MS + event_ms}\t{page}"
        appended_ms = T0_MS + 10 * n
        stamps = (partition, offsets[partition], appended_ms, n, T0_MS + event_ms, appended_ms * NS_PER_MS)
        rows.append((page, value, *stamps, 1 << partition))
        offsets[partition] += 1
    return Windowed().reference({"clicks": spark.createDataFrame(rows, _INPUT)}, {"out_of_order_ms": 500})


def test_the_correct_answer(spark: Any) -> None:
    rows = {(row["page"], row["window_end_ms"] - T0_MS): row for row in answer(spark).collect()}
    assert {key: (row["n_low"], row["n_high"], row["optional"]) for key, row in rows.items()} == WINDOWS
    first = rows["a", 1000]
    # The late record is not an input.
    assert (first["inputs"], first["appended_max_ms"] - T0_MS, first["appended_mean_ms"] - T0_MS) == (
        3,
        30,
        pytest.approx(40 / 3, abs=0.01),
    )
    assert rows["c", 2000]["inputs"] == 1


@pytest.mark.parametrize(
    ("changes", "wrong", "missing"),
    [
        ({}, set(), set()),
        ({("a", 1000): 4, ("c", 2000): 1}, set(), set()),  # late records were counted
        ({("a", 1000): 2}, {("a", 1000)}, set()),
        ({("a", 1000): 5}, {("a", 1000)}, set()),
        ({("c", 2000): 2}, {("c", 2000)}, set()),
        ({("b", 2000): None}, set(), {("b", 2000)}),
    ],
)
def test_what_is_accepted(spark: Any, changes: dict[Any, int | None], wrong: set[Any], missing: set[Any]) -> None:
    counts: dict[Any, int | None] = {key: low for key, (low, _, optional) in WINDOWS.items() if not optional} | changes
    outputs = [
        (page, json.dumps({"page": page, "window_end_ms": T0_MS + end_ms, "n": n}), 0, place, T0_MS + 5000)
        for place, ((page, end_ms), n) in enumerate(counts.items())
        if n is not None
    ]
    workload = Windowed()
    results = workload.decode(spark.createDataFrame(outputs, _OUTPUT), {}).withColumnRenamed(
        "appended_ms", "emitted_ms"
    )
    judged = match.judge(match.compare(answer(spark), results, workload.key)).collect()
    fates = {(row["page"], row["window_end_ms"] - T0_MS): row["fate"] for row in judged}
    assert {key for key, fate in fates.items() if fate == tally.WRONG} == wrong
    assert {key for key, fate in fates.items() if fate == tally.MISSING} == missing
    assert sum(row["outputs"] for row in judged) == len(outputs)
