"""The streams of a run and their positions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True)
class InputStream:
    """One input of a workload."""

    name: str
    share: float = 1.0
    """Share of the load; the shares of all inputs add up to 1."""


@dataclass(frozen=True)
class Stream:
    """One stream of a run, divided into partitions."""

    name: str
    address: str
    """Its name in the transport."""
    partitions: int
    role: Literal["input", "output"]


def numbered_ends(outputs: Sequence[Stream], ends: Mapping[str, Mapping[int, int]]) -> dict[int, int]:
    """The end offsets of all partitions of several outputs, numbered consecutively across the outputs."""
    numbered: dict[int, int] = {}
    first = 0
    for stream in outputs:
        numbered |= {first + partition: end for partition, end in ends[stream.name].items()}
        first += stream.partitions
    return numbered


@dataclass(frozen=True)
class Positions:
    """Records appended to each stream. Only for the live view and the end of the drain."""

    appended: Mapping[str, int]
    committed: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """What a consumer group has committed of each input's partitions, where that is known."""
    ends: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    """The end offset of each partition, by stream."""

    @property
    def consumed(self) -> int | None:
        """Input records that the consumer group has committed; None if unknown."""
        known = [offset for partitions in self.committed.values() for offset in partitions.values()]
        return sum(known) if known else None
