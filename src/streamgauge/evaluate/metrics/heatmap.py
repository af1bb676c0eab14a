"""How the latencies of each second are spread: counts in buckets that grow with the latency."""

from __future__ import annotations

import numpy as np

from streamgauge.evaluate.tally import MATCHED, Ints, Tally

PER_DECADE = 16
EDGES_MS = np.unique(np.concatenate([[0], np.round(10 ** (np.arange(8 * PER_DECADE + 1) / PER_DECADE))])).astype(
    np.int64
)
"""Whole milliseconds, as stamps are: 0, 1, 2, …, then about 15 % apart."""


def per_second(tally: Tally, kind: str, seconds: int) -> dict[str, Ints]:
    """The columns ``second``, ``from_ms``, ``to_ms`` and ``count``: right results by the second of their anchor.

    Only buckets that hold some, by second and latency. A latency below zero counts in the first bucket.
    """
    values = tally.latest_ms if kind == "latest" else tally.total_ms
    chosen = (tally.fate == MATCHED) & (tally.second >= 0) & (tally.second < seconds)
    last = len(EDGES_MS) - 2
    bucket = np.clip(np.searchsorted(EDGES_MS, values[chosen], side="right") - 1, 0, last)
    places, where = np.unique(tally.second[chosen] * (last + 1) + bucket, return_inverse=True)
    counts = np.zeros(len(places), np.int64)
    np.add.at(counts, where, tally.rows[chosen])
    second, bucket = np.divmod(places, last + 1)
    return {"second": second, "from_ms": EDGES_MS[bucket], "to_ms": EDGES_MS[bucket + 1], "count": counts}
