"""Values as people write them on a command line: ``1m30s``, ``400/min``, ``10k``, ``yes``."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from streamgauge.errors import UsageError, invalid

DURATION = "a duration, such as 30s, 1m30s or 500ms"
RATE = "a whole number of records per second, at least 1, such as 400/s, 10k/s or 24000/min"

_NUMBER = r"\d[\d_]*(?:\.\d+)?"
_SECONDS = {"ms": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}
_DURATION_PART = re.compile(rf"({_NUMBER})\s*({'|'.join(sorted(_SECONDS, key=len, reverse=True))})\s*")
_TIMES = {"": 1, "k": 1_000, "M": 1_000_000}
_COUNT = re.compile(rf"({_NUMBER})\s*([kM]?)")
_RATE = re.compile(rf"({_NUMBER})\s*([kM]?)\s*(?:/\s*(s|sec|min|m)|)")
_MEMORY = re.compile(rf"({_NUMBER})\s*(mb?|gb?)", re.IGNORECASE)
_TRUTHS = {"true": True, "yes": True, "on": True, "1": True, "false": False, "no": False, "off": False, "0": False}


@dataclass(frozen=True)
class Setting:
    """One value of the command line."""

    key: str
    text: str
    typed: str
    """The option as the user typed it, e.g. ``--rate 400/s``."""


def parse_literal(text: str) -> Any:
    """A value of the command line as TOML would read it; anything else is text."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:  # no TOML, or a number with thousands of digits
        return text


def parse_text(text: str) -> str:
    """The text as it was typed, without the quotes of a TOML string."""
    value = parse_literal(text)
    return value if isinstance(value, str) else text


def typed_setting(key: str, text: str) -> str:
    """The option of ``--set`` as it is typed in a shell."""
    return f"--set {shlex.quote(f'{key}={text}')}"


def parse_setting(setting: str) -> Setting:
    """``key=value`` of ``--set``. Raises UsageError."""
    key, equals, text = (part.strip() for part in setting.partition("="))
    if not equals or not key:
        example = f"{key}=…" if key else "rate_per_s=400"
        raise invalid(f"--set {shlex.quote(setting)}", f"KEY=VALUE, such as --set {example}")
    return Setting(key, text, typed_setting(key, text))


def gather(settings: Iterable[Setting]) -> dict[str, Setting]:
    """By key. Raises UsageError when two of them set one value to different things."""
    gathered: dict[str, Setting] = {}
    for setting in settings:
        former = gathered.setdefault(setting.key, setting)
        if former.text != setting.text and _meaning(former) != _meaning(setting):
            raise UsageError(
                f"{former.typed} and {setting.typed} conflict: both set {setting.key}", hint="use only one of them"
            )
    return gathered


def parse_changes(settings: Iterable[str]) -> dict[str, str]:
    """``key=value`` pairs of ``--set``. Raises UsageError, also when two of them conflict."""
    return {key: setting.text for key, setting in gather(map(parse_setting, settings)).items()}


def _meaning(setting: Setting) -> Any:
    text, value = setting.text, None
    if setting.key.endswith("_per_s"):
        value = read_whole_rate_per_s(text)
    elif setting.key.endswith("_s"):
        value = read_duration_s(text)
    elif text.lower() in ("true", "false", "yes", "no", "on", "off"):
        value = read_truth(text)
    return parse_literal(text) if value is None else value


def parse_duration_s(text: str, option: str) -> float:
    """``500ms``, ``60s``, ``5m``, ``1m30s``, ``2h`` or plain seconds. Raises UsageError."""
    seconds = read_duration_s(text)
    if seconds is None:
        raise invalid(f"{option} {shlex.quote(text)}", DURATION)
    return seconds


def parse_rate_per_s(text: str) -> int:
    """``400``, ``400/s``, ``1.5k/s``, ``24000/min``. Raises UsageError.

    A rate per minute is rounded to whole records per second.
    """
    rate = read_whole_rate_per_s(text)
    if rate is None or rate < 1 or rate != int(rate):
        raise invalid(f"--rate {shlex.quote(text)}", RATE)
    return int(rate)


def read_duration_s(text: str) -> float | None:
    """In seconds; None for what is not a duration."""
    text = text.strip()
    if re.fullmatch(_NUMBER, text):
        return float(text)
    parts = _DURATION_PART.findall(text)
    if not parts or _DURATION_PART.sub("", text):
        return None
    units = [_SECONDS[unit] for _, unit in parts]
    if units != sorted({*units}, reverse=True):
        return None  # 30s1m, 1s2s: rather a mistake than a sum
    return float(sum(float(number) * unit for (number, _), unit in zip(parts, units, strict=True)))


def read_rate_per_s(text: str) -> float | None:
    """None for what is not a rate."""
    match = _RATE.fullmatch(text.strip())
    if not match:
        return None
    rate = float(match[1]) * _TIMES[match[2]]
    return rate / 60 if match[3] in ("min", "m") else rate


def read_whole_rate_per_s(text: str) -> float | None:
    """The same, with a rate per minute rounded to whole records per second, but never to none."""
    rate = read_rate_per_s(text)
    per_minute = text.rpartition("/")[2].strip().startswith("m")
    return rate if rate is None or rate < 1 or not per_minute else float(round(rate))


def read_count(text: str) -> float | None:
    """``1_000``, ``10k``, ``1.5M``; None for anything else."""
    match = _COUNT.fullmatch(text.strip())
    return float(match[1]) * _TIMES[match[2]] if match else None


def read_memory_mb(text: str) -> float | None:
    """``512``, ``512m``, ``2g``, ``2GB``; None for anything else."""
    match = _MEMORY.fullmatch(text.strip())
    if not match:
        return read_count(text)
    return float(match[1]) * (1024 if match[2].lower().startswith("g") else 1)


def read_truth(text: str) -> bool | None:
    """``true``, ``yes``, ``on``, ``1`` and their opposites, in any case; None for anything else."""
    return _TRUTHS.get(text.strip().lower())
