"""What the page of a study is made of, and what its exhibits have in common."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from streamgauge.model import NS_PER_S
from streamgauge.report.draw import SERIES, Figure, label
from streamgauge.report.source import Source
from streamgauge.report.study_source import VARIANTS, ExperimentResult, Reproduction
from streamgauge.report.text import NONE, number
from streamgauge.studies.description import Exhibit, Mark, Study

SAMPLES_ABOVE = 10
"""A percentile is shown when at least this many samples lie above it."""
FLOOR_MS = 0.5
"""Stamps are whole milliseconds, and a logarithmic axis has no zero: less than this is drawn here."""
PAPER = "paper: "
MEDIAN, ADDED, RATE, CAUGHT_UP = "median latency", "added median latency", "sustainable rate", "caught up"
"""What a mark must say of itself to be drawn; the others stand in the table of the paper's numbers."""
_SYMBOLS = ("diamond-open", "square-open", "triangle-up-open", "star-open", "cross-open", "hexagon-open")


@dataclass(frozen=True)
class Plot:
    """A figure with its caption, which states the main numbers for those who cannot see it."""

    name: str
    title: str
    figure: Figure
    caption: str
    height_rem: float = 21.0
    wide: bool = True
    """Over the whole width; otherwise beside the next one."""


@dataclass(frozen=True)
class Row:
    """A row of a table: its cells are text, or several lines of it."""

    cells: Sequence[str | Sequence[str]]
    muted: bool = False


@dataclass(frozen=True)
class Table:
    """The first column names the row; ``numbers`` are the positions of columns set flush right."""

    title: str
    head: Sequence[str]
    rows: Sequence[Row]
    numbers: frozenset[int] = frozenset()
    note: str = ""
    explained: bool = False
    """The second line of a cell explains the first; otherwise the lines of a cell are equals."""


@dataclass(frozen=True)
class Panel:
    """What belongs to one experiment; without a title, to the whole exhibit."""

    title: str = ""
    verdict: str = ""
    """Of the experiment; empty where the panel is not about one, and its rows carry their own."""
    why: str = ""
    finding: str = ""
    """A sentence computed from the measurements."""
    plots: Sequence[Plot] = ()
    tables: Sequence[Table] = ()


@dataclass(frozen=True)
class Section:
    """One exhibit of the paper on the page."""

    id: str
    exhibit: Exhibit
    panels: Sequence[Panel]
    gaps: Sequence[str]


@dataclass(frozen=True)
class Context:
    """All that an exhibit is drawn from."""

    id: str
    study: Study
    exhibit: Exhibit
    reproduction: Reproduction

    @property
    def taken(self) -> list[ExperimentResult]:
        return self.reproduction.of(self.exhibit.experiments)

    def engine_color(self, engine: str) -> str:
        """The same on the whole page."""
        return SERIES[self.reproduction.engines.index(engine) % len(SERIES)]

    def color(self, taken: ExperimentResult) -> str:
        """Its engine's, or grey for what must not be used."""
        return self.engine_color(taken.engine) if taken.usable else "--muted"

    def name(self, taken: ExperimentResult) -> str:
        """As figures call it: by its engine, which tells the experiments of one exhibit apart."""
        return taken.engine if taken.usable else f"{taken.engine}: {taken.verdict}, do not use"

    def counterpart(self, mark: Mark) -> str | None:
        """The engine of this reproduction that is the paper's system, where there is one."""
        ours = self.study.engines.get(mark.engine)
        return ours if ours in self.reproduction.engines else None


@dataclass(frozen=True)
class Distribution:
    """Samples as distinct values, rising, with their counts."""

    values: np.ndarray
    counts: np.ndarray

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    def percentile(self, percent: float, above: int = SAMPLES_ABOVE) -> float | None:
        """Interpolated between the two nearest samples; None unless ``above`` samples lie above it."""
        last = self.count - 1
        place = max(last, 0) * percent / 100
        lower = int(place)
        if last < 0 or last - lower < above:
            return None
        ends = np.cumsum(self.counts)
        low, high = self.values[np.searchsorted(ends, [lower, min(lower + 1, last)], side="right")]
        return float(low + (high - low) * (place - lower))

    def level(self, percent: float) -> float:
        """For drawing, where a few samples are drawn as they are."""
        found = self.percentile(percent, above=0)
        assert found is not None
        return found


@dataclass(frozen=True)
class Measured:
    """An experiment that has latencies, whatever its verdict."""

    taken: ExperimentResult
    found: Distribution


def measured_latencies(context: Context) -> list[Measured]:
    """Of the study's kind, in the order of the stages, then variants, then engines."""
    kind = context.study.latency
    stages = list(dict.fromkeys(one.stage for one in context.exhibit.experiments))
    found = []
    for taken in context.taken:
        if taken.has_result and taken.source is not None and kind in taken.source.latency:
            found.append(Measured(taken, Distribution(*taken.source.latency[kind])))
    engines = context.reproduction.engines
    return sorted(
        found,
        key=lambda m: (
            stages.index(m.taken.stage),
            VARIANTS.index(m.taken.variant),
            engines.index(m.taken.engine),
        ),
    )


def system(measured: Measured) -> str:
    return f"{measured.taken.engine}, {measured.taken.variant}"


def verdict_words(taken: ExperimentResult) -> str:
    """The verdict, and the state where it is worth a word."""
    state = taken.summary.get("state")
    return f"{taken.verdict}, {state}" if state in ("drifting", "overloaded") else taken.verdict


def gaps(context: Context) -> list[str]:
    """A line for each experiment of the exhibit that has nothing to show."""
    said = []
    for taken in context.taken:
        source = taken.source
        if not taken.has_result:
            said.append(f"{taken.title}: {taken.verdict}. {taken.why}")
        elif taken.purpose == "run" and source is None:
            why = f". {taken.why}" if taken.why else ""
            said.append(f"{taken.title}: {taken.verdict}, and its directory {taken.directory} cannot be read{why}")
        elif source is not None and not source.latency:
            said.append(f"{taken.title}: {taken.verdict}, without a measured result. {taken.why}")
    left_out = context.reproduction.missing(context.exhibit.experiments)
    return said + ([f"{', '.join(left_out)}: not part of this reproduction"] if left_out else [])


def mark_text(mark: Mark) -> str:
    return f"{PAPER}{mark.engine}, {number_short(mark.value)} {mark.unit}"


def number_short(value: float) -> str:
    return number(value, 0 if float(value).is_integer() else 2)


def paper_marks(context: Context, points: Sequence[tuple[Mark, float | str, float]]) -> list[Figure]:
    """Marks of the paper's numbers at (x, y), one trace for each of its systems, named as theirs.

    A system has one symbol in all figures of an exhibit, and the colour of the engine that it is here.
    """
    systems = list(dict.fromkeys(mark.engine for mark in context.exhibit.marks))
    by_system: dict[str, list[tuple[Mark, float | str, float]]] = defaultdict(list)
    for point in points:
        by_system[point[0].engine].append(point)
    traces = []
    for system_, of_system in by_system.items():
        ours = context.counterpart(of_system[0][0])
        color = "--muted" if ours is None else context.engine_color(ours)
        symbol = _SYMBOLS[systems.index(system_) % len(_SYMBOLS)]
        traces.append(
            {
                "type": "scatter",
                "mode": "markers",
                "name": label(PAPER + system_),
                "x": [x for _, x, _ in of_system],
                "y": [y for _, _, y in of_system],
                "text": [label(f"{mark_text(mark)} ({mark.what})") for mark, _, _ in of_system],
                "hovertemplate": "%{text}<extra></extra>",
                "cliponaxis": False,
                "marker": {"symbol": symbol, "size": 10, "color": color, "line": {"width": 2}},
            }
        )
    return traces


def marks_table(marks: Sequence[Mark]) -> list[Table]:
    """Every number of the paper that belongs to an exhibit, as theirs: a column for each of its systems."""
    engines = list(dict.fromkeys(mark.engine for mark in marks))
    stages = list(dict.fromkeys(mark.stage for mark in marks))
    found: dict[tuple[str, str, str], dict[str, str]] = {}
    for mark in sorted(marks, key=lambda mark: (stages.index(mark.stage), VARIANTS.index(mark.variant))):
        of_row = found.setdefault((mark.stage, mark.variant, f"{mark.what} ({mark.unit})"), {})
        of_row[mark.engine] = number_short(mark.value)
    rows = [Row([*key, *(values.get(engine, NONE) for engine in engines)]) for key, values in found.items()]
    head = ["stage", "variant", "what", *(PAPER + engine for engine in engines)]
    return [Table("The paper's numbers", head, rows, frozenset(range(3, len(head))))] if rows else []


Point = tuple[float, float | None]


def engine_cpu(source: Source, from_ns: int) -> list[Point]:
    """Cores that the engine's processes used together, by seconds since ``from_ns``."""
    found: list[Point] = []
    for (before_ns, before), (t_ns, now) in pairwise(_engine_sums(source, "cpu_s")):
        # A sum that shrinks has lost a process: what was used is not known there.
        used = (now - before) / ((t_ns - before_ns) / NS_PER_S) if now >= before else None
        found.append(((t_ns - from_ns) / NS_PER_S, used))
    return found


def engine_heap_mb(source: Source, from_ns: int) -> list[Point]:
    return [((t_ns - from_ns) / NS_PER_S, heap_mb) for t_ns, heap_mb in _engine_sums(source, "heap_used_mb")]


def _engine_sums(source: Source, name: str) -> list[tuple[int, float]]:
    """Samples of all roles of the engine are taken at the same moments."""
    sums: dict[int, float] = defaultdict(float)
    for sample in source.resources:
        if sample.get("group") == "engine" and sample.get(name) is not None:
            sums[int(sample["t_ns"])] += sample[name]
    return sorted(sums.items())


def extent(points: Iterable[Point]) -> tuple[float, float, float] | None:
    """Lowest, mean and highest value; None where there is none."""
    values = [value for _, value in points if value is not None]
    return (min(values), sum(values) / len(values), max(values)) if values else None


def within(points: Iterable[Point], from_s: float, to_s: float) -> list[Point]:
    return [point for point in points if from_s <= point[0] <= to_s]
