"""The table of ratings: each engine's value per criterion, and its stars by the ratio to the best engine."""

from __future__ import annotations

import math
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
from streamgauge.studies.sustainable.throughput import edge_per_s, load_is_bound
from streamgauge.study import Experiment

STEPS, STEPS_END = ((1.1, 3), (3.0, 2)), 1
"""The stars up to each ratio to the best value, and beyond the last one."""
RULE = (
    "Three stars within a factor of 1.1 of the best engine measured here, two within 3, otherwise one. Stars compare "
    "the engines of this page with each other, and the paper's with each other. If only one engine was measured, only "
    "its value is shown. An engine that did not sustain the load and has no latency has one star. INVALID "
    "and FAILED results are excluded. ≥: the engine was not the limit of a search."
)


@dataclass(frozen=True)
class Value:
    """Of an engine. The worst there is, 0 or infinite, where it did not sustain the load."""

    number: float
    is_bound: bool = False
    """Whether the engine itself was not the limit."""


Read = Callable[[Reproduction, str], Value | None]
"""The value of an engine; None where it is not known."""


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


def _mean_rate(results: Sequence[ExperimentResult]) -> Value | None:
    """Of searches; one that found nothing that is sustained counts as 0."""
    rates = [0.0 if _missed(result) else result.value(CAPACITY) for result in results]
    known = [rate for rate in rates if rate is not None]
    if not known or len(known) < len(rates):
        return None
    bound = any(edge_per_s(result) is None and not _missed(result) for result in results)
    return Value(sum(known) / len(known), bound)


def _missed(result: ExperimentResult) -> bool:
    return result.capacity is not None and result.capacity.outcome == "missed"


def _latency(result: ExperimentResult, metric: str) -> float | None:
    """Infinite where the load was not sustained, so that results were missing or not evaluated."""
    value = result.value(f"latency_ms.total.{metric}")
    gave_out = result.summary is not None and result.summary.sustained is False
    return math.inf if value is None and gave_out else value


def _skew(reproduction: Reproduction, engine: str) -> Value | None:
    return _mean_rate(_of(reproduction, engine, SKEW[-1:]))


def _fluctuation(program: str) -> Read:
    """The p99 under the fluctuating load, against that of a constant one."""
    [fluctuating] = [one for one in FLUCTUATING if one.dimensions["program"] == program]

    def read(reproduction: Reproduction, engine: str) -> Value | None:
        both = _of(reproduction, engine, (fluctuating, latency_name(program, SIZES[0], "90 %")))
        values = [_latency(one, "p99") for one in both]
        if len(values) < 2 or values[0] is None or not values[1]:
            return None
        return Value(math.inf if math.inf in values else max(values[0] / values[1], 1.0))

    return read


_ALL_MAXIMUM = [one for program in PROGRAMS for one in MAXIMUM[program]]


def _average_latency(reproduction: Reproduction, engine: str) -> Value | None:
    means = [_latency(result, "mean") for result in _of(reproduction, engine, _ALL_MAXIMUM)]
    known = [mean for mean in means if mean is not None]
    if not known or len(known) < len(means):
        return None
    return Value(sum(known) / len(known), _is_bound(reproduction, engine))


def _bounded_latency(reproduction: Reproduction, engine: str) -> Value | None:
    """How far the highest latency lies above the mean, over all runs at full load."""
    ratios = []
    for result in _of(reproduction, engine, _ALL_MAXIMUM):
        highest, mean = (_latency(result, name) for name in ("max", "mean"))
        if highest is None or not mean:
            return None
        ratios.append(math.inf if math.inf in (highest, mean) else highest / mean)
    return Value(sum(ratios) / len(ratios), _is_bound(reproduction, engine)) if ratios else None


def _is_bound(reproduction: Reproduction, engine: str) -> bool:
    """Whether one of the rates at full load is only a bound of what the engine sustains."""
    return any(load_is_bound(reproduction, result) for result in _of(reproduction, engine, _ALL_MAXIMUM))


def _large_windows(reproduction: Reproduction, engine: str) -> Value | None:
    """The better of both ways to compute them."""
    found = [_mean_rate(_of(reproduction, engine, (name,))) for name in LARGE_WINDOWS]
    return max((value for value in found if value is not None), key=lambda value: value.number, default=None)


def _throughput(reproduction: Reproduction, engine: str) -> Value | None:
    return _mean_rate(_of(reproduction, engine, [one for of in SEARCHES.values() for one in of]))


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
    """By the ratio to the best value; one for what is 0 or infinite and so not sustained."""
    if math.isinf(value):
        return STEPS_END
    if more_is_better:
        ratio = max(values) / value if value > 0 else float("inf")
    else:
        best = min(values)
        ratio = value / best if best > 0 else float("inf") if value > 0 else 1.0
    return next((count for most, count in STEPS if ratio <= most), STEPS_END)


def _cell(value: Value | None, values: Sequence[Value], criterion: Criterion) -> str | list[str]:
    if value is None:
        return NONE
    failed = math.isinf(value.number) or (criterion.more_is_better and not value.number)
    shown = "not sustained" if failed else f"{'≥ ' * value.is_bound}{rounded(value.number)} {criterion.unit}"
    if len(values) < 2:
        return ["no stars", shown]
    return ["★" * stars(value.number, [one.number for one in values], criterion.more_is_better), shown]
