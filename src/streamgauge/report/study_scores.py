"""The table of scores: each system's value per decision factor, and a score relative to the best of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.report.study_parts import PAPER, Context, Panel, Row, Table
from streamgauge.report.study_source import ExperimentResult, Reproduction
from streamgauge.report.text import NONE, number, rounded
from streamgauge.studies.description import Mark, Variant

CONSTRAINED_P99_MS = 2000
STEPS = ((1.1, 4), (2.0, 3), (5.0, 2))
"""Up to this ratio to the best value, that score; beyond the last one, 1."""
RULE = (
    "The rule: 4 within 10 % of the best system measured here, 3 within a factor of 2, 2 within a factor of 5, else 1. "
    "A score says nothing outside this table. Where only one system was measured there is nothing to score against, "
    "and only its value is shown. INVALID and FAILED runs are left out. Times below 1 ms count as 1 ms, the resolution "
    "of the stamps."
)
SCORE_UNIT = "score"

Read = Callable[[ExperimentResult, str], float | None]


@dataclass(frozen=True)
class Factor:
    """A decision factor: the mean of one value over some stages of a workload."""

    workload: str
    """As the paper names it."""
    name: str
    scenario: str
    stages: tuple[str, ...]
    variant: Variant
    read: Read
    unit: str
    says: str
    more_is_better: bool = False

    @property
    def what(self) -> str:
        """What the mark of a paper's score says of itself."""
        return f"{self.workload.lower()}: {self.name}"


def factors() -> list[Factor]:
    stateless, stateful = ("ingest", "parse"), ("join", "tumbling", "sliding")
    median = "median latency, mean over {stages}"
    peak = "p99 of the total latency at the peak, median over the bursts, mean over {stages}"
    limit = f"{CONSTRAINED_P99_MS:,} ms"
    return [
        Factor("Latency", "stateless stages", "latency", stateless, "built-in", _median_ms, "ms", median),
        Factor("Latency", "built-in stateful API", "latency", stateful, "built-in", _median_ms, "ms", median),
        Factor("Latency", "customised stateful API", "latency", stateful, "customised", _median_ms, "ms", median),
        Factor(
            *("Sustainable throughput", "unconstrained latency", "throughput", ("tumbling",), "built-in"),
            *(_capacity, "records/s", "highest rate sustained", True),
        ),
        Factor(
            *("Sustainable throughput", "constrained latency", "throughput", ("tumbling",), "built-in"),
            *(
                _constrained_capacity,
                "records/s",
                f"highest rate sustained with a p99 of the total latency below {limit}",
                True,
            ),
        ),
        Factor(
            *("Single burst", "initial output", "single-burst", ("tumbling",), "built-in"),
            *(_burst("first_output_s"), "s", "from the engine's start to its first output"),
        ),
        Factor(
            *("Single burst", "processing time", "single-burst", ("tumbling",), "built-in"),
            *(_burst("caught_up_s"), "s", "from the engine's start until it had caught up"),
        ),
        *(
            Factor("Periodic burst", name, "periodic-burst", stages, variant, _burst("p99_peak_ms"), "ms", peak)
            for name, stages, variant in _PERIODIC
        ),
    ]


_PERIODIC: tuple[tuple[str, tuple[str, ...], Variant], ...] = (
    ("stateless stages", ("ingest", "parse"), "built-in"),
    ("built-in stateful API", ("join", "tumbling", "sliding"), "built-in"),
    ("customised stateful API", ("join", "tumbling", "sliding"), "customised"),
)


def scores(context: Context) -> list[Panel]:
    """Values and scores of every system of the reproduction, then the paper's own scores."""
    reproduction = context.reproduction
    systems = _systems(reproduction)
    theirs = [mark for mark in context.exhibit.marks if mark.unit == SCORE_UNIT]
    columns = _columns(context, systems, theirs)
    rows = []
    for factor in factors():
        values, stages = _values(factor, reproduction, context.study.latency, systems)
        says = factor.says.format(stages=", ".join(stages or factor.stages))
        cells: list[str | Sequence[str]] = [factor.workload, [factor.name, f"({says})"]]
        for column in columns:
            if isinstance(column, str):
                cells.append(_their_score(theirs, column, factor))
            else:
                cells.append(_cell(values.get(column), values, factor))
        rows.append(Row(cells))
    names = [PAPER + column if isinstance(column, str) else _system_name(column) for column in columns]
    head = ["workload", "decision factor (what is compared)", *names]
    numbers = frozenset(range(2, len(head)))
    return [Panel(tables=[Table("Scores from 1 to 4; more is better", head, rows, numbers, RULE, explained=True)])]


System = tuple[str, bool]
"""An engine, and whether in real-time mode, which is a system of its own where latency is concerned."""


def _systems(reproduction: Reproduction) -> list[System]:
    found = [(engine, False) for engine in reproduction.engines]
    # An engine without such a mode has no column of dashes for it.
    found += [
        (taken.engine, True)
        for taken in reproduction.experiments
        if taken.variant == "real-time" and taken.state != "not run"
    ]
    return sorted(dict.fromkeys(found), key=lambda system: (reproduction.engines.index(system[0]), system[1]))


def _columns(context: Context, systems: Sequence[System], theirs: Sequence[Mark]) -> list[System | str]:
    """Each system with the paper's scores of it beside it; at the end the paper's others, by their names."""
    papers = dict.fromkeys(mark.engine for mark in theirs)
    beside = {ours: mark.engine for mark in theirs if (ours := context.counterpart(mark)) is not None}
    columns: list[System | str] = []
    for system in systems:
        columns.append(system)
        if not system[1] and system[0] in beside:
            columns.append(beside[system[0]])
    return [*columns, *(name for name in papers if name not in columns)]


def _system_name(system: System) -> str:
    return f"{system[0]}, real-time" if system[1] else system[0]


def _values(
    factor: Factor, reproduction: Reproduction, kind: str, systems: Iterable[System]
) -> tuple[dict[System, float], list[str]]:
    """The value of every system that has one, over the stages that all of these have."""
    found: dict[System, dict[str, float]] = {}
    for system in systems:
        variant = factor.variant
        if system[1]:
            if factor.variant != "built-in":
                continue
            variant = "real-time"
        for taken in reproduction.experiments:
            mine = (taken.engine, taken.workload, taken.variant) == (system[0], factor.scenario, variant)
            if mine and taken.stage in factor.stages and taken.usable:
                value = factor.read(taken, kind)
                if value is not None:
                    found.setdefault(system, {})[taken.stage] = value
    common = [stage for stage in factor.stages if found and all(stage in values for values in found.values())]
    if not common:
        return {}, []
    return {system: sum(values[s] for s in common) / len(common) for system, values in found.items()}, common


def score(value: float, values: Iterable[float], more_is_better: bool) -> int:
    """By the ratio to the best of the values."""
    if more_is_better:
        ratio = max(values) / value if value > 0 else float("inf")
    else:
        ratio = max(value, 1.0) / max(min(values), 1.0)
    return next((points for most, points in STEPS if ratio <= most), 1)


def _cell(value: float | None, values: Mapping[System, float], factor: Factor) -> str | Sequence[str]:
    if value is None:
        return NONE
    shown = f"{rounded(value)} {factor.unit}" if value or not factor.more_is_better else "none"
    if len(values) < 2:
        return ["no score", shown]
    # Times in seconds are compared in milliseconds, so that the floor is the same for all.
    scale = 1000 if factor.unit == "s" else 1
    points = score(scale * value, [scale * one for one in values.values()], factor.more_is_better)
    return [str(points), shown]


def _their_score(marks: Sequence[Mark], engine: str, factor: Factor) -> str:
    return next((number(mark.value) for mark in marks if (mark.engine, mark.what) == (engine, factor.what)), NONE)


def _median_ms(taken: ExperimentResult, kind: str) -> float | None:
    return _number(((taken.summary.get("latency_ms") or {}).get(kind) or {}).get("p50"))


def _capacity(taken: ExperimentResult, kind: str) -> float | None:
    return None if taken.capacity is None else taken.capacity.interval[0]


def _constrained_capacity(taken: ExperimentResult, kind: str) -> float | None:
    """0 where every rate that was sustained had a longer latency: that is an answer, and the worst one."""
    best = _capacity(taken, kind)
    if best is None or taken.capacity is None:
        return None
    rates = [
        float(probe.value)
        for probe in taken.capacity.probes
        if probe.verdict == "sustained" and (probe.total_p99 or float("inf")) < CONSTRAINED_P99_MS
    ]
    # One that was sustained once, and not when it was confirmed, is none.
    return max((rate for rate in rates if rate <= best), default=0.0)


def _burst(name: str) -> Read:
    def read(taken: ExperimentResult, kind: str) -> float | None:
        return _number((taken.summary.get("burst") or {}).get(name))

    return read


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
