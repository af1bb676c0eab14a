"""Adds to each record of a queue when it was handed over: a join by ranges of offsets, without a shuffle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    Ints = npt.NDArray[np.int64]
    Batches = Iterator[pa.RecordBatch]

SCHEMA = "key binary, value binary, offset bigint, appended_ms bigint, ingested_ms bigint"


def stamp(first: Ints, count: Ints, handed_ns: Ints) -> Callable[[Batches], Batches]:
    """For ``mapInArrow`` of value, offset and append time. The ranges are in the order in which they were handed over.

    The function is pickled as it is: Spark's workers need numpy and pyarrow, not this package.
    """
    # Each range begins where the one before ended, because a record counts when it is handed over first.
    ends, moments_ms = first + count, handed_ns // 1_000_000

    def stamped(batches: Batches) -> Batches:
        import numpy as np
        import pyarrow as pa

        for batch in batches:
            value, offset, appended_ms = batch.columns
            place = np.searchsorted(ends, offset.to_numpy(), side="right")
            known = place < len(ends)
            ingested_ms = np.zeros(batch.num_rows, np.int64)
            ingested_ms[known] = moments_ms[place[known]]
            columns = [
                pa.nulls(batch.num_rows, pa.binary()),
                value.cast(pa.binary()),
                offset,
                appended_ms,
                pa.array(ingested_ms, mask=~known),
            ]
            yield pa.RecordBatch.from_arrays(columns, ["key", "value", "offset", "appended_ms", "ingested_ms"])

    return stamped
