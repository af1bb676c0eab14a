"""Purchases and ads in sliding windows: the correct answers, computed by hand, and what is accepted."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest

from streamgauge.evaluate import match, tally
from streamgauge.model import NS_PER_MS
from streamgauge.workloads.games.windows import Aggregation, Join

T0_MS = 1_767_225_600_000
"""All times below are milliseconds after this."""
PARAMETERS = {"window_s": 8, "slide_s": 4}
_INPUT = (
    "key binary, value binary, partition int, offset bigint, appended_ms bigint, n_seq bigint, event_ms bigint, "
    "intended_ns bigint, partition_bit bigint"
)
_OUTPUT = "key binary, value binary, partition int, offset bigint, appended_ms bigint"

# Event time, user, gem pack, price. Windows end at 4000, 8000, 12000 … and are 8 s long.
PURCHASES = (
    (0, 1, 7, 10),
    (3999, 2, 7, 5),
    (4000, 1, 7, 1),  # no longer in the window that ends at 4000
    (7000, 3, 8, 50),
    (8500, 1, 7, 2),
)
REVENUE = {
    # gem pack, end of the window: revenue, inputs, of them new, latest event time
    (7, 4000): (15, 2, 2, 3999),
    (7, 8000): (16, 3, 1, 4000),
    (7, 12_000): (3, 2, 1, 8500),
    (7, 16_000): (2, 1, 0, 8500),
    (8, 8000): (50, 1, 1, 7000),
    (8, 12_000): (50, 1, 0, 7000),
}
ADS = (
    (100, 1, 7),
    (3000, 1, 7),
    (8400, 3, 8),
    (9000, 2, 8),  # its user bought another gem pack
)
PAIRS = {
    # end of the window, numbers of purchase and ad: records of the window that are in no earlier one (with one of its
    # pairs), latest event time of the window
    (4000, 0, 1): (4, 3999),
    (4000, 0, 3): (0, 3999),
    (8000, 0, 1): (2, 7000),
    (8000, 0, 3): (0, 7000),
    (8000, 4, 1): (0, 7000),
    (8000, 4, 3): (0, 7000),
    (12_000, 6, 5): (3, 9000),
}
IN_WINDOW = {4000: 4, 8000: 6, 12_000: 5}
"""How many records each of these windows has."""


def rows(events: tuple[tuple[int, ...], ...], first: int, step: int) -> list[tuple[Any, ...]]:
    """Records with the numbers ``first``, ``first + step`` …; sent at their event time, appended 20 ms later."""
    built = []
    for place, (event_ms, *fields) in enumerate(events):
        n_seq = first + place * step
        value = struct.pack(f"<qq{len(fields)}i", n_seq, T0_MS + event_ms, *fields)
        times = (T0_MS + event_ms + 20, n_seq, T0_MS + event_ms, (T0_MS + event_ms) * NS_PER_MS)
        built.append((struct.pack("<q", n_seq), value, place % 2, place // 2, *times, 1 << place % 2))
    return built


def inputs(spark: Any, *, step: int, handed_after_ms: int | None = None) -> dict[str, Any]:
    """From queues, if they were handed over so long after they had been appended."""
    streams = {"purchases": rows(PURCHASES, 0, step), "ads": rows(ADS, 1, step)}
    frames = {name: spark.createDataFrame(content, _INPUT) for name, content in streams.items()}
    if handed_after_ms is None:
        return frames
    return {
        name: frame.withColumn("ingested_ms", frame.appended_ms + handed_after_ms) for name, frame in frames.items()
    }


def results(spark: Any, workload: Aggregation | Join, values: list[dict[str, int]]) -> Any:
    published = [(b"key", json.dumps(value).encode(), 0, place, T0_MS + 20_000) for place, value in enumerate(values)]
    decoded = workload.decode(spark.createDataFrame(published, _OUTPUT), PARAMETERS)
    return decoded.withColumnRenamed("appended_ms", "emitted_ms")


def fates(spark: Any, workload: Aggregation | Join, values: list[dict[str, int]], *, step: int) -> dict[Any, int]:
    answer = workload.reference(inputs(spark, step=step), PARAMETERS)
    judged = match.judge(match.compare(answer, results(spark, workload, values), workload.key)).collect()
    return {tuple(row[name] for name in workload.key): row["fate"] for row in judged}


def revenues() -> list[dict[str, int]]:
    return [
        {"gem_pack": pack, "window_end_ms": T0_MS + end_ms, "revenue": revenue}
        for (pack, end_ms), (revenue, *_) in REVENUE.items()
    ]


def pairs() -> list[dict[str, int]]:
    bought = {2 * place: fields for place, fields in enumerate(PURCHASES)}
    return [
        {
            "window_end_ms": T0_MS + end_ms,
            "purchase": purchase,
            "ad": ad,
            "user": bought[purchase][1],
            "gem_pack": bought[purchase][2],
            "price": bought[purchase][3],
        }
        for end_ms, purchase, ad in PAIRS
    ]


def test_the_revenue_of_each_window(spark: Any) -> None:
    found = Aggregation().reference(inputs(spark, step=1), PARAMETERS).collect()
    assert {
        (row["gem_pack"], row["window_end_ms"] - T0_MS): (
            row["revenue"],
            row["inputs"],
            row["new_inputs"],
            row["intended_max_ns"] // NS_PER_MS - T0_MS,
        )
        for row in found
    } == REVENUE
    assert all(row["appended_max_ms"] * NS_PER_MS == row["intended_max_ns"] + 20 * NS_PER_MS for row in found)
    assert sum(row["new_inputs"] for row in found) == len(PURCHASES)
    assert {row["partitions"] for row in found} <= {1, 2, 3}


def test_the_pairs_of_each_window_and_their_time_is_that_of_the_window(spark: Any) -> None:
    found = Join().reference(inputs(spark, step=2), PARAMETERS).collect()
    assert {
        (row["window_end_ms"] - T0_MS, row["purchase"], row["ad"]): (
            row["new_inputs"],
            row["intended_max_ns"] // NS_PER_MS - T0_MS,
        )
        for row in found
    } == PAIRS
    assert {row["window_end_ms"] - T0_MS: row["inputs"] for row in found} == IN_WINDOW
    assert sum(row["new_inputs"] for row in found) == len(PURCHASES) + len(ADS)


def test_processing_time_counts_from_the_last_record_that_was_handed_over(spark: Any) -> None:
    """Of a pair: the last of its whole window."""
    from pyspark.sql import functions as f

    queues = inputs(spark, step=1, handed_after_ms=700)
    revenue = Aggregation().reference(queues, PARAMETERS).collect()
    assert all(row["ingested_max_ms"] == row["appended_max_ms"] + 700 for row in revenue)
    found = {
        (row["window_end_ms"] - T0_MS, row["purchase"], row["ad"]): row["ingested_max_ms"] - T0_MS
        for row in Join().reference(inputs(spark, step=2, handed_after_ms=700), PARAMETERS).collect()
    }
    assert found == {pair: last_ms + 720 for pair, (_, last_ms) in PAIRS.items()}
    # Unknown as long as one of the records was not handed over.
    unread = {
        name: frame.withColumn("ingested_ms", f.when(frame.n_seq != 0, frame.ingested_ms))
        for name, frame in queues.items()
    }
    unknown = [
        (row["gem_pack"], row["window_end_ms"] - T0_MS)
        for row in Aggregation().reference(unread, PARAMETERS).collect()
        if row["ingested_max_ms"] is None
    ]
    assert sorted(unknown) == [(7, 4000), (7, 8000)]
    # All results were published at 20,000.
    answer = Aggregation().reference(queues, PARAMETERS)
    judged = match.judge(match.compare(answer, results(spark, Aggregation(), revenues()), Aggregation.key)).collect()
    latencies = {
        (row["gem_pack"], row["window_end_ms"] - T0_MS): row["answered_ms"] - row["ingested_max_ms"] for row in judged
    }
    assert latencies == {key: 20_000 - last_ms - 720 for key, (_, _, _, last_ms) in REVENUE.items()}


def test_right_results_are_accepted(spark: Any) -> None:
    assert set(fates(spark, Aggregation(), revenues(), step=1).values()) == {tally.MATCHED}
    assert set(fates(spark, Join(), pairs(), step=2).values()) == {tally.MATCHED}


@pytest.mark.parametrize(("name", "fate"), [("revenue", tally.WRONG), ("window_end_ms", tally.MISSING)])
def test_a_revenue_that_is_off_by_one_or_in_another_window(spark: Any, name: str, fate: int) -> None:
    values = revenues()
    values[0][name] += 1
    assert fates(spark, Aggregation(), values, step=1)[7, T0_MS + 4000] == fate


@pytest.mark.parametrize(("name", "fate"), [("price", tally.WRONG), ("user", tally.WRONG), ("ad", tally.MISSING)])
def test_a_pair_with_another_price_user_or_ad(spark: Any, name: str, fate: int) -> None:
    values = pairs()
    values[-1][name] += 1
    assert fates(spark, Join(), values, step=2)[T0_MS + 12_000, 6, 5] == fate
