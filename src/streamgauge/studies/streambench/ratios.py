"""Ratios between programs: those that the paper publishes, and those found here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from streamgauge.report.exhibit import Context, Row, Table
from streamgauge.report.published import PAPER, number_short
from streamgauge.report.reproduction import ExperimentResult
from streamgauge.report.text import NONE, rounded
from streamgauge.studies.streambench.numbers import OTHERS, ProgramRatio


def ratios_table(
    context: Context, measured: Sequence[ExperimentResult], ratios: Sequence[ProgramRatio], metric: str, note: str
) -> Table:
    """A row for each ratio, with a column for each of the paper's systems and each engine."""
    values: dict[str, dict[str, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for one in measured:
        if one.usable and (value := one.value(metric)):
            values[one.engine][one.dimensions.get("scale", "")][one.dimensions["program"]] = value
    others = len({one.dimensions["program"] for one in context.exhibit.experiments}) - 1
    systems = list(dict.fromkeys(ratio.system for ratio in ratios))
    engines = context.reproduction.engines
    rows = [
        Row(
            [
                ratio.words,
                *(_published(ratio) if ratio.system == system else NONE for system in systems),
                *(_cell(_by_scale(ratio, values[engine], others)) for engine in engines),
            ]
        )
        for ratio in ratios
    ]
    head = ["programs", *(PAPER + system for system in systems), *engines]
    return Table("Ratios between programs", head, rows, frozenset(range(1, len(head))), note, explained=True)


def _published(ratio: ProgramRatio) -> str:
    return f"{ratio.precision} {number_short(ratio.value)} ×"


def _by_scale(ratio: ProgramRatio, values: Mapping[str, Mapping[str, float]], others: int) -> list[float]:
    """At each scale at which both sides have a value: the mean of the others is one of all of them."""
    found = []
    for of_scale in values.values():
        if ratio.against == OTHERS:
            against = [value for program, value in of_scale.items() if program != ratio.program]
            against = against if len(against) == others else []
        else:
            against = [value for program, value in of_scale.items() if program == ratio.against]
        if against and ratio.program in of_scale:
            found.append(of_scale[ratio.program] / (sum(against) / len(against)))
    return found


def _cell(found: Sequence[float]) -> str | list[str]:
    if not found:
        return NONE
    mean = f"{rounded(sum(found) / len(found))} ×"
    return mean if len(found) == 1 else [mean, f"mean of {len(found)} scales"]
