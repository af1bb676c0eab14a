"""What a capacity search varies, and the direction in which it becomes harder to sustain."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from streamgauge.model.capacity import Searched

Harder = Literal["more", "less"]

RATE = "rate_per_s"
CORES = "cores"
RESOURCE_MAX = 1000
"""The largest value to search if less is harder, unless the scenario itself has more."""


@dataclass(frozen=True)
class SearchAxis:
    """A number among the values of a scenario or the options of its engine, by name."""

    name: str
    harder: Harder
    whole: bool = True
    """Whether it takes whole numbers only."""

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> SearchAxis:
        """What a search with these settings varies. In early files everything except the rate was a resource."""
        name = settings.get("over", RATE)
        return cls(name, settings.get("harder") or ("more" if name == RATE else "less"))

    @classmethod
    def of_file(cls, capacity: Searched | None) -> SearchAxis:
        """The axis of a ``capacity.json``; the rate if there is none yet."""
        return RATE_AXIS if capacity is None else cls.of_settings(capacity.as_json())

    @property
    def more_is_harder(self) -> bool:
        return self.harder == "more"

    @property
    def is_rate(self) -> bool:
        """Whether the offered load itself is searched, so that the drain speed is a first guess."""
        return self.name == RATE

    @property
    def is_memory(self) -> bool:
        """Whether the machine's memory limits it."""
        return self.name.endswith("_mb")

    @property
    def unit(self) -> str:
        return "records/s" if self.is_rate else self.name

    def most(self) -> int | None:
        """The largest sensible value; None if only the scenario limits it."""
        if self.more_is_harder:
            return None
        return os.cpu_count() or 1 if self.name == CORES else RESOURCE_MAX


RATE_AXIS = SearchAxis(RATE, "more")
