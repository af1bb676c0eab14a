"""The streams of a run, and how far they have come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class InputStream:
    """One input of a workload."""

    name: str
    share: float = 1.0
    """Of the load; those of all inputs add up to 1."""


@dataclass(frozen=True)
class Stream:
    """One stream of a run: a named place of the transport, in partitions."""

    name: str
    address: str
    """What the transport calls it."""
    partitions: int
    role: Literal["input", "output"]


def numbered_ends(outputs: Sequence[Stream], ends: Mapping[str, Mapping[int, int]]) -> dict[int, int]:
    """The ends of all partitions of several outputs, numbered through: those of the second follow the first's."""
    numbered: dict[int, int] = {}
    first = 0
    for stream in outputs:
        numbered |= {first + partition: end for partition, end in ends[stream.name].items()}
        first += stream.partitions
    return numbered


@dataclass(frozen=True)
class Positions:
    """Records appended to each stream. For the live view and the end of the drain only."""

    appended: Mapping[str, int]
    consumed: int | None = None
    """Records of the inputs that a consumer group has committed; None where that is not known."""
    ends: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """The end of each partition, by stream."""
