"""Reduces the counted outcome of a slice to what the figures of the whole run are made of, however long that is.

Latencies are kept as exact counts for each millisecond, by part of the measured interval (``merged``). What goes by
seconds is worked out for ``slice_s`` seconds at a time, one slice later, when nearly all results of their records are
there (``Windows``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.evaluate import tally as fates
from streamgauge.evaluate.metrics import heatmap, latency
from streamgauge.evaluate.tally import Ints, Tally
from streamgauge.model.slices import Window

if TYPE_CHECKING:
    import pyarrow as pa

_SUMMED = (
    "rows",
    "inputs",
    "new_inputs",
    "open_at_end",
    "outputs",
    "duplicates",
    "intermediate",
    "reverted",
    "wrong_before_fault",
    "repeated_keys",
    "appended_rest_ms",
    "answered_rest_ms",
)
_LARGEST = (
    "second",
    "appended_second",
    "answered_second",
    "in_burst",
    "appended_min_ms",
    "appended_max_ms",
    "answered_max_ms",
)
_SAME = ("phase", "fate", "part", "partitions", "total_ms", "latest_ms", "average_ms")
COLUMNS = (*_SAME, *_SUMMED, *_LARGEST)

KINDS = ("total", "latest")
FIGURES = ("p50", "p99", "max")


def as_counted(table: pa.Table) -> pa.Table:
    """The table of ``match.count`` with one type for each column, so that slices can be put together."""
    import pyarrow as pa

    kinds = {name: pa.float64() if name == "average_ms" else pa.int64() for name in COLUMNS}
    return pa.table({name: table.column(name).cast(kind) for name, kind in kinds.items()})


def merged(so_far: pa.Table | None, new: pa.Table) -> pa.Table:
    """Without seconds and, but for missing rows, without partitions: their number does not grow with the run.

    How far each set of partitions has come is kept in rows that stand for no result.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    is_missing = pc.equal(new.column("fate"), fates.MISSING)
    came_out = new.filter(pc.invert(is_missing))
    place = came_out.schema.get_field_index("partitions")
    plain = came_out.set_column(place, "partitions", pa.array(np.zeros(len(came_out), np.int64)))
    parts = [plain, _marks(came_out), new.filter(is_missing)]
    joined = pa.concat_tables([*([] if so_far is None else [so_far]), *parts])
    how = [*((name, "sum") for name in _SUMMED), *((name, "max") for name in _LARGEST)]
    grouped = joined.group_by(list(_SAME)).aggregate(how)
    names = {f"{name}_{function}": name for name, function in how}
    renamed = grouped.rename_columns([names.get(name, name) for name in grouped.column_names])
    return renamed.select(list(COLUMNS))


def _marks(came_out: pa.Table) -> pa.Table:
    """A row without results for each set of partitions: when the last input was appended that was answered."""
    import pyarrow as pa

    latest = came_out.group_by(["partitions"]).aggregate([("appended_min_ms", "max")])
    given = {"partitions": latest.column("partitions"), "appended_min_ms": latest.column("appended_min_ms_max")}
    fixed = {"phase": fates.WARMUP, "fate": fates.MATCHED, "second": -1, "answered_second": -1}
    return as_counted(
        pa.table(
            {name: given.get(name, pa.array(np.full(len(latest), fixed.get(name, 0), np.int64))) for name in COLUMNS}
        )
    )


def waiting(tally: Tally) -> dict[str, Ints]:
    """What the backlog of each second is made of (``lag.backlog_per_second``), for the seconds that have some."""
    counted = tally.fate != fates.LOST
    answered = counted & (tally.fate != fates.UNFINISHED)
    settled = np.maximum(tally.answered_second, tally.appended_second)
    seconds = int(max(settled.max(initial=0), tally.appended_second.max(initial=0))) + 1

    def summed(second: Ints, values: Ints, chosen: Any) -> Ints:
        sums = np.zeros(seconds, np.int64)
        np.add.at(sums, np.clip(second[chosen], 0, seconds - 1), values[chosen])
        return sums

    return {
        "arrived": summed(tally.appended_second, tally.new_inputs, counted),
        "arrived_rest_ms": summed(tally.appended_second, tally.appended_rest_ms, counted),
        "done": summed(settled, tally.new_inputs, answered),
        "done_rest_ms": summed(settled, tally.answered_rest_ms, answered),
    }


@dataclass(frozen=True)
class Windows:
    """The latencies of each second of closed windows, the spread of these, and the latencies of each window."""

    seconds: pa.Table
    heatmap: pa.Table
    figures: list[Window]

    @classmethod
    def of(cls, tally: Tally, first: int, end: int, length: int) -> Windows:
        """The seconds from ``first`` to below ``end``, in windows of ``length``."""
        import pyarrow as pa

        inside = (tally.second >= first) & (tally.second < end)
        shifted = _chosen(tally, inside, first)
        columns: dict[str, Any] = {"second": pa.array(range(first, end), pa.int64())}
        spread = []
        for kind in KINDS:
            by_second = latency.per_second(shifted, kind, end - first)
            medians = latency.medians_ms(shifted, kind, shifted.second, end - first)
            columns |= {f"{kind}_{name}": pa.array(by_second[name], pa.float64()) for name in FIGURES}
            columns[f"{kind}_median"] = pa.array(medians, pa.float64())
            buckets = heatmap.per_second(shifted, kind, end - first)
            shown = {name: pa.array(column) for name, column in buckets.items() if name != "second"}
            of_kind = {"kind": pa.array([kind] * len(buckets["second"]), pa.string())}
            spread.append(pa.table({**of_kind, "second": pa.array(buckets["second"] + first, pa.int64()), **shown}))
        figures = list(_windows(shifted, first, end, length))
        p99 = {window.second: window.p99_ms for window in figures}
        columns["total_p99_window"] = pa.array(
            [p99.get(first + (second - first) // length * length) for second in range(first, end)], pa.float64()
        )
        return cls(pa.table(columns), pa.concat_tables(spread), figures)


def _windows(tally: Tally, first: int, end: int, length: int) -> Iterator[Window]:
    places = -(-(end - first) // length)
    missing = np.isin(tally.fate, (fates.LOST, fates.UNFINISHED))
    matched = tally.fate == fates.MATCHED
    by_window = latency.at_each(tally, "total", matched, missing, tally.second // length, places)
    for place, distribution in enumerate(by_window):
        yield Window(
            second=first + place * length,
            count=distribution.count,
            p50_ms=distribution.percentile(500),
            p99_ms=distribution.percentile(990),
            max_ms=distribution.max,
        )


def _chosen(tally: Tally, rows: Any, first: int) -> Tally:
    """Some rows, with seconds that begin at ``first``."""
    columns = {name: value[rows] if isinstance(value, np.ndarray) else value for name, value in vars(tally).items()}
    return Tally(**{**columns, "second": columns["second"] - first})
