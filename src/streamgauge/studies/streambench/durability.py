"""The durability workload suite: whether a system keeps responding for a long time, and what it needs for that."""

from __future__ import annotations

from collections.abc import Sequence

from streamgauge.model.summary import Durability
from streamgauge.report.durability import growth_text, longest_text, percent
from streamgauge.report.exhibit import Context, Panel, Row, Table, unusable
from streamgauge.report.published import marks_table
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.text import NONE, number
from streamgauge.studies.streambench.numbers import SPARK_STREAMING, STORM
from streamgauge.study import Exhibit, Experiment, Mark

INDEX, FAILED = "durability.index", "durability.failed_rate"
RATES = {"10k": ("10,000", "167"), "1m": ("1,000,000", "16667")}
"""By the name of the experiment: records per minute, and per second."""

EXPERIMENTS = tuple(
    Experiment(
        "streambench/durability",
        f"durability-{name}",
        {"rate_per_s": per_s},
        {"records per minute": per_minute},
    )
    for name, (per_minute, per_s) in RATES.items()
)

# Section IV.B.4.
MARKS = (
    *(
        Mark(system, INDEX, 100, "%", "durability index", {"records per minute": per_minute})
        for system in (SPARK_STREAMING, STORM)
        for per_minute, _ in RATES.values()
    ),
    Mark(STORM, FAILED, 2.16, "%", "failed records, roughly", {"records per minute": "1,000,000"}),
)


def durability(context: Context) -> list[Panel]:
    """Index, failed records and growth of each run, and the paper's numbers."""
    measured = [result for result in context.results if result.has_result and result.value(INDEX) is not None]
    tables = [_table(measured)] if measured else []
    return [*unusable(measured), Panel(tables=[*tables, *marks_table(context.exhibit.marks)])]


def _table(results: Sequence[ExperimentResult]) -> Table:
    head = [
        "records per minute",
        "engine",
        "evaluated, s",
        "durability index",
        "longest time without a result",
        "failed records",
    ]
    head += ["memory of the engine", "heap of the engine after GC", "verdict"]
    rows = [Row(_cells(result), muted=not result.usable) for result in results]
    note = (
        "A system is unavailable from one result to the next where they are further apart than the quiet time. Failed: "
        "lost, wrong or unfinished records, of those that should have a result. Memory: the trend over the "
        "measured interval without its first five minutes, with its 95 % interval."
    )
    return Table("Durability of each run", head, rows, frozenset({2, 3, 4, 5}), note)


def _cells(result: ExperimentResult) -> list[str]:
    found = None if result.summary is None else result.summary.durability
    return [
        result.dimensions["records per minute"],
        result.engine,
        NONE if found is None else _evaluated_text(found, result),
        percent(result.value(INDEX)),
        NONE if found is None else longest_text(found.longest_gap_s),
        percent(result.value(FAILED)),
        NONE if found is None else growth_text(found.growth_mb_per_hour.get("engine")),
        NONE if found is None else growth_text(found.heap_growth_mb_per_hour),
        result.verdict,
    ]


def _evaluated_text(found: Durability, result: ExperimentResult) -> str:
    """Seconds of the measured interval, and of how many if slices are missing."""
    assert result.manifest is not None
    load = result.manifest.scenario.load
    whole = number(load.measured_s)
    return whole if found.complete else f"{number(max(found.evaluated_s - load.warmup_s, 0))} of {whole}"


EXHIBIT = Exhibit(
    "Section IV.B.4",
    "Durability workload suite",
    durability,
    experiments=EXPERIMENTS,
    marks=MARKS,
    note="The paper runs each rate for two days and gives its findings in the text, without a table or a figure. It "
    "calls a record failed that Storm had to process again; here a record fails that has no right result in the end.",
)
