"""An engine's settings by their own names, among the options that have names of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def gather_conf(given: Any, is_own: Callable[[str], bool]) -> Any:
    """What was given, with the settings of the engine's own gathered, as text, under ``conf``."""
    if not isinstance(given, Mapping):
        return given
    conf = {key: as_text(value) for key, value in given.items() if is_own(key)}
    rest = {key: value for key, value in given.items() if not is_own(key)}
    gathered = rest.get("conf", {})
    # What else somebody calls conf is refused by its type.
    return {**rest, "conf": {**gathered, **conf}} if conf and isinstance(gathered, Mapping) else rest


def has_dot(key: str) -> bool:
    """So have the settings of most engines, and none of our options."""
    return "." in key


def as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
