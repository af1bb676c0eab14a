"""The paper's numbers beside ours: open symbols in a figure, a table of their own, and an order to look for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from streamgauge.report.draw import Figure, label
from streamgauge.report.exhibit import Context, Row, Table, fits
from streamgauge.report.text import NONE, number, rounded
from streamgauge.study import Mark

PAPER = "paper: "
_SYMBOLS = ("diamond-open", "square-open", "triangle-up-open", "star-open", "cross-open", "hexagon-open")


def mark_text(mark: Mark) -> str:
    return f"{PAPER}{mark.system}, {number_short(mark.value)} {mark.unit}".rstrip()


def number_short(value: float) -> str:
    return number(value, 0 if float(value).is_integer() else 2 if abs(value) >= 0.01 else 3)


def mark_traces(context: Context, points: Sequence[tuple[Mark, float | str, float]]) -> list[Figure]:
    """Marks of the paper's numbers at (x, y), one trace for each of its systems, named as the paper's.

    A system has one symbol in all figures of an exhibit, and the colour of the engine that it is here.
    """
    systems = list(dict.fromkeys(mark.system for mark in context.exhibit.marks))
    by_system: dict[str, list[tuple[Mark, float | str, float]]] = defaultdict(list)
    for point in points:
        by_system[point[0].system].append(point)
    traces = []
    for system, of_system in by_system.items():
        ours = context.counterpart(of_system[0][0])
        color = "--muted" if ours is None else context.engine_color(ours)
        symbol = _SYMBOLS[systems.index(system) % len(_SYMBOLS)]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label(PAPER + system),
                "x": [x for _, x, _ in of_system],
                "y": [y for _, _, y in of_system],
                "text": [label(f"{mark_text(mark)} ({mark.label})") for mark, _, _ in of_system],
                "hovertemplate": "%{text}<extra></extra>",
                "cliponaxis": False,
                "marker": {"symbol": symbol, "size": 10, "color": color, "line": {"width": 2}},
            }
        )
    return traces


def marks_table(marks: Sequence[Mark]) -> list[Table]:
    """Every number of the paper that belongs to an exhibit: a column for each of its systems."""
    systems = list(dict.fromkeys(mark.system for mark in marks))
    names = list(dict.fromkeys(name for mark in marks for name in mark.dimensions))
    order = {name: list(dict.fromkeys(mark.dimensions.get(name, "") for mark in marks)) for name in names}
    values: dict[tuple[str, ...], dict[str, str]] = {}
    for mark in sorted(marks, key=lambda mark: [order[name].index(mark.dimensions.get(name, "")) for name in names]):
        about = (
            *(mark.dimensions.get(name, "") for name in names),
            mark.label + (f" ({mark.unit})" if mark.unit else ""),
        )
        values.setdefault(about, {})[mark.system] = number_short(mark.value)
    rows = [Row([*about, *(of_row.get(system, NONE) for system in systems)]) for about, of_row in values.items()]
    head = [*names, "what", *(PAPER + system for system in systems)]
    return [Table("The paper's numbers", head, rows, frozenset(range(len(names) + 1, len(head))))] if rows else []


def ranking_finding(context: Context, here: Mapping[str, float]) -> str:
    """Whether the order that the paper found is found here, with the numbers; empty where it found none.

    ``here`` has the value of each engine with a VALID run of the ranking's experiment.
    """
    ranking = context.exhibit.ranking
    if ranking is None:
        return ""
    marks = [mark for mark in context.marks(ranking.metric) if fits(ranking.dimensions, mark.dimensions)]
    theirs = {mark.system: mark.value for mark in marks}
    unit = next((mark.unit for mark in marks), "")

    def listed(values: Mapping[str, float], names: Sequence[str]) -> str:
        return ", ".join(f"{name} {rounded(values[name])} {unit}" for name in names if name in values)

    engines = context.study.engines
    lower, higher = ([engines[name] for name in side if name in engines] for side in (ranking.lower, ranking.higher))
    about = (
        f"The paper's order of the {ranking.label} ({listed(theirs, ranking.lower)}; {listed(theirs, ranking.higher)}),"
    )
    for side in (lower, higher):
        if not any(engine in here for engine in side):
            return f"{about} is undecided here: no VALID run of {' or '.join(side)}."
    top = max((engine for engine in lower if engine in here), key=lambda engine: here[engine])
    bottom = min((engine for engine in higher if engine in here), key=lambda engine: here[engine])
    holds = here[top] < here[bottom]
    absent = [engine for engine in dict.fromkeys((*lower, *higher)) if engine not in here]
    without = f" Without {' and '.join(absent)}: no VALID run." if absent else ""
    return (
        f"{about} is {'found' if holds else 'not found'} here: {listed(here, lower)}; {listed(here, higher)}. "
        f"{top} ({rounded(here[top])} {unit}) is {'' if holds else 'not '}below {bottom} "
        f"({rounded(here[bottom])} {unit}).{without}"
    )
