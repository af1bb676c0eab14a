"""What the checkpoints of a user's script say about each of its queries.

A record is done for a query when the batch that holds it is committed; a window, when the first batch is committed
whose watermark has reached its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics.latency import Distribution
from streamgauge.evaluate.recorded import batches
from streamgauge.evaluate.tally import Bools, Ints
from streamgauge.model.outcome import ScriptQuery
from streamgauge.model.samples import CommitSample
from streamgauge.model.summary import QueryMeasured
from streamgauge.rundir import RunDir

NEVER = -1
_UNITS_MS = {
    "millisecond": 1,
    "second": 1000,
    "minute": 60_000,
    "hour": 3_600_000,
    "day": 86_400_000,
    "week": 604_800_000,
}
_INTERVAL = re.compile(r"\s*(?:interval\s+)?(\d+)\s*([a-z]+)\s*", re.IGNORECASE)
CLOSE_MS = 600_000
"""A watermark that is nearer to the commit than that follows the time at which records arrive."""


class _Inputs:
    """What was recorded of the inputs, by partition and rising offset."""

    def __init__(self, run: RunDir, facts: Facts, moments: Moments) -> None:
        columns = ["partition", "offset", "appended_ms", "n_seq"]
        timed = facts.workload.codec.event_ms is not None
        columns += ["event_ms"] if timed else []
        self.by_place: dict[tuple[str, int], Mapping[str, Ints]] = {}
        for stream in facts.inputs:
            parts = [
                [column.fill_null(NEVER).to_numpy() for column in batch.columns]
                for batch in batches(run, stream, columns)
            ]
            table = dict(zip(columns, map(np.concatenate, zip(*parts, strict=True)), strict=True)) if parts else {}
            for partition in range(stream.partitions if table else 0):
                mine = np.flatnonzero(table["partition"] == partition)
                order = mine[np.argsort(table["offset"][mine], kind="stable")]
                self.by_place[stream.address, partition] = {name: column[order] for name, column in table.items()}
        self._plan, self._moments = facts.plan, moments

    def read_by(self, commits: Sequence[CommitSample]) -> list[tuple[tuple[str, int], Mapping[str, Ints]]]:
        """The partitions of the streams that a query with these commits reads."""
        addresses = {address for one in commits for address in one.ends}
        return [(place, table) for place, table in self.by_place.items() if place[0] in addresses]

    def measured(self, table: Mapping[str, Ints]) -> Bools:
        """Whether each record was due in the measured interval."""
        moments = self._moments
        due_ns = moments.load_start_ns + self._plan.offsets_ns(table["n_seq"])
        return np.asarray((due_ns >= moments.measured_start_ns) & (due_ns < moments.observed_end_ns))


def measure(run: RunDir, facts: Facts, moments: Moments) -> list[QueryMeasured]:
    """Each query of the script; none for a run without a script."""
    commits = run.samples(CommitSample)
    if not facts.outcome.queries or not commits or not facts.plan.scheduled:
        return []
    inputs = _Inputs(run, facts, moments)
    return [
        _measure(query, [one for one in commits if one.query == query.name], inputs, moments)
        for query in facts.outcome.queries
    ]


def _measure(query: ScriptQuery, commits: Sequence[CommitSample], inputs: _Inputs, moments: Moments) -> QueryMeasured:
    latencies, arrivals, waits, missing = [], [], [], 0
    moments_done: set[int] = set()
    for place, table in inputs.read_by(commits):
        committed_ms = _committed_ms(place, table["offset"], commits)
        measured = inputs.measured(table)
        known = measured & (committed_ms != NEVER)
        latencies.append((committed_ms - table["appended_ms"])[known])
        done = committed_ms != NEVER
        arrivals.append(table["appended_ms"][done] - moments.load_start_ms)
        waits.append((committed_ms - table["appended_ms"])[done])
        missing += int((measured & (committed_ms == NEVER)).sum())
        moments_done |= {*committed_ms[known].tolist()}
    values = np.concatenate(latencies) if latencies else np.zeros(0, np.int64)
    windows = _windows(query, commits, inputs)
    return QueryMeasured(
        name=query.name,
        sink=query.sink,
        output_mode=query.output_mode,
        batches=len(moments_done),
        records=len(values),
        not_committed=missing,
        committed_ms=_figures(values),
        medians_ms=_medians(arrivals, waits, moments),
        windows=0 if windows is None else len(windows),
        window_ms=None if windows is None else _figures(windows),
    )


def _medians(arrivals: Sequence[Ints], waits: Sequence[Ints], moments: Moments) -> list[float | None]:
    medians: list[float | None] = [None] * moments.seconds
    if arrivals:
        second = np.concatenate(arrivals) // 1000
        waited = np.concatenate(waits)
        order = np.argsort(second, kind="stable")
        for number, part in zip(*_groups(second[order], waited[order]), strict=True):
            if 0 <= number < moments.seconds:
                medians[number] = float(np.median(part))
    return medians


def _groups(keys: Ints, values: Ints) -> tuple[list[int], list[Ints]]:
    """Of keys that rise: each of them, and its values."""
    distinct, begins = np.unique(keys, return_index=True)
    return distinct.tolist(), np.split(values, begins[1:]) if len(values) else []


def _figures(values: Ints) -> dict[str, Any]:
    return Distribution.of(values, np.ones(len(values), np.int64)).figures()


def _committed_ms(place: tuple[str, int], offsets: Ints, commits: Sequence[CommitSample]) -> Ints:
    """When the batch of each offset was committed; NEVER for those beyond the last one."""
    address, partition = place
    known = [
        (one.ends[address][str(partition)], one.committed_ms)
        for one in commits
        if str(partition) in one.ends.get(address, {})
    ]
    if not known:
        return np.full(len(offsets), NEVER, np.int64)
    ends, moments_ms = np.array(known, np.int64).T
    place_of = np.searchsorted(ends, offsets, side="right")
    return np.append(moments_ms, NEVER)[place_of]


def _windows(query: ScriptQuery, commits: Sequence[CommitSample], inputs: _Inputs) -> Ints | None:
    """From the arrival of the last record of each window to the commit that has its result; None without windows.

    Only where results wait for the end of their window: in append mode, with a watermark, and one kind of window.
    """
    bounds = {tuple(map(_interval_ms, window)) for window in query.windows}
    watermarks = np.array([one.watermark_ms for one in commits], np.int64)
    if query.output_mode != "append" or len(bounds) != 1 or not watermarks.any():
        return None
    [(length_ms, slide_ms, start_ms)] = bounds
    moments_ms = np.array([one.committed_ms for one in commits], np.int64)
    follows_arrival = abs(int(watermarks[-1]) - int(moments_ms[-1])) < CLOSE_MS
    read = [table for _, table in inputs.read_by(commits)]
    # Beside a stream with event times, one without them does not say which windows there are.
    timed = [table for table in read if "event_ms" in table and (table["event_ms"] != NEVER).any()]
    if not length_ms or not slide_ms or not (timed or follows_arrival):
        return None
    last_ms: dict[int, int] = {}
    for table in timed or read:
        event_ms = table["event_ms"] if timed else table["appended_ms"]
        measured = inputs.measured(table) & (event_ms != NEVER)
        for end_ms, arrived_ms in _last_arrivals(
            event_ms[measured], table["appended_ms"][measured], length_ms, slide_ms, start_ms
        ):
            last_ms[end_ms] = max(arrived_ms, last_ms.get(end_ms, 0))
    ends = np.array(sorted(last_ms), np.int64)
    first = np.searchsorted(np.maximum.accumulate(watermarks), ends, side="left")
    out = first < len(commits)
    arrived = np.array([last_ms[int(end)] for end in ends[out]], np.int64)
    return np.asarray(moments_ms[first[out]] - arrived)


def _last_arrivals(
    event_ms: Ints, appended_ms: Ints, length_ms: int, slide_ms: int, start_ms: int
) -> Iterator[tuple[int, int]]:
    """The end of each window that holds records, and when the last of them arrived."""
    if not len(event_ms):
        return
    first_start = (event_ms - start_ms) // slide_ms * slide_ms + start_ms
    for back in range(-(-length_ms // slide_ms)):
        starts = first_start - back * slide_ms
        inside = event_ms < starts + length_ms
        ends, place = np.unique(starts[inside] + length_ms, return_inverse=True)
        latest = np.zeros(len(ends), np.int64)
        np.maximum.at(latest, place, appended_ms[inside])
        yield from zip(ends.tolist(), latest.tolist(), strict=True)


def _interval_ms(text: str) -> int:
    """Of an interval as Spark takes it, such as *10 seconds*; 0 for one that is not understood."""
    total = 0
    rest = text
    while rest.strip():
        match = _INTERVAL.match(rest)
        unit = match[2].lower().removesuffix("s") if match is not None else ""
        if match is None or unit not in _UNITS_MS:
            return 0
        total += int(match[1]) * _UNITS_MS[unit]
        rest = rest[match.end() :]
    return total
