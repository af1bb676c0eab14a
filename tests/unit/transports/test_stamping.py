"""When each record of a queue was handed over, by ranges of offsets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from streamgauge.transports.queue.stamping import stamp


def batch(offsets: list[int]) -> pa.RecordBatch:
    values = pa.array([bytes([offset]) for offset in offsets], pa.binary(1))
    stamps = pa.array([1000 + offset for offset in offsets], pa.int64())
    return pa.RecordBatch.from_arrays(
        [values, pa.array(offsets, pa.int64()), stamps], ["value", "offset", "appended_ms"]
    )


def test_records_have_the_moment_of_their_range() -> None:
    ranges = [np.array(values, np.int64) for values in ([0, 3, 4], [3, 1, 2], [5_999_999, 7_000_000, 9_500_000])]
    first, second = stamp(*ranges)(iter([batch([0, 2, 3]), batch([5, 4, 6, 7])]))
    assert first["ingested_ms"].to_pylist() == [5, 5, 7]
    assert second["ingested_ms"].to_pylist() == [9, 9, None, None], "the last two were never handed over"
    assert second["value"].to_pylist() == [b"\x05", b"\x04", b"\x06", b"\x07"]
    assert (second["key"].to_pylist(), second["appended_ms"].to_pylist()) == ([None] * 4, [1005, 1004, 1006, 1007])


def test_nothing_was_handed_over() -> None:
    none = np.zeros(0, np.int64)
    (only,) = stamp(none, none, none)(iter([batch([0, 1])]))
    assert only["ingested_ms"].to_pylist() == [None, None]
