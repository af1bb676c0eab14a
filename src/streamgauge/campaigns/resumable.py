"""Files of campaigns that can be resumed: the results so far, and the settings that they were begun with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from streamgauge import __version__, identity
from streamgauge.errors import UsageError
from streamgauge.machine import description as machine

OPTIONS = (
    *("against", "over", "from", "to", "resolution", "rule", "slo", "bootstrap", "load_master"),
    *("engine", "profile", "runs", "script"),
)
"""Settings that have an option of the command line."""
UNSET: Sequence[Any] = (None, "", [])
OR_NONE = ("rule",)
"""Options that take *none* as a value, which is not the same as to leave them out."""


def here() -> dict[str, Any]:
    """What every campaign keeps: the version of streamgauge, and the machine."""
    described = machine.describe()
    return {"streamgauge": __version__, **{f"machine.{key}": getattr(described, key) for key in identity.MACHINE}}


def check_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any], work: str) -> None:
    """Raises UsageError naming the first setting with which the ``work`` there was not begun."""
    for key, begun, value in _differences(before, now):
        name = f"--{key.replace('_', '-')}" if key in OPTIONS else key
        without = begun in UNSET and key not in OR_NONE
        raise UsageError(
            f"the {work} there was begun {'without' if without else 'with another'} {name}",
            where=path,
            got="none" if value in UNSET else value,
            expected=None if without else "none" if begun in UNSET else begun,
            hint="another --out, or the same settings as before",
        )


def _differences(before: Mapping[str, Any], now: Mapping[str, Any], within: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Every setting that differs, by its place in the file, with the value then and now."""
    for key in {**before, **now}:
        begun, value = before.get(key), now.get(key)
        if isinstance(begun, Mapping) and isinstance(value, Mapping):
            yield from _differences(begun, value, f"{within}{key}.")
        elif begun != value:
            yield f"{within}{key}", begun, value
