"""What the paper states in numbers: Tables I to V, and sentences of section VI. Its figures have no tables."""

from __future__ import annotations

from collections.abc import Mapping

from streamgauge.report.reproduction import CAPACITY
from streamgauge.studies.sustainable.experiments import SIZES
from streamgauge.study import Mark

STORM, SPARK, FLINK = "Storm 1.0.2", "Spark 2.0.1", "Flink 1.1.3"
_MILLION = 1_000_000


def _throughput(rates: Mapping[str, tuple[float, ...]]) -> tuple[Mark, ...]:
    """Of clusters with 2, 4 and 8 nodes, in millions of records per second."""
    return tuple(
        Mark(system, CAPACITY, round(rate * _MILLION), "records/s", "sustainable throughput", {"cluster": size})
        for system, of_system in rates.items()
        for size, rate in zip(SIZES, of_system, strict=True)
    )


TABLE_1 = _throughput({STORM: (0.4, 0.69, 0.99), SPARK: (0.38, 0.64, 0.91), FLINK: (1.2, 1.2, 1.2)})
TABLE_3 = _throughput({SPARK: (0.36, 0.63, 0.94), FLINK: (0.85, 1.12, 1.19)})

STATISTICS = {"mean": "avg", "min": "min", "max": "max", "p90": "p90", "p95": "p95", "p99": "p99"}
"""What the tables of latency show, by its key and by its name."""
_Row = tuple[float, float, float, float, float, float]
_Rows = Mapping[tuple[str, str], tuple[_Row, _Row, _Row]]
"""By system and load; a row for each size of the cluster, in seconds."""


def _latencies(rows: _Rows) -> tuple[Mark, ...]:
    return tuple(
        Mark(system, f"latency.{key}", value, "s", f"{name} latency", {"load": load, "cluster": size})
        for (system, load), sizes in rows.items()
        for size, values in zip(SIZES, sizes, strict=True)
        for (key, name), value in zip(STATISTICS.items(), values, strict=True)
    )


TABLE_2 = _latencies(
    {
        (STORM, "100 %"): (
            (1.4, 0.07, 5.7, 2.3, 2.7, 3.4),
            (2.1, 0.1, 12.2, 3.7, 5.8, 7.7),
            (2.2, 0.2, 17.7, 3.8, 6.4, 9.2),
        ),
        (STORM, "90 %"): (
            (1.1, 0.08, 5.7, 1.8, 2.1, 2.8),
            (1.6, 0.04, 9.2, 2.9, 4.1, 6.3),
            (1.9, 0.2, 11, 3.3, 5, 7.6),
        ),
        (SPARK, "100 %"): (
            (3.6, 2.5, 8.5, 4.6, 4.9, 5.9),
            (3.3, 1.9, 6.9, 4.1, 4.3, 4.9),
            (3.1, 1.2, 6.9, 3.8, 4.1, 4.7),
        ),
        (SPARK, "90 %"): (
            (3.4, 2.3, 8, 3.9, 4.5, 5.4),
            (2.8, 1.6, 6.9, 3.4, 3.7, 4.8),
            (2.7, 1.7, 5.9, 3.6, 3.9, 4.8),
        ),
        (FLINK, "100 %"): (
            (0.5, 0.004, 12.3, 1.4, 2.2, 5.2),
            (0.2, 0.004, 5.1, 0.6, 1.2, 2.4),
            (0.2, 0.004, 5.4, 0.6, 1.2, 3.9),
        ),
        (FLINK, "90 %"): (
            (0.3, 0.003, 5.8, 0.7, 1.1, 2),
            (0.2, 0.004, 5.1, 0.6, 1.3, 2.4),
            (0.2, 0.002, 5.4, 0.5, 0.8, 3.4),
        ),
    }
)

TABLE_4 = _latencies(
    {
        (SPARK, "100 %"): (
            (7.7, 1.3, 21.6, 11.2, 12.4, 14.7),
            (6.7, 2.1, 23.6, 10.2, 11.7, 15.4),
            (6.2, 1.8, 19.9, 9.4, 10.4, 13.2),
        ),
        (SPARK, "90 %"): (
            (7.1, 2.1, 17.9, 10.3, 11.1, 12.7),
            (5.8, 1.8, 13.9, 8.7, 9.5, 10.7),
            (5.7, 1.7, 14.1, 8.6, 9.4, 10.6),
        ),
        (FLINK, "100 %"): (
            (4.3, 0.01, 18.2, 7.6, 8.5, 10.5),
            (3.6, 0.02, 13.8, 6.7, 7.5, 8.6),
            (3.2, 0.02, 14.9, 6.2, 7, 8.4),
        ),
        (FLINK, "90 %"): (
            (3.8, 0.02, 13, 6.7, 7.5, 8.7),
            (3.2, 0.02, 12.7, 6.1, 6.9, 8),
            (3.2, 0.02, 14.9, 6.2, 6.9, 8.3),
        ),
    }
)

# Experiment 2, in the text.
NAIVE_JOIN = (
    Mark(STORM, CAPACITY, 140_000, "records/s", "sustainable throughput of a naïve join", {"cluster": "1×"}),
    Mark(STORM, "latency.mean", 2.3, "s", "avg latency of a naïve join", {"cluster": "1×"}),
)

# Experiment 3: windows of 60 s against those of 8 s every 4 s, with batches of 4 s.
LARGE_WINDOWS = (
    Mark(SPARK, "ratio.throughput", 0.5, "×", "throughput with large windows against small ones, recomputed"),
    Mark(SPARK, "ratio.latency", 10, "×", "avg latency with large windows against small ones, recomputed"),
)

# Experiment 4. Flink and Storm do not scale with one key; Spark's number is that of 4 nodes.
SKEW = (
    Mark(SPARK, CAPACITY, 530_000, "records/s", "sustainable throughput with one key", {"cluster": "2×"}),
    Mark(FLINK, CAPACITY, 480_000, "records/s", "sustainable throughput with one key, any cluster"),
    Mark(STORM, CAPACITY, 200_000, "records/s", "sustainable throughput with one key, any cluster"),
)

# Resource usage statistics.
NODES = tuple(Mark(system, "cpu.ratio", 1.5, "×", "CPU cycles against Flink's, about") for system in (STORM, SPARK))

# Experiment 5.
FLUCTUATING = (
    *(Mark(system, "rate.high", 840_000, "records/s", "load, high") for system in (STORM, SPARK, FLINK)),
    *(Mark(system, "rate.low", 280_000, "records/s", "load, low") for system in (STORM, SPARK, FLINK)),
)

# Table V. Storm has no stars for the fluctuating join.
STARS: Mapping[str, Mapping[str, int]] = {
    "skew": {STORM: 1, SPARK: 3, FLINK: 2},
    "fluctuating-aggregation": {STORM: 1, SPARK: 3, FLINK: 3},
    "fluctuating-join": {SPARK: 2, FLINK: 3},
    "average-latency": {STORM: 2, SPARK: 2, FLINK: 3},
    "bounded-latency": {STORM: 1, SPARK: 3, FLINK: 2},
    "large-windows": {STORM: 2, SPARK: 2, FLINK: 3},
    "throughput": {STORM: 2, SPARK: 2, FLINK: 3},
}
TABLE_5 = tuple(
    Mark(system, f"stars.{criterion}", stars, "", criterion)
    for criterion, of_systems in STARS.items()
    for system, stars in of_systems.items()
)
