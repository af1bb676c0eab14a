"""Separates an engine's native settings from streamgauge's options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def gather_conf(given: Any, is_own: Callable[[str], bool]) -> Any:
    """The given options, with the engine's native settings collected as strings under ``conf``."""
    if not isinstance(given, Mapping):
        return given
    conf = {key: as_text(value) for key, value in given.items() if is_own(key)}
    rest = {key: value for key, value in given.items() if not is_own(key)}
    gathered = rest.get("conf", {})
    # Any other conf is refused later because of its type.
    return {**rest, "conf": {**gathered, **conf}} if conf and isinstance(gathered, Mapping) else rest


def has_dot(key: str) -> bool:
    """Native settings of most engines have a dot; streamgauge's options never do."""
    return "." in key


def as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
