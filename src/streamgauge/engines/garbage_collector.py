"""The option ``gc`` of the engines that run in JVMs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from pydantic import Field

GarbageCollector = Literal["G1", "Parallel", "Serial"]
GC_OPTIONS: Mapping[str, str] = {name: f"-XX:+Use{name}GC" for name in get_args(GarbageCollector)}


def gc_field(processes: str) -> Any:
    """The option's default and description; ``processes`` are those that it applies to."""
    return Field("G1", description=f"garbage collector of {processes}")
