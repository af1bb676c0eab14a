"""What a study ran and what it prints, as data: `reproduce` runs it, the report draws it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Variant = Literal["built-in", "customised", "real-time"]
"""How a stage is made. Real-time is Spark's mode without micro-batches, which no published study has."""
Purpose = Literal["run", "capacity"]
ExhibitKind = Literal[
    "configuration",  # Table 1 of ospbench: every option that was set, per engine
    "scores",  # Table 2 of ospbench: a score per decision factor, with the rule that gives it
    "latency-by-stage",  # Fig. 2: distribution per stage, variant and engine
    "rate-sweep",  # Fig. 3: latency, CPU and heap against the rate, the unsustainable zone shaded
    "single-burst",  # Fig. 4: output rate, CPU and heap from the start of the engine on
    "periodic-burst",  # Figs. 5 to 7: input, output, p50 and p99, CPU and heap over a minute
    "stage-cost",  # Fig. 3 of stage-latency: cumulative latency and what each stage adds
]

SETTINGS: Mapping[Variant, Mapping[str, str]] = {
    "built-in": {},
    "customised": {"implementation": "customised"},
    "real-time": {"realtime": "true"},
}
"""What `--set` makes of a variant. An engine without such an option does not have the variant."""


@dataclass(frozen=True)
class Experiment:
    """One thing that a study ran, on each engine."""

    scenario: str
    """``study/scenario``"""
    stage: str
    variant: Variant = "built-in"
    purpose: Purpose = "run"

    @property
    def name(self) -> str:
        return f"{self.scenario.partition('/')[2]}-{self.stage}-{self.variant}"


@dataclass(frozen=True)
class Mark:
    """A number that the paper prints, to be shown beside ours as theirs."""

    engine: str
    """As the paper calls it, e.g. ``Structured Streaming 2.4.1``."""
    stage: str
    value: float
    unit: str
    what: str
    """e.g. ``median latency`` or ``sustainable rate``"""
    variant: Variant = "built-in"


@dataclass(frozen=True)
class Ranking:
    """An order of medians that the paper found: at a stage these of its systems were all below those."""

    stage: str
    lower: tuple[str, ...]
    higher: tuple[str, ...]
    words: str
    """The order in words, e.g. ``event-driven below micro-batch``."""
    variant: Variant = "built-in"


@dataclass(frozen=True)
class Exhibit:
    """A table or a figure of the paper."""

    name: str
    """As the paper numbers it: ``Table 2``, ``Fig. 3``."""
    title: str
    kind: ExhibitKind
    experiments: tuple[Experiment, ...] = ()
    marks: tuple[Mark, ...] = ()
    note: str = ""
    """What the reader must know to read it: what differs from the paper."""
    ranking: Ranking | None = None


@dataclass(frozen=True)
class Study:
    """A published benchmark."""

    title: str
    source: str
    latency: Literal["latest", "average"]
    """The latency that its figures show (docs/reference/measurement.md)."""
    exhibits: tuple[Exhibit, ...]
    """In the order of the paper."""
    scale: Mapping[str, str] = field(default_factory=dict)
    """What the laptop profile scales down, in words."""
    engines: Mapping[str, str] = field(default_factory=dict)
    """Which engine of ours is which system of the paper, by the paper's name; some have none."""
    runs: Mapping[str, int] = field(default_factory=dict)
    """Runs of each experiment by profile, where that is more than one; a capacity search is made once."""

    @property
    def experiments(self) -> tuple[Experiment, ...]:
        """Every experiment once, in the order in which the exhibits need them."""
        return tuple(dict.fromkeys(one for exhibit in self.exhibits for one in exhibit.experiments))
