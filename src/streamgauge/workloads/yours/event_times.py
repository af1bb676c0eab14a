"""Event times as a file has them: read, and written again later in the same form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

_UNITS_PER_MS = ((1e17, 1_000_000.0), (1e14, 1_000.0), (1e11, 1.0))
"""By the size of a number of today: nanoseconds, microseconds, milliseconds; below that, seconds."""
_FRACTION = re.compile(r"\.(\d+)")

EXPECTED = "seconds, milliseconds, microseconds or nanoseconds since 1970, or ISO 8601, such as 2024-05-01T12:00:00Z"


@dataclass(frozen=True)
class EventTime:
    """One event time."""

    ms: int
    value: Any
    """As the file has it: a number, or a text."""

    def later(self, shift_ms: int) -> Any:
        """The same, ``shift_ms`` later, as the file would have it."""
        if isinstance(self.value, str):
            number = _number(self.value)
            return _later_text(self.value, shift_ms) if number is None else str(_later_number(number, shift_ms))
        return _later_number(self.value, shift_ms)


def read(value: Any) -> EventTime | None:
    """The event time; None for what is not one."""
    number = _number(value) if isinstance(value, str) else value
    if isinstance(number, int | float) and not isinstance(number, bool):
        return EventTime(int(number / _per_ms(number)), value) if abs(number) < 1e20 else None
    try:
        return EventTime(round(_moment(str(value)).timestamp() * 1000), value) if isinstance(value, str) else None
    except ValueError:
        return None


def _number(text: str) -> int | float | None:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return None


def _per_ms(number: float) -> float:
    return next((per_ms for least, per_ms in _UNITS_PER_MS if abs(number) >= least), 0.001)


def _later_number(number: float, shift_ms: int) -> int | float:
    later = number + shift_ms * _per_ms(number)
    return round(later) if isinstance(number, int) else round(later, 6)


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _later_text(text: str, shift_ms: int) -> str:
    """With the separator, the digits of a second and the zone that it had."""
    moment = datetime.fromisoformat(text) + timedelta(milliseconds=shift_ms)
    separator = text[10] if len(text) > 10 else "T"
    fraction = _FRACTION.search(text)
    digits = min(len(fraction[1]), 6) if fraction else 0
    timespec = "microseconds" if digits or len(text) > 16 else "minutes"
    written = moment.replace(tzinfo=None).isoformat(separator, timespec)
    if timespec == "microseconds":
        written = written[: len("2024-05-01T12:00:00") + (digits + 1 if digits else 0)]
    zone = re.search(r"(Z|[+-]\d\d:?\d\d)$", text[10:])
    return written + (zone[1] if zone else "")
