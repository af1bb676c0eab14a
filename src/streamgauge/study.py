"""What a study ran and published, as data: `reproduce` runs it, the report draws it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from streamgauge.search_axis import RATE_AXIS, SearchAxis

if TYPE_CHECKING:
    from streamgauge.report.exhibit import Context, Panel

Purpose = Literal["run", "capacity"]

HALF: Mapping[str, float] = {"rate_per_s": 0.5}
RESOLUTION = 0.1
"""Of a search, where the study has none of its own."""


@dataclass(frozen=True)
class OnEngine:
    """What an experiment is on one engine."""

    settings: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    profiles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Further settings by profile."""
    shares: Mapping[str, float] = field(default_factory=dict)
    """Further values that follow from ``rate_of``."""


@dataclass(frozen=True)
class Experiment:
    """One experiment of a study, on each engine."""

    scenario: str
    """``study/scenario``"""
    name: str
    """Unique in the study; used for directories and ``reproduce --only``."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """As for ``--set``. An engine without one of these options does not run the experiment."""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """What distinguishes it from the others, e.g. ``{"program": "count"}``; exhibits arrange their rows by it."""
    faults: tuple[str, ...] = ()
    """As for ``--fault``."""
    purpose: Purpose = "run"
    axis: SearchAxis = RATE_AXIS
    """What a capacity search varies, and in which direction it becomes harder."""
    rate_of: str = ""
    """The experiment that sets the rate of this one: by its throughput with preloaded input, or by the rate that its
    search found. A search begins there."""
    shares: Mapping[str, float] = field(default_factory=lambda: dict(HALF))
    """What of that rate is set, by the name of the value; less where the generator was not fast enough."""
    confirming: bool = False
    """Whether it is the run that confirms what ``rate_of`` found: the same settings, at that rate. Then it is not run
    again, unless several runs are made."""
    most_per_s: Mapping[str, int] = field(default_factory=dict)
    """By profile: the highest rate that ``rate_of`` may set, and that a search tries."""
    half_time_of: str = ""
    """The experiment with preloaded input whose time sets the moment of the faults of this one: half of it. The faults
    are written without a moment, e.g. ``kill worker-1``."""
    profiles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Further settings by profile, e.g. ``{"laptop": {"records": "500000"}}``; the same keys for each."""
    engines: Mapping[str, OnEngine] = field(default_factory=dict)
    """What each engine has besides, by its name; if there is any, other engines do not run the experiment."""
    gaps: Mapping[str, str] = field(default_factory=dict)
    """Why an engine does not run the experiment, by its name."""
    cores: int = 0
    """Cores that the engine must have; a machine with fewer does not run the experiment."""

    def on(self, engine: str) -> Experiment:
        """The experiment with the settings and faults of one engine."""
        own = self.engines.get(engine, OnEngine())
        profiles = {
            profile: {**self.profiles.get(profile, {}), **own.profiles.get(profile, {})}
            for profile in (*self.profiles, *own.profiles)
        }
        settings, faults = {**self.settings, **own.settings}, (*self.faults, *own.faults)
        shares = {**self.shares, **own.shares}
        return replace(self, settings=settings, faults=faults, profiles=profiles, shares=shares, engines={})

    @property
    def needs(self) -> tuple[str, ...]:
        """The values and options that it requires."""
        return (*self.sets, self.axis.name) if self.purpose == "capacity" else self.sets

    @property
    def sets(self) -> tuple[str, ...]:
        """The values and options that it sets itself."""
        of_profiles = _keys(self.profiles)
        of_engines = [key for own in self.engines.values() for key in (*own.settings, *_keys(own.profiles))]
        paced = [*self.shares, *(key for own in self.engines.values() for key in own.shares)]
        paced = paced if self.rate_of and self.purpose == "run" else []  # a search only begins there
        return tuple(dict.fromkeys([*self.settings, *of_profiles, *of_engines, *paced]))

    def settings_in(self, profile: str) -> dict[str, str]:
        return {**self.settings, **self.profiles.get(profile, {})}

    @property
    def after(self) -> dict[str, str]:
        """The experiments whose results it needs, and what of each."""
        needed = {self.rate_of: "throughput", self.half_time_of: "time"}
        return {name: what for name, what in needed.items() if name}


def _keys(profiles: Mapping[str, Mapping[str, str]]) -> list[str]:
    return [key for settings in profiles.values() for key in settings]


@dataclass(frozen=True)
class Mark:
    """A published number, shown next to the measured one."""

    system: str
    """The system as named in the paper, e.g. ``Structured Streaming 2.4.1``."""
    metric: str
    """The metric, e.g. ``latency.latest.p50``, by which exhibits find it (``metrics.py``)."""
    value: float
    unit: str
    label: str
    """The metric for readers, with any qualification: ``p99 latency, below``."""
    dimensions: Mapping[str, str] = field(default_factory=dict)
    """Dimensions of its experiment."""


@dataclass(frozen=True)
class Ranking:
    """An order that the paper found: in one experiment, some systems were all below others."""

    metric: str
    """Metric of the compared marks."""
    dimensions: Mapping[str, str]
    """Dimensions of the experiment."""
    lower: tuple[str, ...]
    higher: tuple[str, ...]
    label: str
    """The order for readers, e.g. ``median latencies: event-driven below micro-batch``."""


@dataclass(frozen=True)
class Exhibit:
    """A table or a figure of the paper."""

    name: str
    """As the paper numbers it: ``Table 2``, ``Fig. 3``."""
    title: str
    draw: Callable[[Context], Sequence[Panel]]
    """Draws it for a reproduction."""
    experiments: tuple[Experiment, ...] = ()
    marks: tuple[Mark, ...] = ()
    note: str = ""
    """Caveats for the reader: what differs from the paper."""
    ranking: Ranking | None = None
    overview: bool = False
    """It uses experiments of other exhibits, which report those without a result."""


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
    """What the laptop profile scales down, for readers."""
    engines: Mapping[str, str] = field(default_factory=dict)
    """The engine for each system of the paper; some systems have none."""
    default_engine: str = "spark"
    """What a reproduction runs on unless it is told."""
    runs: Mapping[str, int] = field(default_factory=dict)
    """Runs per experiment by profile, if more than one; a capacity search is made once."""
    resolution: Mapping[str, float] = field(default_factory=dict)
    """Of its searches, by profile."""
    fixed: tuple[str, ...] = ()
    """Settings that a reproduction must not change, besides those of its experiments."""

    def __post_init__(self) -> None:
        """Raises ValueError if two experiments have the same name, or one needs another that is not run before it."""
        different: list[Experiment] = []
        for exhibit in self.exhibits:
            different += [one for one in exhibit.experiments if one not in different]
        twice = [name for name, count in Counter(one.name for one in different).items() if count > 1]
        if twice:
            raise ValueError(f"several experiments are called {', '.join(twice)}")
        names = [one.name for one in self.experiments]
        for place, one in enumerate(self.experiments):
            for other, what in one.after.items():
                if other not in names[:place]:
                    raise ValueError(f"{one.name} needs the {what} of {other}, which is not run before it")

    @property
    def sets(self) -> set[str]:
        """All settings that a reproduction must not change."""
        return {"engine", *self.fixed, *(key for one in self.experiments for key in one.sets)}

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """Every experiment once, in the order in which the exhibits need them."""
        return tuple({one.name: one for exhibit in self.exhibits for one in exhibit.experiments}.values())
