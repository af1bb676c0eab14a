"""The table of ratings: each engine's value per criterion, and its stars by the ratio to the best engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from streamgauge.report.exhibit import Context, Panel, Row, Table
from streamgauge.report.published import PAPER
from streamgauge.report.reproduction import CAPACITY, ExperimentResult, Reproduction
from streamgauge.report.text import NONE, rounded
from streamgauge.studies.sustainable.experiments import (
    CAPACITY as SEARCHES,
)
from streamgauge.studies.sustainable.experiments import (
    FLUCTUATING,
    LARGE_WINDOWS,
    MAXIMUM,
    PROGRAMS,
    SIZES,
    SKEW,
    latency_name,
)
from streamgauge.study import Experiment

STEPS = ((1.1, 3), (3.0, 2))
"""The stars up to each ratio to the best value; beyond the last one, 1."""
RULE = (
    "Three stars within a factor of 1.1 of the best engine measured here, two within 3, otherwise one. Stars compare "
    "the engines of this page with each other, and the paper's with each other. If only one engine was measured, only "
    "its value is shown. INVALID and FAILED results are excluded."
)

Read = Callable[[Reproduction, str], float | None]
"""The value of an engine."""


@dataclass(frozen=True)
class Criterion:
    metric: str
    """Of the paper's stars."""
    name: str
    description: str
    read: Read
    unit: str
    more_is_better: bool = False


def _of(reproduction: Reproduction, engine: str, experiments: Iterable[Experiment | str]) -> list[ExperimentResult]:
    """Usable results of all of them; empty if one is missing."""
    names = [one if isinstance(one, str) else one.name for one in experiments]
    found = {one.name: one for one in reproduction.experiments if one.engine == engine and one.usable}
    return [found[name] for name in names] if all(name in found for name in names) else []


def _mean(results: Sequence[ExperimentResult], metric: str) -> float | None:
    values = [result.value(metric) for result in results]
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known and len(known) == len(values) else None


def _skew(reproduction: Reproduction, engine: str) -> float | None:
    return _mean(_of(reproduction, engine, SKEW[-1:]), CAPACITY)


def _fluctuation(program: str) -> Read:
    """The p99 under the fluctuating load, against that of a constant one."""
    [fluctuating] = [one for one in FLUCTUATING if one.dimensions["program"] == program]

    def read(reproduction: Reproduction, engine: str) -> float | None:
        metric = "latency_ms.total.p99"
        both = _of(reproduction, engine, (fluctuating, latency_name(program, SIZES[0], "90 %")))
        values = [one.value(metric) for one in both]
        if len(values) < 2 or values[0] is None or not values[1]:
            return None
        return max(values[0] / values[1], 1.0)

    return read


_ALL_MAXIMUM = [one for program in PROGRAMS for one in MAXIMUM[program]]


def _average_latency(reproduction: Reproduction, engine: str) -> float | None:
    return _mean(_of(reproduction, engine, _ALL_MAXIMUM), "latency_ms.total.mean")


def _bounded_latency(reproduction: Reproduction, engine: str) -> float | None:
    """How far the highest latency lies above the mean, over all runs at full load."""
    ratios = []
    for result in _of(reproduction, engine, _ALL_MAXIMUM):
        highest, mean = (result.value(f"latency_ms.total.{name}") for name in ("max", "mean"))
        if highest is None or not mean:
            return None
        ratios.append(highest / mean)
    return sum(ratios) / len(ratios) if ratios else None


def _large_windows(reproduction: Reproduction, engine: str) -> float | None:
    """The better of both ways to compute them."""
    found = [one.value(CAPACITY) for name in LARGE_WINDOWS for one in _of(reproduction, engine, (name,))]
    return max((value for value in found if value is not None), default=None)


def _throughput(reproduction: Reproduction, engine: str) -> float | None:
    return _mean(_of(reproduction, engine, [one for of in SEARCHES.values() for one in of]), CAPACITY)


_PER_S = "records/s"
CRITERIA = (
    Criterion("stars.skew", "Data skew", "sustained with a single key, largest cluster", _skew, _PER_S, True),
    *(
        Criterion(
            f"stars.fluctuating-{program}",
            f"Fluctuating {program}",
            "p99 of the event-time latency under the fluctuating load, against that under a constant one",
            _fluctuation(program),
            "×",
        )
        for program in PROGRAMS
    ),
    Criterion(
        "stars.average-latency",
        "Average latency",
        "at full load, mean over programs and clusters",
        _average_latency,
        "ms",
    ),
    Criterion(
        "stars.bounded-latency",
        "Bounded latency",
        "highest latency against the mean at full load, mean over programs and clusters",
        _bounded_latency,
        "×",
    ),
    Criterion("stars.large-windows", "Large windows", "sustained with windows of 60 s", _large_windows, _PER_S, True),
    Criterion(
        "stars.throughput", "Throughput", "sustained, mean over programs and clusters", _throughput, _PER_S, True
    ),
)


def ratings(context: Context) -> list[Panel]:
    """Values and stars of every engine, then the paper's stars."""
    engines = context.reproduction.engines
    systems = list(dict.fromkeys(mark.system for mark in context.exhibit.marks))
    rows = []
    for criterion in CRITERIA:
        found = {engine: criterion.read(context.reproduction, engine) for engine in engines}
        values = {engine: value for engine, value in found.items() if value is not None}
        theirs = {mark.system: "★" * int(mark.value) for mark in context.marks(criterion.metric)}
        cells: list[str | Sequence[str]] = [[criterion.name, f"({criterion.description})"]]
        cells += [_cell(values.get(engine), list(values.values()), criterion) for engine in engines]
        cells += [theirs.get(system, NONE) for system in systems]
        rows.append(Row(cells))
    head = ["criterion (what is compared)", *engines, *(PAPER + system for system in systems)]
    return [Panel(tables=[Table("Stars; more are better", head, rows, frozenset(), RULE, explained=True)])]


def stars(value: float, values: Iterable[float], more_is_better: bool) -> int:
    """By the ratio to the best value."""
    if more_is_better:
        ratio = max(values) / value if value > 0 else float("inf")
    else:
        best = min(values)
        ratio = value / best if best > 0 else float("inf") if value > 0 else 1.0
    return next((count for most, count in STEPS if ratio <= most), 1)


def _cell(value: float | None, values: Sequence[float], criterion: Criterion) -> str | list[str]:
    if value is None:
        return NONE
    shown = f"{rounded(value)} {criterion.unit}"
    if len(values) < 2:
        return ["no stars", shown]
    return ["★" * stars(value, values, criterion.more_is_better), shown]
