"""Files of campaigns that can be resumed: the results so far, and the settings that they were begun with."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamgauge import __version__, identity
from streamgauge.errors import UsageError
from streamgauge.machine import description as machine


def here() -> dict[str, Any]:
    """What every campaign keeps: the version of streamgauge, and the machine."""
    described = machine.describe()
    return {"streamgauge": __version__, **{f"machine.{key}": getattr(described, key) for key in identity.MACHINE}}


def check_same(path: Path, before: Mapping[str, Any], now: Mapping[str, Any], work: str) -> None:
    """Raises UsageError naming the first setting with which the ``work`` there was not begun."""
    for key in {**before, **now}:
        if before.get(key) != now.get(key):
            raise UsageError(
                f"the {work} there has another {key}",
                where=path,
                got="none" if now.get(key) is None else now[key],
                expected="none" if before.get(key) is None else before[key],
                hint="another --out, or the same settings as before",
            )
