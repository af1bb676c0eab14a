"""Event times as a file has them: read, and written again later in the same form."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import lru_cache
from typing import Any

_PER_MS = ((10**17, 10**6), (10**14, 10**3), (10**11, 1))
"""By the size of a number of today: nanoseconds, microseconds, milliseconds; below that, seconds."""
_WHOLE_DIGITS_MAX = 20
_LAST_MS = 10**14 - 1
"""A larger number would be taken for one of a smaller unit."""
_LAST_MS_IN_NS = (2**63 - 1) // 10**6
_LAST_MOMENT = datetime(9999, 12, 31)  # noqa: DTZ001 - the clock on the wall of any zone
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - the same
_MS = timedelta(milliseconds=1)
_TEXT_MAX = 64
_UNITS_MS = (1000, 100, 10, 1)
"""What seconds with so many decimals can show; more than three show every millisecond."""

_PLAIN_NUMBER = re.compile(r"(-?)([0-9]+)(?:\.([0-9]+))?")
_ANY_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_ISO = re.compile(
    r"([0-9]{4})(?P<dash>-?)([0-9]{2})(?P=dash)([0-9]{2})"
    r"(?:([Tt ])([0-9]{2})(?:(?P<colon>:?)([0-9]{2})(?:(?P=colon)([0-9]{2})(?:([.,])([0-9]+))?)?)?"
    r"([Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)

EXPECTED = "seconds, milliseconds, microseconds or nanoseconds since 1970, or ISO 8601, such as 2024-05-01T12:00:00Z"
REPEATABLE = "a number such as 1714564800 or 1714564800.123, or a time such as 2024-05-01T12:00:00.123Z"
"""The forms that loop=true can continue."""


@dataclass(frozen=True, slots=True)
class EventTime:
    """One event time."""

    ms: int


@dataclass(frozen=True, slots=True)
class RepeatableTime(EventTime, ABC):
    """One that can be written again, later and in the same form."""

    unit_ms: int
    """What its form can show: shifts are multiples of this."""
    room_ms: int
    """The largest shift after which its form still means the same."""

    @abstractmethod
    def later(self, shift_ms: int) -> str:
        """The text with the same form, ``shift_ms`` later."""


@dataclass(frozen=True, slots=True)
class _Number(RepeatableTime):
    scaled: int
    """Without the decimal point."""
    per_ms: int
    """How many of the unit are a millisecond; 0 for seconds."""
    width: int
    decimals: int

    def later(self, shift_ms: int) -> str:
        shift = shift_ms * 10**self.decimals
        scaled = self.scaled + (shift * self.per_ms if self.per_ms else shift // 1000)
        digits = str(abs(scaled)).zfill(self.width + self.decimals)
        sign, whole = "-" if scaled < 0 else "", len(digits) - self.decimals
        return f"{sign}{digits[:whole]}.{digits[whole:]}" if self.decimals else sign + digits


@dataclass(frozen=True, slots=True)
class _Moment(RepeatableTime):
    wall: datetime
    """What the clock shows in its own zone, to the millisecond."""
    form: str
    """The format of everything before the decimal point."""
    point: str
    decimals: int
    beyond_ms: str
    """The digits behind those of the milliseconds, which no shift changes."""
    zone: str

    def later(self, shift_ms: int) -> str:
        wall = self.wall + shift_ms * _MS
        text = self.form.format(wall)
        if self.decimals:
            text += self.point + (f"{wall.microsecond // 1000:03}" + self.beyond_ms)[: self.decimals]
        return text + self.zone


def read(value: Any) -> EventTime | None:
    """The event time that a number, a text, a date or a datetime means; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return read_text(number_text(value)) if math.isfinite(value) and abs(value) < 10**_WHOLE_DIGITS_MAX else None
    if isinstance(value, date):
        return read_text(value.isoformat())
    return read_text(value) if isinstance(value, str) else None


def read_text(text: str) -> EventTime | None:
    """The event time of a text, as a RepeatableTime if its form can be continued; None for what is not a time."""
    if len(text) > _TEXT_MAX:
        return None
    if number := _PLAIN_NUMBER.fullmatch(text):
        return _number(*number.groups(default=""))
    if moment := _ISO.fullmatch(text):
        return _moment(moment)
    # Forms that are understood, but not continued.
    text = text.strip()
    if _ANY_NUMBER.fullmatch(text):
        value = Decimal(text)
        scaled, decimals = int(value.scaleb(9)), 9
        return (
            EventTime(_rounded(scaled, decimals, _per_ms(abs(int(value)))))
            if abs(value) < 10**_WHOLE_DIGITS_MAX
            else None
        )
    try:
        moment_ = datetime.fromisoformat(text)
        aware = moment_ if moment_.tzinfo else moment_.replace(tzinfo=UTC)
        return EventTime(round(aware.timestamp() * 1000))
    except (ValueError, OverflowError):
        return None


def number_text(number: float) -> str:
    """Without an exponent; a float with milliseconds at least, which its type can show even if they are zero."""
    if isinstance(number, int):
        return str(number)
    whole, _, decimals = f"{Decimal(repr(number)):f}".partition(".")
    return f"{whole}.{decimals:0<3}"


def _number(sign: str, whole: str, decimals: str) -> EventTime | None:
    scaled, places = int(sign + whole + decimals), len(decimals)
    if len(whole.lstrip("0")) > _WHOLE_DIGITS_MAX:
        return None
    per_ms = _per_ms(int(whole))
    ms = _rounded(scaled, places, per_ms)
    if sign and per_ms:
        return EventTime(ms)  # closer to 1970, it would be taken for one of a larger unit
    last_ms = _LAST_MS_IN_NS if per_ms == 10**6 else _LAST_MS
    return _Number(
        ms=ms,
        unit_ms=1 if per_ms else _UNITS_MS[min(places, 3)],
        room_ms=last_ms - ms,
        scaled=scaled,
        per_ms=per_ms,
        width=len(whole),
        decimals=places,
    )


def _per_ms(size: int) -> int:
    return next((per_ms for least, per_ms in _PER_MS if size >= least), 0)


def _rounded(scaled: int, decimals: int, per_ms: int) -> int:
    """To the nearest millisecond."""
    scale = int(10**decimals)
    above, below = (1, per_ms * scale) if per_ms else (1000, scale)
    return (2 * scaled * above + below) // (2 * below)


def _moment(found: re.Match[str]) -> EventTime | None:
    year, dash, month, day, separator, hour, colon, minute, second, point, digits, zone = found.groups(default="")
    try:
        wall = datetime(  # noqa: DTZ001 - the zone is kept apart
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int(f"{digits:0<3}"[:3]) * 1000,
        )
    except ValueError:
        return None
    offset_ms = _offset_ms(zone)
    if offset_ms is None:
        return None
    form, unit_ms = _form(dash, separator, colon, sum(map(bool, (hour, minute, second))))
    return _Moment(
        ms=(wall - _EPOCH) // _MS - offset_ms + (digits[3:4] >= "5"),
        unit_ms=_UNITS_MS[min(len(digits), 3)] if digits else unit_ms,
        room_ms=(_LAST_MOMENT - wall) // _MS,
        wall=wall,
        form=form,
        point=point,
        decimals=len(digits),
        beyond_ms=digits[3:],
        zone=zone,
    )


@lru_cache(maxsize=64)
def _form(dash: str, separator: str, colon: str, parts: int) -> tuple[str, int]:
    """The format of a date with so many parts of the time, and what it can show in milliseconds."""
    clock = colon.join(("{0.hour:02}", "{0.minute:02}", "{0.second:02}")[:parts])
    form = dash.join(("{0.year:04}", "{0.month:02}", "{0.day:02}")) + separator + clock
    return form, (86_400_000, 3_600_000, 60_000, 1000)[parts]


@lru_cache(maxsize=64)
def _offset_ms(zone: str) -> int | None:
    """How much later than UTC the clock of a zone is; None for what is not a zone."""
    if zone in ("", "Z", "z"):
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].removeprefix(":") or 0)
    if hours >= 24 or minutes >= 60:
        return None
    return (-1 if zone[0] == "-" else 1) * (hours * 60 + minutes) * 60_000
