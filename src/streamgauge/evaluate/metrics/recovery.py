"""How a run handled its faults: the outage of its output, and when latency and backlog were back to normal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.evaluate.metrics import latency
from streamgauge.evaluate.metrics.trend import LEAST_SECONDS, Series
from streamgauge.evaluate.tally import Floats, Ints, Tally
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.model.outcome import FaultRecord
from streamgauge.model.summary import FaultFigures
from streamgauge.notices import Notice, notice

LATE_S = 1.0
"""A fault that acted later than this is not the one that was asked for."""
BACK_SECONDS = 2
"""So many seconds in a row have to be inside: one may be so by chance."""
DECIMALS = 3


@dataclass(frozen=True)
class Recovery:
    """How the system handled one fault. Seconds count from the moment it acted; None: never in this run, or unknown."""

    outage_s: float | None = None
    gap_before_s: float | None = None
    first_output_s: float | None = None
    latency_limit_ms: float | None = None
    latency_back_s: float | None = None
    backlog_limit: float | None = None
    backlog_back_s: float | None = None
    outage_worst_s: float | None = None
    """Of the output partition that was hit worst."""
    gap_before_worst_s: float | None = None
    """The longest gap of that partition before the first fault."""
    partitions: int | None = None
    partitions_judged: int | None = None
    """Output partitions with at least two outputs before the first fault: the others have nothing to compare with."""
    partitions_affected: int | None = None
    """Those of them whose longest gap after the fault is longer than any before."""
    partitions_silent: int | None = None
    """Those of the affected ones from which nothing came any more."""


@dataclass(frozen=True)
class Seen:
    """What a run shows of its recovery."""

    outputs_ms: Ints
    """The moments at which something came out, rising, each once."""
    latency_kind: str
    latencies_ms: Sequence[float | None]
    """The p99 of the results anchored in each second."""
    settled_s: int
    """From this second on, results were answered after the first fault had acted: their latency is not part of the
    baseline."""
    backlog: Sequence[float] | Floats
    """The mean of each second."""
    partitions_ms: Sequence[Ints] = ()
    """``outputs_ms`` of each partition of the output."""

    @classmethod
    def of(
        cls, facts: Facts, moments: Moments, tally: Tally, kind: str, partitions_ms: Sequence[Ints], backlog: Floats
    ) -> Seen:
        first_s = min((_second(acted_ns(record), moments) for record in acted(facts)), default=0)
        late = tally.timed & (tally.answered_second >= first_s) & (tally.second < first_s)
        return cls(
            outputs_ms=np.unique(np.concatenate([np.zeros(0, np.int64), *partitions_ms])),
            latency_kind=kind,
            latencies_ms=latency.percentiles_ms(tally, kind, tally.second, moments.seconds, permille=990),
            settled_s=int(tally.second[late].min(initial=first_s)),
            backlog=backlog,
            partitions_ms=partitions_ms,
        )


@dataclass(frozen=True)
class Gap:
    """A time without output; ``end_ms`` is None when nothing came any more. Beyond ``over_ms`` it does not count."""

    begin_ms: float
    end_ms: float | None
    over_ms: float

    @property
    def length_ms(self) -> float:
        return max((self.over_ms if self.end_ms is None else min(self.end_ms, self.over_ms)) - self.begin_ms, 0.0)


def acted(facts: Facts) -> list[FaultRecord]:
    """The faults that took effect, in the order of their moments."""
    return sorted((record for record in facts.faults if record.took_effect), key=acted_ns)


def acted_ns(record: FaultRecord) -> int:
    assert record.acted_ns is not None, "Facts refuses a fault that took effect at no moment"
    return record.acted_ns


def reasons(facts: Facts) -> list[Notice]:
    """Why a fault makes the run INVALID; empty when all faults acted as planned.

    One that an earlier fault left no system to act on is no reason: that the system did not survive is the finding.
    """
    why, ended_by_another = [], bool(acted(facts)) and bool(facts.ended("engine"))
    for record in facts.faults:
        if record.acted_ns is None and ended_by_another:
            continue
        if not record.took_effect:
            why.append(notice("fault-without-effect", fault=record.fault, why=record.why_not))
            continue
        late_s = (acted_ns(record) - (record.planned_ns or 0)) / NS_PER_S
        if late_s > LATE_S:
            why.append(notice("fault-late", fault=record.fault, late_s=late_s, limit_s=LATE_S))
        group = facts.manifest.group_of(record.role)
        if record.verb == "kill" and record.restarted_ns is None and group not in ("engine", None):
            why.append(notice("fault-outside-engine", fault=record.fault))
        if record.verb == "cut" and group == "load":
            why.append(notice("load-cut", fault=record.fault, server=facts.transport.server_noun))
    return why


def reasons_by_end(facts: Facts, end_ms: float | None, *, missing: int) -> list[Notice]:
    """Faults of a run with preloaded input, which was all processed at ``end_ms``: later ones disturbed nothing.

    Where results are missing, it was not.
    """
    if end_ms is None or missing:
        return []
    late = [record for record in acted(facts) if acted_ns(record) / NS_PER_MS > end_ms]
    why = "all input had been processed before its moment"
    return [notice("fault-without-effect", fault=record.fault, why=why) for record in late]


def warnings(facts: Facts) -> list[Notice]:
    if not acted(facts):
        return []
    return [notice("ran-with-faults")]


def guarantee(facts: Facts, results: Mapping[str, int]) -> str | None:
    """What the system under test lost, duplicated or got wrong after the faults, in one sentence.

    None without a fault that took effect, and where no result was checked.
    """
    expected = results["expected"]
    if not acted(facts) or not expected:
        return None
    parts = []
    if results["lost"]:
        parts.append(f"{results['lost']:,} of {expected:,} results lost")
    elif not results["unfinished"]:
        # What is unfinished may be lost.
        parts.append("nothing lost")
    if results["duplicates"]:
        parts.append(f"{results['duplicates']:,} duplicates")
    elif not results["wrong"] and not results["unexpected"]:
        # What was read twice may have been counted twice.
        parts.append("nothing duplicated")
    others = ("wrong", "unexpected", "unfinished")
    return ", ".join([*parts, *(f"{results[count]:,} {count}" for count in others if results[count])])


def silent_warnings(measured: Sequence[FaultFigures]) -> list[Notice]:
    """Faults after which a part of the output stayed silent while the rest continued."""
    return [
        notice("partitions-silent", silent=fault.partitions_silent, partitions=fault.partitions, fault=fault.fault)
        for fault in measured
        if fault.partitions_silent and fault.first_output_s is not None
    ]


def baseline_warnings(measured: Sequence[FaultFigures]) -> list[Notice]:
    """Where hardly anything came out before the first fault, the silence after it may have another reason."""
    known = [fault for fault in measured if fault.outage_s is not None]
    return [notice("no-output-before-fault")] if known and known[0].gap_before_s is None else []


def failures(measured: Sequence[FaultFigures], unfinished: int) -> list[Notice]:
    """Why a system that neither died nor certainly lost anything did not survive its faults: it stayed silent."""
    # Where nothing was measured (an interrupted run), it is unknown whether there was output.
    known = [fault for fault in measured if fault.took_effect and fault.latency is not None]
    last = max(known, key=lambda fault: fault.acted_s or 0.0, default=None)
    if last is None or last.first_output_s is not None or not unfinished:
        return []
    return [notice("silent-after-fault", fault=last.fault, unfinished=unfinished)]


def measure(facts: Facts, moments: Moments | None, seen: Seen | None) -> list[FaultFigures]:
    """The figures of each fault, in the order of the command line."""
    return [
        FaultFigures(
            fault=record.fault,
            number=record.number,
            verb=record.verb,
            role=record.role,
            planned_s=_since_s(record.planned_ns, facts.faults_from_ns),
            acted_s=_since_s(record.acted_ns, facts.faults_from_ns),
            restarted_s=_since_s(record.restarted_ns, facts.faults_from_ns),
            ended_s=_since_s(record.ended_ns, facts.faults_from_ns),
            took_effect=record.took_effect,
            why_not=record.why_not,
            latency=None if seen is None else seen.latency_kind,
            **{name: _round(value) for name, value in asdict(_recovery(record, facts, moments, seen)).items()},
        )
        for record in facts.faults
    ]


def _recovery(record: FaultRecord, facts: Facts, moments: Moments | None, seen: Seen | None) -> Recovery:
    if moments is None or seen is None or not record.took_effect:
        return Recovery()
    moments_ns = [acted_ns(one) for one in acted(facts)]
    at_ns = acted_ns(record)
    later_ns = [ns for ns in moments_ns if ns > at_ns]
    if facts.plan.shape == "preloaded":
        return recover_preloaded(seen, facts.faults_from_ns or 0, at_ns, min(moments_ns), min(later_ns, default=None))
    return recover(seen, moments, at_ns, min(moments_ns), min([*later_ns, moments.observed_end_ns]))


def recover_preloaded(seen: Seen, ready_ns: int, at_ns: int, first_ns: int, until_ns: int | None) -> Recovery:
    """As ``recover``, of an engine whose input was all there when it was usable, at ``ready_ns``.

    Its results are due as soon as possible, so that there is neither a latency nor a backlog to come back to, and no
    silence after the last of them. Its output is judged as a whole: partitions are done at different moments.
    """
    ready_ms, at_ms, first_ms = (ns / NS_PER_MS for ns in (ready_ns, at_ns, first_ns))
    usual_ms = longest_gap_before(seen.outputs_ms, ready_ms, first_ms)
    gap_before_s = None if usual_ms is None else usual_ms / 1000
    later = seen.outputs_ms[seen.outputs_ms > at_ms]
    if not len(later):
        return Recovery(gap_before_s=gap_before_s)
    until_ms = math.inf if until_ns is None else until_ns / NS_PER_MS
    gap = longest_gap_after(seen.outputs_ms, at_ms, until_ms, float(later[-1]))
    again_ms = _output_again_ms(gap, usual_ms, later)
    assert again_ms is not None, "there was a later output"
    return Recovery(outage_s=gap.length_ms / 1000, gap_before_s=gap_before_s, first_output_s=(again_ms - at_ms) / 1000)


def _output_again_ms(gap: Gap, usual_ms: float | None, later: Ints) -> float | None:
    """The end of the outage. Where no gap was longer than those before, there was none: the next output counts."""
    if usual_ms is None or gap.length_ms > usual_ms:
        return gap.end_ms
    return float(later[0]) if len(later) else None


def recover(seen: Seen, moments: Moments, at_ns: int, first_ns: int, until_ns: int) -> Recovery:
    """How a fault at ``at_ns`` was taken until ``until_ns``, measured by the time before the first fault."""
    usual_ms = longest_gap_before(seen.outputs_ms, moments.measured_start_ns / NS_PER_MS, first_ns / NS_PER_MS)
    at_ms, until_ms, over_ms = (ns / NS_PER_MS for ns in (at_ns, until_ns, _over_ns(moments)))
    gap = longest_gap_after(seen.outputs_ms, at_ms, until_ms, over_ms)
    stopped = usual_ms is None or gap.length_ms > usual_ms
    first_output_ms = _output_again_ms(gap, usual_ms, seen.outputs_ms[seen.outputs_ms > at_ms])
    fault_s = (at_ns - moments.load_start_ns) / NS_PER_S
    from_s = fault_s
    if stopped and first_output_ms is not None:
        from_s = (first_output_ms * NS_PER_MS - moments.load_start_ns) / NS_PER_S
    begin, first_s = moments.measured_seconds().start, _second(first_ns, moments)
    latency_limit = _limit(seen.latencies_ms, range(begin, min(first_s, seen.settled_s)))
    backlog_limit = _limit(seen.backlog, range(begin, first_s))
    stop = min(_second(until_ns, moments), moments.measured_seconds().stop)
    latency_back = backlog_back = None
    if first_output_ms is not None:
        first = math.floor(from_s)
        second = _back(seen.latencies_ms, latency_limit, first, stop)
        if second is not None:
            latency_back = 0.0 if second == first and not stopped else max(second - fault_s, 0.0)
        second = _back(seen.backlog, backlog_limit, first, stop)
        if second is not None:
            backlog_back = 0.0 if second == first and not stopped else second + 1 - fault_s
    return Recovery(
        outage_s=gap.length_ms / 1000,
        gap_before_s=None if usual_ms is None else usual_ms / 1000,
        first_output_s=None if first_output_ms is None else (first_output_ms - at_ms) / 1000,
        latency_limit_ms=latency_limit,
        latency_back_s=latency_back,
        backlog_limit=backlog_limit,
        backlog_back_s=backlog_back,
        **_by_partition(seen, moments, at_ns, first_ns, until_ns),
    )


def _by_partition(seen: Seen, moments: Moments, at_ns: int, first_ns: int, until_ns: int) -> dict[str, Any]:
    """The outage of each output partition, measured by its own gaps: the output of one must not hide that of another.

    A partition with fewer than two outputs before the first fault is not judged: it may be silent by nature.
    """
    at_ms, until_ms, over_ms = (ns / NS_PER_MS for ns in (at_ns, until_ns, _over_ns(moments)))
    judged = [
        (longest_gap_after(outputs_ms, at_ms, until_ms, over_ms), usual_ms)
        for outputs_ms in seen.partitions_ms
        if (usual_ms := longest_gap_before(outputs_ms, moments.measured_start_ns / NS_PER_MS, first_ns / NS_PER_MS))
        is not None
    ]
    affected = [(gap, usual_ms) for gap, usual_ms in judged if gap.length_ms > usual_ms]
    worst, usual_ms = max(affected or judged, key=lambda one: one[0].length_ms, default=(None, None))
    return {
        "outage_worst_s": None if worst is None else worst.length_ms / 1000,
        "gap_before_worst_s": None if usual_ms is None else usual_ms / 1000,
        "partitions": len(seen.partitions_ms),
        "partitions_judged": len(judged),
        "partitions_affected": len(affected),
        "partitions_silent": sum(gap.end_ms is None for gap, _ in affected),
    }


def _over_ns(moments: Moments) -> int:
    """Nothing is due after the load: the quiet time of the drain is not an outage."""
    return min(moments.drain_end_ns, moments.load_end_ns)


def longest_gap_before(outputs_ms: Ints, from_ms: float, until_ms: float) -> float | None:
    """The longest time between two outputs of this interval; None when it has fewer than two."""
    inside = outputs_ms[(outputs_ms >= from_ms) & (outputs_ms < until_ms)]
    return float(np.diff(inside).max()) if len(inside) > 1 else None


def longest_gap_after(outputs_ms: Ints, at_ms: float, until_ms: float, over_ms: float) -> Gap:
    """The longest time without output that ends after ``at_ms`` and begins before ``until_ms``; the run ends at
    ``over_ms``."""
    before, after = outputs_ms[outputs_ms <= at_ms], outputs_ms[outputs_ms > at_ms]
    begins = np.concatenate([before[-1:] if len(before) else [at_ms], after])
    ends = np.minimum(np.concatenate([after, [over_ms]]), over_ms)
    counts = begins < until_ms
    counts[0] = True
    longest = int(np.argmax(np.where(counts, ends - begins, -np.inf)))
    return Gap(float(begins[longest]), float(after[longest]) if longest < len(after) else None, over_ms)


def _limit(values: Sequence[float | None] | Floats, seconds: range) -> float | None:
    """The p99 of the values of these seconds; None when there are too few."""
    known = Series.of(values, seconds).values
    return float(np.percentile(known, 99)) if len(known) >= LEAST_SECONDS else None


def _back(values: Sequence[float | None] | Floats, limit: float | None, first: int, stop: int) -> int | None:
    """The first of ``BACK_SECONDS`` seconds in a row within the limit."""
    if limit is None:
        return None
    inside = [
        second < len(values) and (value := values[second]) is not None and value <= limit
        for second in range(first, stop)
    ]
    runs = range(len(inside) - BACK_SECONDS + 1)
    return next((first + begin for begin in runs if all(inside[begin : begin + BACK_SECONDS])), None)


def _second(moment_ns: int, moments: Moments) -> int:
    return (int(moment_ns) - moments.load_start_ns) // NS_PER_S


def _since_s(moment_ns: int | None, from_ns: int | None) -> float | None:
    return None if moment_ns is None or from_ns is None else _round((moment_ns - from_ns) / NS_PER_S)


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, DECIMALS)
