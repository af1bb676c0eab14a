"""When the windows of a script's query were out, worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from streamgauge.evaluate import queries
from streamgauge.evaluate.facts import Moments
from streamgauge.evaluate.tally import Bools, Ints
from streamgauge.model.outcome import ScriptQuery
from streamgauge.model.samples import CommitSample

REVENUE = ScriptQuery(
    name="revenue", sink="parquet", output_mode="append", windows=[["10 seconds"] * 2 + ["0 seconds"]]
)
UNTIMED = {"offset": [0, 1], "appended_ms": [1_000_500, 1_000_600], "event_ms": [queries.NEVER] * 2}
PAYMENTS = {"offset": [0, 1, 2], "appended_ms": [1_001_000, 1_009_000, 1_012_000], "event_ms": [1_000, 9_000, 12_000]}


class Inputs(queries._Inputs):
    """Records that were all due in the measured interval."""

    def __init__(self, streams: Mapping[str, Mapping[str, list[int]]]) -> None:
        self.by_place = {
            (name, 0): {column: np.array(values, np.int64) for column, values in table.items()}
            for name, table in streams.items()
        }

    def measured(self, table: Mapping[str, Ints]) -> Bools:
        return np.ones(len(table["offset"]), bool)


def commit(batch: int, committed_ms: int, watermark_ms: int, *topics: str) -> CommitSample:
    return CommitSample(
        t_ns=committed_ms * 1_000_000,
        query="revenue",
        batch=batch,
        committed_ms=committed_ms,
        watermark_ms=watermark_ms,
        ends={topic: {"0": 3} for topic in topics},
    )


@pytest.mark.parametrize("topics", [("payments",), ("payments", "customers")])
def test_a_stream_without_event_times_has_no_windows(topics: tuple[str, ...]) -> None:
    inputs = Inputs({"payments": PAYMENTS, "customers": UNTIMED})
    commits = [commit(0, 1_002_000, 0, *topics), commit(1, 1_015_000, 10_000, *topics)]
    windows = queries._windows(REVENUE, commits, inputs)
    # The window up to 10 s got its last record at 1,009,000; the watermark never reached the end of the one up to 20 s.
    assert windows is not None and windows.tolist() == [6_000]


def test_without_event_times_and_far_from_arrival_nothing_is_known() -> None:
    commits = [commit(0, 1_015_000_000, 10_000, "customers")]
    assert queries._windows(REVENUE, commits, Inputs({"customers": UNTIMED})) is None


def test_a_query_that_never_committed_a_record_has_no_figures() -> None:
    moments = SimpleNamespace(load_start_ms=0, seconds=3)
    commits = [commit(0, 1_002_000, 0, "payments")]
    empty = {"payments": {name: [] for name in PAYMENTS}}
    measured = queries._measure(REVENUE, commits, Inputs(empty), cast(Moments, moments))
    assert (measured.records, measured.not_committed, measured.medians_ms) == (0, 0, [None, None, None])
