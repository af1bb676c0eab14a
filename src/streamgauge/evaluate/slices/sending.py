"""What a slice shows of the load: when records left, how late, and when the transport stamped them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import clock, throughput
from streamgauge.evaluate.metrics.generator import NS_PER_US, Lateness, Ledger, counted
from streamgauge.evaluate.metrics.latency import Distribution
from streamgauge.evaluate.recorded import batches, output_batches
from streamgauge.evaluate.tally import Ints
from streamgauge.model import NS_PER_MS, NS_PER_S, QUIET_TRIGGERS
from streamgauge.rundir import RunDir

if TYPE_CHECKING:
    import pyarrow as pa

GAP_MS = 1_000
"""Shorter silences are not noted, unless they may be outages."""


def limit_s(facts: Facts) -> float:
    """A longer silence is an outage: the scenario's quiet time, and three triggers of an engine that has any."""
    return max(facts.scenario.quiet_s, QUIET_TRIGGERS * facts.manifest.engine.batch_interval_s)


@dataclass(frozen=True)
class Sending:
    """What some parts of the ledger contain."""

    sent: Ints
    """Records that left in each second of the run."""
    late_max_ns: Ints
    """The latest record that was due in each second; the smallest number where none was."""
    late: Distribution
    """By how many microseconds the records of the measured interval were late."""
    measured: int
    inside: int
    after_ms: dict[str, int]
    errors: int
    errors_measured: int

    @classmethod
    def of(cls, ledger: Ledger, facts: Facts, moments: Moments) -> Sending:
        late = Lateness.of(ledger, facts, moments)
        start_ns, end_ns = moments.measured_start_ns, moments.measured_end_ns
        first, end = (facts.plan.count_before(moment - moments.load_start_ns) for moment in (start_ns, end_ns))
        measured = (late.n_seq >= first) & (late.n_seq < end)
        due = _second(late.sent_ns - late.late_ns, moments)
        left = _second(ledger.sent_ns, moments)
        seconds = int(max(due.max(initial=0), left.max(initial=0))) + 1
        sent, worst = np.zeros(seconds, np.int64), np.full(seconds, np.iinfo(np.int64).min)
        np.add.at(sent, left, ledger.count)
        np.maximum.at(worst, due, late.late_ns)
        after = measured & (late.sent_ns > end_ns)
        over_ms, counts = np.unique(-(-(late.sent_ns[after] - end_ns) // NS_PER_MS), return_counts=True)
        in_measured = (ledger.first < end) & (ledger.first + ledger.count > first)
        return cls(
            sent=sent,
            late_max_ns=worst,
            late=counted(late.late_ns[measured], NS_PER_US),
            measured=int(measured.sum()),
            inside=int(((late.sent_ns >= start_ns) & (late.sent_ns < end_ns)).sum()),
            after_ms={str(ms): count for ms, count in zip(over_ms.tolist(), counts.tolist(), strict=True)},
            errors=int(ledger.errors.sum()),
            errors_measured=int(ledger.errors[in_measured].sum()),
        )


def _second(moment_ns: Ints, moments: Moments) -> Ints:
    return np.maximum((moment_ns - moments.load_start_ns) // NS_PER_S, 0)


@dataclass(frozen=True)
class Stamped:
    """What the transport's stamps of a slice show."""

    appended: Ints
    appended_rest_ms: Ints
    output: Ints
    inputs: int
    outputs: int
    appended_measured: int
    output_measured: int
    first_output_ms: int | None
    last_output_ms: int | None
    gaps_ms: list[tuple[int, int]]
    bound: clock.Bound | None

    @classmethod
    def read(
        cls, slice_: RunDir, facts: Facts, moments: Moments, ledger: Ledger, last_output_ms: int | None
    ) -> Stamped:
        """``last_output_ms`` is that of the slices before. The clocks are compared by records of this slice alone."""
        start_ms, end_ms = moments.measured_start_ns // NS_PER_MS, moments.measured_end_ns // NS_PER_MS
        appended, rest_ms, output = np.zeros((3, moments.seconds), np.int64)
        order = np.argsort(ledger.acked_n)
        probes, probe_ms = ledger.acked_n[order], np.full(len(order), -1, np.int64)
        inputs = outputs = appended_measured = output_measured = 0
        for stream in facts.inputs:
            for batch in batches(slice_, stream, ["n_seq", "appended_ms"]):
                n_seq, stamp_ms = batch.column(0).fill_null(-1).to_numpy(), batch.column(1).to_numpy()
                inputs += len(stamp_ms)
                throughput.count_by_second(appended, stamp_ms, moments, rest_ms)
                appended_measured += int(((stamp_ms >= start_ms) & (stamp_ms < end_ms)).sum())
                if len(probes):
                    place = np.minimum(np.searchsorted(probes, n_seq), len(probes) - 1)
                    known = probes[place] == n_seq
                    probe_ms[order[place[known]]] = stamp_ms[known]
        moments_ms = [np.zeros(0, np.int64) if last_output_ms is None else np.array([last_output_ms])]
        for batch in output_batches(slice_, facts, ["appended_ms"]):
            stamp_ms = batch.column(0).to_numpy()
            outputs += len(stamp_ms)
            throughput.count_by_second(output, stamp_ms, moments)
            output_measured += int(((stamp_ms >= start_ms) & (stamp_ms < end_ms)).sum())
            moments_ms.append(np.unique(stamp_ms))
        seen_ms = np.unique(np.concatenate(moments_ms))
        of_slice = seen_ms if last_output_ms is None else seen_ms[seen_ms != last_output_ms]
        return cls(
            appended=appended,
            appended_rest_ms=rest_ms,
            output=output,
            inputs=inputs,
            outputs=outputs,
            appended_measured=appended_measured,
            output_measured=output_measured,
            first_output_ms=int(of_slice[0]) if len(of_slice) else None,
            last_output_ms=int(seen_ms[-1]) if len(seen_ms) else None,
            gaps_ms=_gaps(seen_ms, min(GAP_MS, 1000 * limit_s(facts))),
            bound=clock.transport_bound(ledger, probe_ms),
        )


def _gaps(moments_ms: Ints, least_ms: float) -> list[tuple[int, int]]:
    """Where that long or longer lies between one moment and the next; they rise."""
    wide = np.flatnonzero(np.diff(moments_ms) >= least_ms)
    return [(int(moments_ms[place]), int(moments_ms[place + 1])) for place in wide]


def by_second(columns: dict[str, Ints]) -> pa.Table:
    """Columns of the seconds of a run, for those seconds alone that have something."""
    import pyarrow as pa

    seconds = max(len(column) for column in columns.values())
    least = np.iinfo(np.int64).min
    fill = {name: least if name == "late_max_ns" else 0 for name in columns}
    full = {
        name: np.concatenate([column, np.full(seconds - len(column), fill[name])]) for name, column in columns.items()
    }
    some = np.any([column != fill[name] for name, column in full.items()], axis=0)
    return pa.table({"second": np.flatnonzero(some), **{name: column[some] for name, column in full.items()}})


def until(moments: Moments, end_ns: int) -> Moments:
    """For stamps up to that moment, in a run that has not ended."""
    return replace(moments, drain_end_ns=max(end_ns, moments.load_end_ns))
