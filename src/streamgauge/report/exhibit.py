"""What the page of a study is made of: panels of tables and figures, and what an exhibit draws them from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from streamgauge.report.draw import SERIES, Figure
from streamgauge.report.reproduction import ExperimentResult, Reproduction
from streamgauge.study import Exhibit, Mark, Study

GAPS_MAX = 12
"""More experiments of one engine with the same gap are counted, not named; the page lists all of them elsewhere."""


@dataclass(frozen=True)
class Plot:
    """A figure with its caption, which states the main numbers for those who cannot see it."""

    name: str
    """Unique on the page: it begins with the id of its context."""
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
    def results(self) -> list[ExperimentResult]:
        """Of the exhibit's experiments, on every engine."""
        return self.reproduction.of(self.exhibit.experiments)

    def marks(self, metric: str) -> list[Mark]:
        """The paper's numbers of this metric."""
        return [mark for mark in self.exhibit.marks if mark.metric == metric]

    def order(self, dimension: str) -> list[str]:
        """The values of a dimension, in the order of the exhibit's experiments."""
        of_experiments = (one.dimensions.get(dimension) for one in self.exhibit.experiments)
        return list(dict.fromkeys(value for value in of_experiments if value is not None))

    def engine_color(self, engine: str) -> str:
        """The same on the whole page."""
        return SERIES[self.reproduction.engines.index(engine) % len(SERIES)]

    def color(self, result: ExperimentResult) -> str:
        """Its engine's, or grey for what must not be used."""
        return self.engine_color(result.engine) if result.usable else "--muted"

    def name(self, result: ExperimentResult) -> str:
        """As figures call it: by its engine, which tells the experiments of one exhibit apart."""
        return result.engine if result.usable else f"{result.engine}: {result.verdict}, do not use"

    def counterpart(self, mark: Mark) -> str | None:
        """The engine of this reproduction that is the paper's system, where there is one."""
        ours = self.study.engines.get(mark.system)
        return ours if ours in self.reproduction.engines else None


def fits(dimensions: Mapping[str, str], of_experiment: Mapping[str, str]) -> bool:
    """Whether an experiment has all these dimensions."""
    return all(of_experiment.get(name) == value for name, value in dimensions.items())


def verdict_words(result: ExperimentResult) -> str:
    """The verdict, and the state where it is worth a word."""
    state = result.summary and result.summary.state
    return f"{result.verdict}, {state}" if state in ("drifting", "overloaded") else result.verdict


def unusable(results: Sequence[ExperimentResult]) -> list[Panel]:
    """A banner for each run whose numbers must not be used."""
    return [Panel(result.title, result.verdict, result.why) for result in results if not result.usable]


def gaps(context: Context) -> list[str]:
    """A line for the experiments of one engine that have nothing to show for the same reason.

    An overview leaves those of other exhibits to them.
    """
    experiments = context.exhibit.experiments
    if context.exhibit.overview:
        others = [other for other in context.study.exhibits if other is not context.exhibit]
        elsewhere = {one.name for other in others for one in other.experiments}
        experiments = tuple(one for one in experiments if one.name not in elsewhere)
    not_begun: dict[str, list[ExperimentResult]] = {}
    lacking: dict[tuple[str, str], list[ExperimentResult]] = {}
    for result in context.reproduction.of(experiments):
        if result.state == "pending" and not result.reason:
            not_begun.setdefault(result.engine, []).append(result)
        elif why := _lack(result):
            lacking.setdefault((result.engine, why), []).append(result)
    lines = [f"{', '.join(_titles(results))}: {why}" for (_, why), results in lacking.items()]
    if not_begun:
        titles = [title for results in not_begun.values() for title in _titles(results)]
        lines.append(f"{', '.join(titles)}: not started yet")
    left_out = context.reproduction.missing(experiments)
    return lines + ([f"{', '.join(left_out)}: not part of this reproduction"] if left_out else [])


def _lack(result: ExperimentResult) -> str:
    """Why an experiment has nothing to show; empty if it has."""
    source = result.source
    if not result.has_result:
        return f"{result.verdict} ({result.why})"
    if result.purpose == "run" and source is None:
        why = f" ({result.why})" if result.why else ""
        return f"{result.verdict}, and its directory {result.directory} cannot be read{why}"
    if source is not None and not source.latency:
        why = result.why or (result.summary and result.summary.state_reason) or ""
        return f"{verdict_words(result)}, without a measured result" + (f" ({why})" if why else "")
    return ""


def _titles(results: Sequence[ExperimentResult]) -> list[str]:
    """Of experiments on one engine with the same gap."""
    if len(results) > GAPS_MAX:
        return [f"{results[0].engine}, {len(results)} experiments"]
    return [result.title for result in results]
