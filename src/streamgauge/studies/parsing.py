"""Values as people write them on a command line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from typing import Any

from streamgauge.errors import UsageError


def parse_literal(text: str) -> Any:
    """A value of the command line as TOML would read it; anything else is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def parse_changes(settings: Iterable[str]) -> dict[str, str]:
    """``key=value`` pairs of ``--set``."""
    changes = {}
    for setting in settings:
        key, equals, value = setting.partition("=")
        if not equals or not key.strip():
            raise UsageError("--set needs key=value", got=repr(setting), expected="e.g. --set rate_per_s=400")
        changes[key.strip()] = value.strip()
    return changes


def parse_duration_s(text: str, option: str) -> float:
    """``500ms``, ``60s``, ``5m``, ``2h`` or plain seconds."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s|m|min|h|)", text.strip())
    if not match:
        raise UsageError(
            f"invalid duration: {option}", got=repr(text), expected="a number with a unit, such as 30s, 500ms or 5m"
        )
    return float(match[1]) * {"ms": 0.001, "s": 1, "": 1, "m": 60, "min": 60, "h": 3600}[match[2]]


def parse_rate_per_s(text: str) -> int:
    """``400``, ``400/s``, ``10k/s``, ``24000/min``."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(k|M|)\s*(?:/\s*(s|sec|min|m)|)", text.strip())
    if not match:
        raise UsageError(
            "invalid --rate", got=repr(text), expected="a number with a unit, such as 400/s, 10k/s or 24000/min"
        )
    rate = float(match[1]) * {"k": 1e3, "M": 1e6, "": 1}[match[2]]
    rate /= 60 if match[3] in ("min", "m") else 1
    if rate < 1 or rate != int(rate):
        raise UsageError("--rate must be a whole number of records per second, at least 1", got=repr(text))
    return int(rate)
