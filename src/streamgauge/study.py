"""What a study ran and what it published, as data: `reproduce` runs it, the report draws it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from streamgauge.search_axis import RATE_AXIS, SearchAxis

if TYPE_CHECKING:
    from streamgauge.report.exhibit import Context, Panel

Purpose = Literal["run", "capacity"]


@dataclass(frozen=True)
class Experiment:
    """One thing that a study ran, on each engine."""

    scenario: str
    """``study/scenario``"""
    name: str
    """Unique in the study. Directories and ``reproduce --only`` have it."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """As ``--set`` takes them. An engine without one of these options does not run the experiment."""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """What sets it apart from the study's others, e.g. ``{"program": "count"}``: exhibits arrange their rows by it."""
    faults: tuple[str, ...] = ()
    """As ``--fault`` takes them."""
    purpose: Purpose = "run"
    axis: SearchAxis = RATE_AXIS
    """What a capacity search varies, and which way it becomes harder."""

    @property
    def needs(self) -> tuple[str, ...]:
        """The values and options without which it cannot be run."""
        return (*self.settings, self.axis.name) if self.purpose == "capacity" else tuple(self.settings)


@dataclass(frozen=True)
class Mark:
    """A published number, to be shown beside ours as the paper's."""

    system: str
    """As the paper calls it, e.g. ``Structured Streaming 2.4.1``."""
    metric: str
    """What it is a value of, e.g. ``latency.latest.p50``: exhibits find it by this name (``metrics.py``)."""
    value: float
    unit: str
    label: str
    """The same for people, with what limits it: ``p99 latency, below``."""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """Of the experiment that it belongs to."""


@dataclass(frozen=True)
class Ranking:
    """An order that the paper found: in one experiment, these of its systems were all below those."""

    metric: str
    """Of the marks that are compared."""
    dimensions: Mapping[str, str]
    """Of the experiment."""
    lower: tuple[str, ...]
    higher: tuple[str, ...]
    label: str
    """The order for people, e.g. ``median latencies: event-driven below micro-batch``."""


@dataclass(frozen=True)
class Exhibit:
    """A table or a figure of the paper."""

    name: str
    """As the paper numbers it: ``Table 2``, ``Fig. 3``."""
    title: str
    draw: Callable[[Context], Sequence[Panel]]
    """What it shows of a reproduction."""
    experiments: tuple[Experiment, ...] = ()
    marks: tuple[Mark, ...] = ()
    note: str = ""
    """What the reader must know to read it: what differs from the paper."""
    ranking: Ranking | None = None
    overview: bool = False
    """It rests on experiments of other exhibits, which report those that have no result."""


@dataclass(frozen=True)
class Study:
    """A published benchmark."""

    title: str
    source: str
    latency: Literal["total", "latest", "average"]
    """The latency that its figures show (docs/reference/measurement.md)."""
    exhibits: tuple[Exhibit, ...]
    """In the order of the paper."""
    scale: Mapping[str, str] = field(default_factory=dict)
    """What the laptop profile scales down, in words."""
    engines: Mapping[str, str] = field(default_factory=dict)
    """Which engine of ours is which system of the paper, by the paper's name; some have none."""
    runs: Mapping[str, int] = field(default_factory=dict)
    """Runs of each experiment by profile, where that is more than one; a capacity search is made once."""
    fixed: tuple[str, ...] = ()
    """Settings that must stay as they are, besides those of its experiments."""

    def __post_init__(self) -> None:
        """Raises ValueError when two different experiments have the same name."""
        different: list[Experiment] = []
        for exhibit in self.exhibits:
            different += [one for one in exhibit.experiments if one not in different]
        twice = [name for name, count in Counter(one.name for one in different).items() if count > 1]
        if twice:
            raise ValueError(f"several experiments are called {', '.join(twice)}")

    @property
    def sets(self) -> set[str]:
        """Everything that a reproduction cannot set otherwise."""
        return {"engine", *self.fixed, *(key for one in self.experiments for key in one.settings)}

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """Every experiment once, in the order in which the exhibits need them."""
        return tuple({one.name: one for exhibit in self.exhibits for one in exhibit.experiments}.values())
