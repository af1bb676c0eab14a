"""Ratings and the cost of a broker in the study sustainable, worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from synthetic_sustainable import cells, panels, pending, run, search

from streamgauge.studies.sustainable.stars import stars

THREE, TWO, ONE = "★★★", "★★", "★"
SEARCHES = [f"{program}-{size}x" for program in ("aggregation", "join") for size in (1, 2, 4)]
MAXIMUM = [f"{program}-latency-{size}x-100" for program in ("aggregation", "join") for size in (1, 2, 4)]


def latency(**total: float | None) -> dict[str, Any]:
    return {"latency_ms": {"total": {"count": 1001, **total}}}


@pytest.mark.parametrize(
    ("value", "others", "more_is_better", "expected"),
    [
        (100, [100, 300], False, 3),
        (110, [100], False, 3),
        (111, [100], False, 2),
        (300, [100], False, 2),
        (301, [100], False, 1),
        (300, [100], True, 3),
        (100, [110], True, 3),
        (100, [111], True, 2),
        (100, [300], True, 2),
        (100, [301], True, 1),
        (0, [100], True, 1),
        (0, [100], False, 3),
        (5, [0], False, 1),
        (0, [0], False, 3),
    ],
)
def test_stars_follow_from_the_ratio_to_the_best(
    value: float, others: list[float], more_is_better: bool, expected: int
) -> None:
    assert stars(value, [value, *others], more_is_better) == expected


def rated(out: Path, engine: str, changes: Mapping[str, Sequence[float | None]] | None = None) -> list[dict[str, Any]]:
    """All that is rated. ``changes``: rates of searches; p99 of a fluctuating and a constant load; mean and highest.

    None is what was not sustained.
    """
    values: dict[str, Sequence[float | None]] = {
        "searches": [1000] * 6,
        "skew": [1000],
        "large-windows": [1000, 1000],
        "aggregation": [100, 100],
        "join": [100, 100],
        "mean": [100] * 6,
        "max": [200] * 6,
        **(changes or {}),
    }
    rows = [search(out, name, engine, best) for name, best in zip(SEARCHES, values["searches"], strict=True)]
    rows += [search(out, "skew-4x", engine, values["skew"][0])]
    for evaluation, best in zip(("incremental", "recomputed"), values["large-windows"], strict=True):
        rows.append(search(out, f"large-windows-{evaluation}", engine, best))
    for program in ("aggregation", "join"):
        for name, p99 in zip((f"fluctuating-{program}", f"{program}-latency-1x-90"), values[program], strict=True):
            rows.append(measured(out, name, engine, p99=p99))
    for name, mean, highest in zip(MAXIMUM, values["mean"], values["max"], strict=True):
        rows.append(measured(out, name, engine, mean=mean, max=highest))
    return rows


def measured(out: Path, name: str, engine: str, **total: float | None) -> dict[str, Any]:
    if None in total.values():
        gave_out = {"latency_ms": {}, "sustained": False, "state": "overloaded", "state_reason": "a queue was full"}
        return run(out, name, engine, latencies={}, **gave_out)
    return run(out, name, engine, **latency(**total))


def ratings(out: Path, rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """The cells of each criterion."""
    table = cells(panels(out, "Table V", rows), "Stars; more are better")
    return {name: row for (name, _), *row in table}


def test_every_criterion_compares_the_engines(tmp_path: Path) -> None:
    spark = {
        "searches": [100, 200, 300, 50, 100, 150],
        "large-windows": [500, 900],
        "aggregation": [400, 200],
        "join": [100, 200],
        "mean": [100, 200, 300, 100, 200, 300],
        "max": [200, 400, 600, 200, 400, 600],
    }
    flink = {
        "searches": [600] * 6,
        "skew": [950],
        "join": [350, 100],
        "mean": [210] * 6,
        "max": [840, 1260, 1680, 840, 1260, 1680],
    }
    found = ratings(tmp_path, [*rated(tmp_path, "spark", spark), *rated(tmp_path, "flink", flink)])
    assert {name: row[:2] for name, row in found.items()} == {
        "Data skew": [[THREE, "1,000 records/s"], [THREE, "950 records/s"]],
        "Fluctuating aggregation": [[TWO, "2 ×"], [THREE, "1 ×"]],
        "Fluctuating join": [[THREE, "1 ×"], [ONE, "3.50 ×"]],
        "Average latency": [[THREE, "200 ms"], [THREE, "210 ms"]],
        "Bounded latency": [[THREE, "2 ×"], [TWO, "6 ×"]],
        "Large windows": [[TWO, "900 records/s"], [THREE, "1,000 records/s"]],
        "Throughput": [[ONE, "150 records/s"], [THREE, "600 records/s"]],
    }
    assert found["Data skew"][2:] == [ONE, THREE, TWO], "Storm, Spark and Flink in the paper"
    assert found["Fluctuating join"][2:] == ["–", TWO, THREE]


def test_a_single_engine_has_values_and_no_stars(tmp_path: Path) -> None:
    found = ratings(tmp_path, rated(tmp_path, "spark"))
    assert {row[0][0] for row in found.values()} == {"no stars"}
    assert found["Throughput"] == [["no stars", "1,000 records/s"], TWO, TWO, THREE]


def test_an_engine_that_gave_out_has_one_star(tmp_path: Path) -> None:
    gone = {
        "searches": [1000] * 5 + [None],
        "skew": [None],
        "join": [None, 100],
        "mean": [100] * 5 + [None],
    }
    rows = [*rated(tmp_path, "spark"), *rated(tmp_path, "flink", gone)]
    found = {name: row[:2] for name, row in ratings(tmp_path, rows).items()}
    assert found["Fluctuating join"] == [[THREE, "1 ×"], [ONE, "not sustained"]]
    assert found["Average latency"] == [[THREE, "100 ms"], [ONE, "not sustained"]]
    assert found["Bounded latency"] == [[THREE, "2 ×"], [ONE, "not sustained"]]
    assert found["Data skew"] == [[THREE, "1,000 records/s"], [ONE, "not sustained"]]
    assert found["Throughput"][1] == [TWO, "833 records/s"], "nothing on one of six clusters"


def test_a_bound_of_an_engine_is_marked(tmp_path: Path) -> None:
    rows = [search(tmp_path, "skew-4x", "spark", best=500, bound=True), search(tmp_path, "skew-4x", "flink", best=600)]
    assert ratings(tmp_path, rows)["Data skew"][:2] == [[TWO, "≥ 500 records/s"], [THREE, "600 records/s"]]


def test_what_must_not_be_used_is_not_rated(tmp_path: Path) -> None:
    bad = {"skew-4x", "large-windows-recomputed", "join-4x", "aggregation-latency-2x-100", "fluctuating-join"}
    rows = rated(tmp_path, "spark")
    for row in rated(tmp_path, "flink", {"large-windows": [700, 90_000]}):
        invalid = {"verdict": "INVALID", "attempts": [{**row["attempts"][0], "verdict": "INVALID"}]}
        rows.append(row | invalid if row["name"] in bad else row)
    found = {name: row[:2] for name, row in ratings(tmp_path, rows).items()}
    assert found["Data skew"] == [["no stars", "1,000 records/s"], "–"]
    assert found["Large windows"] == [[THREE, "1,000 records/s"], [TWO, "700 records/s"]], "the other of both ways"
    assert found["Throughput"] == [["no stars", "1,000 records/s"], "–"], "a mean over fewer clusters is another one"
    assert found["Average latency"][1] == found["Bounded latency"][1] == found["Fluctuating join"][1] == "–"
    assert found["Fluctuating aggregation"] == [[THREE, "1 ×"], [THREE, "1 ×"]]


def test_without_results_only_the_papers_stars_are_left(tmp_path: Path) -> None:
    found = ratings(tmp_path, [pending(name, engine) for name in SEARCHES for engine in ("spark", "flink")])
    assert found["Average latency"] == ["–", "–", TWO, TWO, THREE]


def both_transports(out: Path, bound: bool = False, **kafka: Any) -> list[dict[str, Any]]:
    """The aggregation on Spark, with queues and with Kafka."""
    queue = {"total": {"count": 99, "mean": 200.0, "p50": 100.0, "p99": 400.0}, "processing_time": {"p50": 90.0}}
    slower = latency(mean=300.0, p50=250.0, p99=480.0)
    return [
        run(out, "broker-aggregation-queue", rate=5000, latency_ms=queue),
        run(out, "broker-aggregation-kafka", rate=5000, **{**slower, **kafka}),
        search(out, "aggregation-1x", best=10_000),
        search(out, "broker-aggregation-capacity", best=8000, bound=bound),
    ]


def test_kafka_is_compared_with_queues_at_the_same_rate(tmp_path: Path) -> None:
    drawn = panels(tmp_path, "Broker", both_transports(tmp_path))
    assert cells(drawn, "Kafka against queues") == [
        ["aggregation", "spark", "queue", "5,000", "200", "100", "400", "90", "10,000", "VALID"],
        ["aggregation", "spark", "Kafka", "5,000", "300", "250", "480", "–", "8,000", "VALID"],
        ["aggregation", "spark", "Kafka against queue", "–", "1.50 ×", "2.50 ×", "1.20 ×", "–", "0.80 ×", ""],
    ]
    assert drawn[-1].finding == (
        "spark, aggregation, with Kafka instead of queues: 2.50 × the median latency at the same rate and "
        "0.80 × the sustainable throughput."
    )


def test_only_the_limits_of_an_engine_are_compared(tmp_path: Path) -> None:
    drawn = panels(tmp_path, "Broker", both_transports(tmp_path, bound=True))
    assert [row[8] for row in cells(drawn, "Kafka against queues")] == ["10,000", "≥ 8,000", "–"]


def test_the_join_has_no_search_with_kafka(tmp_path: Path) -> None:
    rows = [
        run(tmp_path, "broker-join-queue", "flink", **latency(p50=100.0)),
        run(tmp_path, "broker-join-kafka", "flink", **latency(p50=130.0)),
        search(tmp_path, "join-1x", "flink", best=7000),
    ]
    drawn = panels(tmp_path, "Broker", rows)
    assert [row[8] for row in cells(drawn, "Kafka against queues")] == ["7,000", "–", "–"]
    assert drawn[-1].finding.endswith("with Kafka instead of queues: 1.30 × the median latency at the same rate.")


def test_an_invalid_run_is_compared_with_nothing(tmp_path: Path) -> None:
    rows = both_transports(tmp_path, verdict="INVALID")
    banner, panel = panels(tmp_path, "Broker", rows)
    assert (banner.title, banner.verdict) == ("spark · aggregation · Kafka", "INVALID")
    *_, ratios = cells([panel], "Kafka against queues")
    assert ratios[4:7] == ["–", "–", "–"]
    assert panel.finding == "spark, aggregation, with Kafka instead of queues: 0.80 × the sustainable throughput."
    assert [row.muted for row in panel.tables[0].rows] == [False, True, False]


def test_one_transport_alone_has_no_ratio(tmp_path: Path) -> None:
    rows = [run(tmp_path, "broker-join-queue", **latency(p50=100.0)), pending("broker-join-kafka")]
    drawn = panels(tmp_path, "Broker", rows)
    assert cells(drawn, "Kafka against queues")[1] == ["join", "spark", "Kafka", *["–"] * 7]
    assert drawn[-1].finding == ""
