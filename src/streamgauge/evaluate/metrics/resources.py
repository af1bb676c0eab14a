"""What the processes and the machine used in the measured interval."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from streamgauge.evaluate.facts import Moments
from streamgauge.model import NS_PER_S

Sample = Mapping[str, Any]

BUSY_SHARE = 0.9
STEAL_SHARE = 0.05
PRESSURE_SHARE = 0.2


def within(samples: Sequence[Sample], moments: Moments) -> list[Sample]:
    return [s for s in samples if moments.measured_start_ns <= s["t_ns"] <= moments.observed_end_ns]


def by_group(samples: Sequence[Sample]) -> dict[str, dict[str, float | None]]:
    """Per group of processes: mean cores used, the most memory and heap at a time, time spent on GC."""
    groups: dict[str, list[Sample]] = defaultdict(list)
    for sample in samples:
        groups[sample["group"]].append(sample)
    return {group: _figures(groups[group]) for group in sorted(groups)}


def _figures(samples: Sequence[Sample]) -> dict[str, float | None]:
    roles: dict[str, list[Sample]] = defaultdict(list)
    for sample in sorted(samples, key=lambda s: s["t_ns"]):
        roles[sample["role"]].append(sample)
    # Of all the time, also where a process was there for a part of it: a fault may have ended it.
    times_ns = [sample["t_ns"] for sample in samples]
    seconds = (max(times_ns) - min(times_ns)) / NS_PER_S
    cpu_s = _sum([_growth(of_role, "cpu_s") for of_role in roles.values()])
    gc = [_growth(of_role, "gc_ms") for of_role in roles.values()]
    return {
        "cpu_mean": cpu_s / seconds if cpu_s is not None and seconds > 0 else None,
        "rss_max_mb": _highest_sum(samples, "rss_mb"),
        "heap_max_mb": _highest_sum(samples, "heap_used_mb"),
        "gc_ms": _sum(gc),
    }


def _growth(samples: Sequence[Sample], name: str) -> float | None:
    known = [s[name] for s in samples if s.get(name) is not None]
    return float(known[-1] - known[0]) if len(known) > 1 else None


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _highest_sum(samples: Sequence[Sample], name: str) -> float | None:
    """The most that all processes of a group held at a time: one look at them has one ``t_ns``."""
    held: dict[int, float] = defaultdict(float)
    for sample in samples:
        if sample.get(name) is not None:
            held[sample["t_ns"]] += sample[name]
    return max(held.values(), default=None)


def machine_warnings(samples: Sequence[Sample]) -> list[str]:
    """What the machine's own figures say against the measurement."""
    messages = []
    busy, steal, pressure = (_mean(samples, name) for name in ("cpu_busy", "steal", "psi_cpu_some"))
    if busy is not None and busy > BUSY_SHARE:
        messages.append(f"the machine was busy: {100 * busy:.0f} % of all cores in the measured interval")
    if steal is not None and steal > STEAL_SHARE:
        messages.append(f"the hypervisor took {100 * steal:.0f} % of the cores in the measured interval")
    if pressure is not None and pressure > PRESSURE_SHARE:
        messages.append(f"processes waited for a core {100 * pressure:.0f} % of the time in the measured interval")
    return messages


def _mean(samples: Sequence[Sample], name: str) -> float | None:
    known = [sample[name] for sample in samples if sample.get(name) is not None]
    return sum(known) / len(known) if known else None
