"""The latencies of each second in buckets."""

from __future__ import annotations

from itertools import pairwise

from tallies import row, tally

from streamgauge.evaluate.metrics import heatmap


def test_each_result_counts_in_its_second_and_bucket() -> None:
    rows = [
        *(row(second=0, total=total, latest=1) for total in (5, 5, 100, -3)),
        row(second=2, total=1_000, latest=1),
        row(second=2, total=7, fate="lost"),
        row(second=9, total=7),
    ]
    columns = heatmap.per_second(tally(*rows), "total", 3)
    assert list(zip(*(columns[name].tolist() for name in ("second", "from_ms", "count")), strict=True)) == [
        *((0, 0, 1), (0, 5, 2), (0, 100, 1), (2, 1_000, 1)),
    ]
    assert heatmap.per_second(tally(*rows), "latest", 3)["from_ms"].tolist() == [1, 1]
    assert heatmap.per_second(tally(*rows), "total", 0)["second"].tolist() == []


def test_buckets_are_whole_milliseconds_and_grow_with_the_latency() -> None:
    edges = heatmap.EDGES_MS.tolist()
    assert edges[:6] == [0, 1, 2, 3, 4, 5]
    assert all(high == low + 1 or 1.1 < high / low < 1.35 for low, high in pairwise(edges))
    assert edges[-1] > 24 * 3600 * 1000
