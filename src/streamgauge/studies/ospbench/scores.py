"""The table of scores: each system's value per decision factor, and its score relative to the best system."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from streamgauge.report.exhibit import Context, Panel, Row, Table
from streamgauge.report.published import PAPER
from streamgauge.report.reproduction import CAPACITY, ExperimentResult, Reproduction
from streamgauge.report.text import NONE, number, rounded
from streamgauge.studies.stages import STAGE, VARIANT, Variant
from streamgauge.study import Mark

CONSTRAINED_P99_MS = 2000
STEPS = ((1.1, 4), (2.0, 3), (5.0, 2))
"""The score up to each ratio to the best value; beyond the last one, 1."""
RULE = (
    "Score: 4 within 10 % of the best system measured here, 3 within a factor of 2, 2 within a factor of 5, otherwise "
    "1. Scores are meaningful only within this table. If only one system was measured, only its value is shown. "
    "INVALID and FAILED runs are excluded. Times below 1 ms count as 1 ms, the resolution of the timestamps."
)
REAL_TIME: Variant = "real-time"

Read = Callable[[ExperimentResult], float | None]


@dataclass(frozen=True)
class Factor:
    """A decision factor: the mean of one value over some stages of a workload."""

    metric: str
    """The metric of the paper's scores."""
    workload: str
    """Its name in the paper."""
    name: str
    scenario: str
    stages: tuple[str, ...]
    variant: Variant
    read: Read
    unit: str
    description: str
    more_is_better: bool = False


STATELESS, STATEFUL = ("ingest", "parse"), ("join", "tumbling", "sliding")
APIS: tuple[tuple[str, str, tuple[str, ...], Variant], ...] = (
    ("stateless", "stateless stages", STATELESS, "built-in"),
    ("built-in", "built-in stateful API", STATEFUL, "built-in"),
    ("customised", "customised stateful API", STATEFUL, "customised"),
)


def factors(latency: str) -> list[Factor]:
    """In the order of the paper; ``latency`` is the kind of latency in its figures."""
    windows: tuple[str, tuple[str, ...], Variant] = ("throughput", ("tumbling",), "built-in")
    burst: tuple[str, tuple[str, ...], Variant] = ("single-burst", ("tumbling",), "built-in")
    limit = f"{CONSTRAINED_P99_MS:,} ms"
    return [
        *(
            Factor(
                *(f"score.latency.{id_}", "Latency", name, "latency", stages, variant),
                *(value_of(f"latency.{latency}.p50"), "ms", "median latency, mean over {stages}"),
            )
            for id_, name, stages, variant in APIS
        ),
        Factor(
            *("score.throughput.unconstrained", "Sustainable throughput", "unconstrained latency", *windows),
            *(value_of(CAPACITY), "records/s", "highest rate sustained", True),
        ),
        Factor(
            *("score.throughput.constrained", "Sustainable throughput", "constrained latency", *windows),
            *(_constrained_capacity, "records/s"),
            *(f"highest rate sustained with a p99 of the end-to-end latency below {limit}", True),
        ),
        Factor(
            *("score.single-burst.first-output", "Single burst", "initial output", *burst),
            *(value_of("burst.first_output_s"), "s", "from the engine's start to its first output"),
        ),
        Factor(
            *("score.single-burst.caught-up", "Single burst", "processing time", *burst),
            *(value_of("burst.caught_up_s"), "s", "from the engine's start until it caught up"),
        ),
        *(
            Factor(
                *(f"score.periodic-burst.{id_}", "Periodic burst", name, "periodic-burst", stages, variant),
                *(value_of("burst.p99_peak_ms"), "ms"),
                "p99 of the end-to-end latency at the peak, median over the bursts, mean over {stages}",
            )
            for id_, name, stages, variant in APIS
        ),
    ]


def value_of(metric: str) -> Read:
    return lambda result: result.value(metric)


def scores(context: Context) -> list[Panel]:
    """Values and scores of every system in the reproduction, then the paper's scores."""
    reproduction = context.reproduction
    systems = _systems(reproduction)
    columns = _columns(context, systems)
    rows = []
    for factor in factors(context.study.latency):
        theirs = {mark.system: number(mark.value) for mark in context.marks(factor.metric)}
        values, stages = _values(factor, reproduction, systems)
        description = factor.description.format(stages=", ".join(stages or factor.stages))
        cells: list[str | Sequence[str]] = [factor.workload, [factor.name, f"({description})"]]
        for column in columns:
            if isinstance(column, str):
                cells.append(theirs.get(column, NONE))
            else:
                cells.append(_cell(values.get(column), values, factor))
        rows.append(Row(cells))
    names = [PAPER + column if isinstance(column, str) else _system_name(column) for column in columns]
    head = ["workload", "decision factor (what is compared)", *names]
    numbers = frozenset(range(2, len(head)))
    return [Panel(tables=[Table("Scores from 1 to 4; higher is better", head, rows, numbers, RULE, explained=True)])]


System = tuple[str, bool]
"""An engine, and whether it is in real-time mode, which counts as a separate system."""


def _systems(reproduction: Reproduction) -> list[System]:
    systems = [(engine, False) for engine in reproduction.engines]
    # No empty column for an engine without that mode.
    systems += [
        (result.engine, True)
        for result in reproduction.experiments
        if result.dimensions.get(VARIANT) == REAL_TIME and result.state != "not run"
    ]
    return sorted(dict.fromkeys(systems), key=lambda system: (reproduction.engines.index(system[0]), system[1]))


def _columns(context: Context, systems: Sequence[System]) -> list[System | str]:
    """Each system with its scores in the paper next to it; then the paper's other systems, by name."""
    marks: Sequence[Mark] = context.exhibit.marks
    beside = {ours: mark.system for mark in marks if (ours := context.counterpart(mark)) is not None}
    columns: list[System | str] = []
    for system in systems:
        columns.append(system)
        if not system[1] and system[0] in beside:
            columns.append(beside[system[0]])
    return [*columns, *(name for name in dict.fromkeys(mark.system for mark in marks) if name not in columns)]


def _system_name(system: System) -> str:
    return f"{system[0]}, real-time" if system[1] else system[0]


def _values(
    factor: Factor, reproduction: Reproduction, systems: Iterable[System]
) -> tuple[dict[System, float], list[str]]:
    """The value of every system that has one, over the stages that they have in common."""
    by_system: dict[System, dict[str, float]] = {}
    for system in systems:
        if system[1] and factor.variant != "built-in":
            continue
        variant = REAL_TIME if system[1] else factor.variant
        for result in reproduction.experiments:
            stage = result.dimensions.get(STAGE, "")
            about = (result.engine, result.scenario_name, result.dimensions.get(VARIANT))
            if about == (system[0], factor.scenario, variant) and stage in factor.stages and result.usable:
                value = factor.read(result)
                if value is not None:
                    by_system.setdefault(system, {})[stage] = value
    common = [stage for stage in factor.stages if by_system and all(stage in of for of in by_system.values())]
    if not common:
        return {}, []
    return {system: sum(values[s] for s in common) / len(common) for system, values in by_system.items()}, common


def score(value: float, values: Iterable[float], more_is_better: bool) -> int:
    """The score by the ratio to the best value."""
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
    # Times in seconds are compared in milliseconds, so that all have the same floor.
    scale = 1000 if factor.unit == "s" else 1
    points = score(scale * value, [scale * one for one in values.values()], factor.more_is_better)
    return [str(points), shown]


def _constrained_capacity(result: ExperimentResult) -> float | None:
    """0 if every sustained rate had a higher latency: the worst possible result."""
    best = result.value(CAPACITY)
    if best is None or result.capacity is None:
        return None
    rates = [
        float(probe.value)
        for probe in result.capacity.probes
        if probe.verdict == "sustained" and (probe.total_p99 or float("inf")) < CONSTRAINED_P99_MS
    ]
    # A rate that was sustained once but not confirmed does not count.
    return max((rate for rate in rates if rate <= best), default=0.0)
