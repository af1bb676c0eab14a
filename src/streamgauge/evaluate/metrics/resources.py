"""What the processes and the machine used while the engine worked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from streamgauge.evaluate.facts import Facts, Moments
from streamgauge.model import NS_PER_MS, NS_PER_S
from streamgauge.model.samples import MachineSample, ResourceSample, SampleKind
from streamgauge.notices import Notice, notice

BUSY_SHARE = 0.9
STEAL_SHARE = 0.05
PRESSURE_SHARE = 0.2
OTHERS_SHARE = 0.15
"""Of all cores, by programs that do not belong to the run; 3 to 8 % on a machine that does nothing else, mostly the
kernel's network."""


def within(samples: Sequence[SampleKind], span_ns: tuple[int, int]) -> list[SampleKind]:
    start_ns, end_ns = span_ns
    return [sample for sample in samples if start_ns <= sample.t_ns <= end_ns]


def working_ns(facts: Facts, moments: Moments, last_output_ms: int | None) -> tuple[int, int]:
    """When the engine worked: in the measured interval or, where all input was there before it, from the moment when
    it was usable to its last result, to the end of the drain where it has none."""
    ready_ns = facts.outcome.engine_ready_ns
    if facts.plan.shape != "preloaded" or ready_ns is None:
        return moments.measured_start_ns, moments.observed_end_ns
    end_ns = moments.drain_end_ns if last_output_ms is None else last_output_ms * NS_PER_MS
    return min(ready_ns, end_ns), end_ns


def by_group(samples: Sequence[ResourceSample]) -> dict[str, dict[str, float | None]]:
    """Per group of processes: mean cores used, the most memory and heap at a time, time spent on GC."""
    groups: dict[str, list[ResourceSample]] = defaultdict(list)
    for sample in samples:
        groups[sample.group].append(sample)
    return {group: _figures(groups[group]) for group in sorted(groups)}


def _figures(samples: Sequence[ResourceSample]) -> dict[str, float | None]:
    roles: dict[str, list[ResourceSample]] = defaultdict(list)
    for sample in sorted(samples, key=lambda s: s.t_ns):
        roles[sample.role].append(sample)
    # Of all the time, also where a process was there for a part of it: a fault may have ended it.
    times_ns = [sample.t_ns for sample in samples]
    seconds = (max(times_ns) - min(times_ns)) / NS_PER_S
    cpu_s = _sum([_growth(sample.cpu_s for sample in of_role) for of_role in roles.values()])
    gc = [_growth(sample.gc_ms for sample in of_role) for of_role in roles.values()]
    return {
        "cpu_mean": cpu_s / seconds if cpu_s is not None and seconds > 0 else None,
        "rss_max_mb": _highest_sum((sample.t_ns, sample.rss_mb) for sample in samples),
        "heap_max_mb": _highest_sum((sample.t_ns, sample.heap_used_mb) for sample in samples),
        "gc_ms": _sum(gc),
    }


def _growth(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return float(known[-1] - known[0]) if len(known) > 1 else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return sum(known) if known else None


def _highest_sum(values: Iterable[tuple[int, float | None]]) -> float | None:
    """The most that all processes of a group held at a time: one look at them has one ``t_ns``."""
    held: dict[int, float] = defaultdict(float)
    for t_ns, value in values:
        if value is not None:
            held[t_ns] += value
    return max(held.values(), default=None)


def machine_warnings(
    samples: Sequence[MachineSample], used: Mapping[str, Mapping[str, float | None]], cores: float | None
) -> list[Notice]:
    """Signs of a machine that was too busy for the measurement. ``used``: by the run, in groups."""
    messages = []
    busy = _mean(sample.cpu_busy for sample in samples)
    steal = _mean(sample.steal for sample in samples)
    pressure = _mean(sample.psi_cpu_some for sample in samples)
    if busy is not None and busy > BUSY_SHARE:
        messages.append(notice("machine-busy", percent=100 * busy))
    own = [figures["cpu_mean"] for figures in used.values()]
    if busy is not None and cores and None not in own and (others := busy - sum(_known(own)) / cores) > OTHERS_SHARE:
        messages.append(notice("others-busy", percent=100 * others))
    if steal is not None and steal > STEAL_SHARE:
        messages.append(notice("cpu-stolen", percent=100 * steal))
    if pressure is not None and pressure > PRESSURE_SHARE:
        messages.append(notice("waited-for-core", percent=100 * pressure))
    return messages


def _mean(values: Iterable[float | None]) -> float | None:
    known = _known(values)
    return sum(known) / len(known) if known else None


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]
