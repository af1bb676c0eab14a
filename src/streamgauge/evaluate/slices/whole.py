"""Puts the figures of all slices together to those of the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from streamgauge.evaluate import slices
from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import arrival, clock, generator, lag, latency, resources, throughput
from streamgauge.evaluate.metrics.clock import Bound
from streamgauge.evaluate.metrics.generator import US_PER_MS, Generator
from streamgauge.evaluate.metrics.latency import Distribution
from streamgauge.evaluate.metrics.level import mean_level
from streamgauge.evaluate.metrics.throughput import Stamps
from streamgauge.evaluate.metrics.trend import Series
from streamgauge.evaluate.slices.digest import COLUMNS, FIGURES, KINDS
from streamgauge.evaluate.slices.tables import read_table
from streamgauge.evaluate.summary import Figures, OverTime
from streamgauge.evaluate.tally import Floats, Ints, Tally, results
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.model.samples import ClockSample, ResourceSample
from streamgauge.model.slices import SliceFigures
from streamgauge.notices import Notice, notice
from streamgauge.rundir import RunDir

_BUCKETS = ("second", "from_ms", "to_ms", "count")


@dataclass(frozen=True)
class Whole:
    """A run by its slices; there may be none."""

    run: RunDir
    facts: Facts
    """Where slices are missing, the run ends with the last one: what came after it is not known."""
    slices: Sequence[SliceFigures]
    drain_end_ns: int
    """When the run ended."""

    @classmethod
    def read(cls, run: RunDir, facts: Facts, moments: Moments) -> Whole:
        whole = cls(run, facts, run.slices(), moments.drain_end_ns)
        if whole.complete or not whole.slices:
            return whole
        known = replace(moments, drain_end_ns=min(whole.evaluated_ns(moments), moments.drain_end_ns))
        return replace(whole, facts=replace(facts, moments=known))

    @property
    def complete(self) -> bool:
        """Whether the last slice was evaluated."""
        return bool(self.slices) and self.slices[-1].last

    @cached_property
    def tally(self) -> Tally:
        if not self.slices:
            return Tally.empty()
        table = read_table(self.run.slice_(len(self.slices)).carried_path / "tally.parquet", COLUMNS)
        outputs = sum(one.outputs - one.repeated for one in self.slices)
        return Tally.of(table, quiet=self.facts.outcome.drain == "quiet", outputs=outputs, running=True)

    def results(self) -> dict[str, int]:
        """The counts, with what only the end of the run showed of records that were decided before."""
        counts = results(self.tally)
        lost, wrong = (sum(getattr(one, name) for one in self.slices) for name in ("lost_later", "wrong_later"))
        # Contributions: which records they were of is no longer known, but there are not more than were answered.
        lost = min(lost, counts["matched"] - wrong)
        return {
            **counts,
            "matched": counts["matched"] - lost - wrong,
            "lost": counts["lost"] + lost,
            "wrong": counts["wrong"] + wrong,
            "duplicates": counts["duplicates"] + sum(one.repeated for one in self.slices),
            # Results that are ahead of what was recorded may still be right.
            "unexpected": counts["unexpected"] if self.complete else 0,
        }

    def figures(self, moments: Moments) -> Figures:
        """As ``evaluation`` makes them of a run that is evaluated whole."""
        facts, tally = self.facts, self.tally
        counted = self._counted(moments)
        stamps = self._stamps(counted, moments)
        bound = self._bound()
        one_clock = bound is None or bound.agrees
        latencies = latency.distributions(tally)
        sending = self._generator(counted, moments, latencies["total"].median)
        over_time, medians = self._over_time(moments)
        backlog = _backlog(counted, moments)
        backlog_measured = Series.of(backlog, moments.measured_seconds())
        working_ns = resources.working_ns(facts, moments, stamps.last_output_ms)
        return Figures(
            tally=tally,
            results=self.results(),
            latencies=latencies,
            total_known=one_clock,
            latest_known=True,
            generator=sending,
            stamps=stamps,
            shortfall=arrival.measure(facts, moments, sending, stamps, bound.ahead_ms if bound else 0.0)
            if self.complete
            else None,
            backlog=backlog,
            backlog_end=lag.backlog_at_end(tally),
            backlog_measured=backlog_measured,
            waiting_measured=throughput.in_seconds_of_load(backlog_measured, facts, moments),
            medians_measured=Series.of(medians["total" if one_clock else "latest"], moments.measured_seconds()),
            clock_step_ms=clock.largest_step_ms(self.run.samples(ClockSample), moments),
            transport_bound=bound,
            working_ns=working_ns,
            resources=resources.by_group(resources.within(self.run.samples(ResourceSample), working_ns)),
            burst=None,
            over_time=over_time,
        )

    def evaluated_ns(self, moments: Moments) -> int:
        """Until when the run was evaluated."""
        if self.complete:
            return moments.drain_end_ns
        until_ms = self.slices[-1].until_ms if self.slices else None
        # The moment of a cut is a whole number of seconds after the start, rounded down to a millisecond.
        after_ms = 0 if until_ms is None else until_ms - moments.load_start_ms
        return moments.load_start_ns + after_ms * NS_PER_MS

    def gaps_ms(self) -> list[tuple[int, int]]:
        """Between one result and the next: all that may be outages."""
        return [gap for one in self.slices for gap in one.gaps_ms]

    @property
    def first_output_ms(self) -> int | None:
        return next((one.first_output_ms for one in self.slices if one.first_output_ms is not None), None)

    @property
    def last_output_ms(self) -> int | None:
        return self.slices[-1].last_output_ms if self.slices else None

    def _counted(self, moments: Moments) -> dict[str, Ints]:
        """The columns of all ``counted.parquet``, one element for each second of the run."""
        counts = (
            "sent",
            "appended",
            "appended_rest_ms",
            "output",
            "arrived",
            "arrived_rest_ms",
            "done",
            "done_rest_ms",
        )
        columns = {name: np.zeros(moments.seconds, np.int64) for name in counts}
        columns["late_max_ns"] = np.full(moments.seconds, np.iinfo(np.int64).min)
        for one in self.slices:
            names = ["second", *columns]
            table = read_table(self.run.slice_(one.number).path / "counted.parquet", names, whole=names)
            second = np.clip(table.column("second").to_numpy(), 0, None)
            # What was sent after the last slice that was evaluated is not of its time.
            known = second < (np.inf if self.complete else moments.seconds)
            place = np.minimum(second, moments.seconds - 1)[known]
            for name, column in columns.items():
                how = np.maximum if name == "late_max_ns" else np.add
                how.at(column, place, table.column(name).to_numpy()[known])
        return columns

    def _stamps(self, counted: Mapping[str, Ints], moments: Moments) -> Stamps:
        return Stamps(
            appended_per_second=counted["appended"],
            output_per_second=counted["output"],
            output_measured=sum(one.output_measured for one in self.slices),
            probe_appended_ms=np.zeros(0, np.int64),
            appended_level=_level(counted["appended"], counted["appended_rest_ms"], moments),
            appended_measured=sum(one.appended_measured for one in self.slices),
            first_output_ms=self.first_output_ms,
            last_output_ms=self.last_output_ms,
        )

    def _bound(self) -> Bound | None:
        low = [one.clock_low_ms for one in self.slices if one.clock_low_ms is not None]
        high = [one.clock_high_ms for one in self.slices if one.clock_high_ms is not None]
        return Bound(max(low), min(high)) if low and high else None

    def _generator(self, counted: Mapping[str, Ints], moments: Moments, median_ms: float | None) -> Generator:
        plan = self.facts.plan
        late_limit_ms, often_limit_ms = generator.limits_ms(median_ms)
        late_ms = self._late_ms()
        spans_ns = (moments.measured_start_ns, moments.observed_end_ns)
        first, end = (plan.count_before(moment - moments.load_start_ns) for moment in spans_ns)
        too_late = sum(
            count for one in self.slices for ms, count in one.sent_after_ms.items() if int(ms) > late_limit_ms
        )
        measured = np.asarray(moments.measured_seconds(), np.int64)
        worst = counted["late_max_ns"]
        none = np.iinfo(np.int64).min
        return Generator(
            offered=end - first,
            # The files of the last slice may hold what was sent after it.
            sent=sum(one.sent_inside for one in self.slices) if self.complete else int(counted["sent"][measured].sum()),
            sent_in_time=sum(one.sent_measured for one in self.slices) - too_late,
            errors=sum(one.errors for one in self.slices),
            errors_measured=sum(one.errors_measured for one in self.slices),
            late_ms=late_ms,
            often_late=int(late_ms.counts[late_ms.values > often_limit_ms].sum()),
            late_limit_ms=late_limit_ms,
            often_limit_ms=often_limit_ms,
            worst_second=int(counted["sent"][measured].min()) if len(measured) else None,
            latest_second=int(measured[np.argmax(worst[measured])]) if len(measured) else 0,
            sent_per_second=counted["sent"],
            late_max_per_second=[None if ns == none else ns / NS_PER_MS for ns in worst.tolist()],
        )

    def _late_ms(self) -> Distribution:
        if not self.slices:
            return latency.EMPTY
        late = slices.read_late(self.run.slice_(len(self.slices)).carried_path)
        return Distribution.of(late.values / US_PER_MS, late.counts)

    def _over_time(self, moments: Moments) -> tuple[OverTime, dict[str, list[float | None]]]:
        import pyarrow as pa

        columns: dict[str, list[float | None]] = {}
        for kind in KINDS:
            columns |= {f"{kind}_{name}": [None] * moments.seconds for name in (*FIGURES, "median")}
        columns["total_p99_window"] = [None] * moments.seconds
        spread = []
        for one in self.slices:
            path = self.run.slice_(one.number).path
            table = read_table(path / "seconds.parquet", ["second", *columns], whole=["second"])
            for name, column in columns.items():
                for second, value in zip(
                    table.column("second").to_pylist(), table.column(name).to_pylist(), strict=True
                ):
                    if second < moments.seconds:
                        column[second] = value
            spread.append(read_table(path / "heatmap.parquet", ["kind", *_BUCKETS], whole=["kind", *_BUCKETS]))
        no_heat = pa.table({"kind": pa.array([], pa.string()), **{name: pa.array([], pa.int64()) for name in _BUCKETS}})
        heat = pa.concat_tables(spread) if spread else no_heat
        shown = OverTime(
            latencies={kind: {name: columns[f"{kind}_{name}"] for name in FIGURES} for kind in KINDS},
            p99_window={"total": columns["total_p99_window"], "latest": [None] * moments.seconds},
            window_s=self.facts.scenario.slice_s,
            heatmap={kind: _of_kind(heat, kind) for kind in KINDS},
        )
        return shown, {kind: columns[f"{kind}_median"] for kind in KINDS}


def slice_reasons(moments: Moments, whole: Whole) -> list[Notice]:
    """Why a run of which not all slices were evaluated is INVALID."""
    if whole.complete:
        return []
    error = whole.facts.outcome.slices_error
    return [
        notice(
            "slices-missing",
            until_s=(whole.evaluated_ns(moments) - moments.load_start_ns) / NS_PER_S,
            whole_s=(whole.drain_end_ns - moments.load_start_ns) / NS_PER_S,
            why="" if error is None else f": {error}",
        )
    ]


def _of_kind(table: object, kind: str) -> dict[str, Ints]:
    import pyarrow as pa
    import pyarrow.compute as pc

    assert isinstance(table, pa.Table)
    chosen = table.filter(pc.equal(table.column("kind"), kind))
    return {name: chosen.column(name).to_numpy() for name in chosen.column_names if name != "kind"}


def _level(counts: Ints, rest_ms: Ints, moments: Moments) -> Floats:
    return mean_level(np.arange(moments.seconds), counts, rest_ms, moments.seconds)


def _backlog(counted: Mapping[str, Ints], moments: Moments) -> Floats:
    arrived = _level(counted["arrived"], counted["arrived_rest_ms"], moments)
    done = _level(counted["done"], counted["done_rest_ms"], moments)
    return np.round(arrived - done, lag.DECIMALS)
