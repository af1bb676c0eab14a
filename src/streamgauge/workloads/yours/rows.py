"""The rows of a data file, and where each of them has its event time."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from streamgauge.errors import UsageError
from streamgauge.workloads.yours import event_times
from streamgauge.workloads.yours.event_times import EventTime, RepeatableTime
from streamgauge.workloads.yours.given import Given

RECORD_BYTES_MAX = 900_000
"""A broker takes a megabyte at most, unless it is told otherwise."""
_SHOWN = 60

Found = tuple[int, int, str]
"""Start and end of the time in the bytes of a row, and its text."""
Finder = Callable[[int], Found | None]
"""Locates the time of a row; None if its text cannot be replaced."""


@dataclass(frozen=True)
class TimeField:
    """The event time inside the bytes of each row; every other byte stays as it is."""

    times: Sequence[RepeatableTime]
    spans: Sequence[tuple[int, int]]
    write: Callable[[int, str], bytes]
    """The bytes of a row's time, from its text."""
    room_ms: int
    """The largest shift that all rows can show."""

    @property
    def period_ms(self) -> int:
        """How much later everything is when the file is repeated: its span, and a step between two rows.

        A multiple of what every row can show, so that each repetition is later than the one before.
        """
        first, last = min(time.ms for time in self.times), max(time.ms for time in self.times)
        period_ms = last - first + max(round((last - first) / max(len(self.times) - 1, 1)), 1)
        unit_ms = max(time.unit_ms for time in self.times)
        return -(-period_ms // unit_ms) * unit_ms

    def later(self, row: int, value: bytes, shift_ms: int) -> bytes:
        """The row with its event time ``shift_ms`` later."""
        start, end = self.spans[row]
        return value[:start] + self.write(row, self.times[row].later(shift_ms)) + value[end:]


@dataclass(frozen=True)
class Rows:
    """Keys and values of the records in the order of the file."""

    values: Sequence[bytes]
    keys: Sequence[bytes | None]
    times: Sequence[EventTime] = ()
    time_field: TimeField | None = None
    """With ``time=`` and ``loop=true``."""

    @property
    def bytes(self) -> int:
        return sum(map(len, self.values)) + sum(len(key or b"") for key in self.keys)


class Fields:
    """Keys and event times of the rows, in order."""

    def __init__(self, given: Given, *, by_line: bool) -> None:
        self._given, self._by_line = given, by_line
        self._keys: list[bytes | None] = []
        self._times: list[EventTime] = []
        self._numbers: list[int] = []

    def take(self, number: int, row: Any) -> None:
        """The fields of the next row, which is at this line, or is the n-th record. Raises UsageError."""
        given = self._given
        self._numbers.append(number)
        for name, option in ((given.key, "key"), (given.time, "time")):
            if name and not isinstance(row, dict):
                raise self.wrong(-1, f"a record has no fields, so none for {option}={name}", got=reprlib.repr(row))
            if name and row.get(name) is None:
                got = f"fields {', '.join(map(repr, row)) or 'none'}"
                raise self.wrong(-1, f"a record lacks {name}, its {option} field", got=got)
        self._keys.append(self._key(row[given.key]) if given.key else None)
        if given.time:
            time = event_times.read(row[given.time])
            if time is None:
                got = reprlib.repr(row[given.time])
                raise self.wrong(-1, f"the time field {given.time} is not a time", got, event_times.EXPECTED)
            self._times.append(time)

    def rows(
        self,
        values: Sequence[bytes],
        find: Finder | None = None,
        write: Callable[[int, str], bytes] = lambda _row, text: text.encode(),
        last_ms: int | None = None,
    ) -> Rows:
        """The rows with these bytes. ``find`` locates the time in one of them, for a file that is repeated.

        Raises UsageError for a time whose form cannot be continued, until ``last_ms`` if there is such an end.
        """
        if not (self._given.loop and self._given.time and values and find):
            return Rows(values, self._keys, self._times)
        times: list[RepeatableTime] = []
        spans: list[tuple[int, int]] = []
        for row, value in enumerate(values):
            found = find(row)
            time = event_times.read_text(found[2]) if found else None
            if found is None or not isinstance(time, RepeatableTime):
                raise self._not_continued(row, repr(found[2]) if found else shown(value))
            times.append(time)
            spans.append(found[:2])
        rooms_ms = [time.room_ms if last_ms is None else min(time.room_ms, last_ms - time.ms) for time in times]
        field = TimeField(times, spans, write, min(rooms_ms))
        self._check(values, field, rooms_ms, find)
        return Rows(values, self._keys, times, field)

    def _check(self, values: Sequence[bytes], field: TimeField, rooms_ms: Sequence[int], find: Finder) -> None:
        """Raises UsageError unless every row stays the same without a shift, and can be shifted by the period.

        A form that cannot be continued must not be found in the middle of a run.
        """
        period_ms = field.period_ms
        latest = min(range(len(values)), key=rooms_ms.__getitem__)
        if period_ms > field.room_ms:
            got = f"{field.times[latest].later(0)!r}, and repetitions every {period_ms:,} ms"
            raise self._not_continued(latest, got, "times with a later one in the same form")
        for row, (value, time) in enumerate(zip(values, field.times, strict=True)):
            later = time.later(period_ms)
            field.write(row, later)
            again = event_times.read_text(later)
            same = field.later(row, value, 0) == value and time.ms == self._times[row].ms
            if not same or again is None or again.ms != time.ms + period_ms:
                found = find(row)
                assert found is not None, "the same row was located before"
                raise self._not_continued(row, repr(found[2]))

    def _not_continued(self, row: int, got: str, expected: str = event_times.REPEATABLE) -> UsageError:
        what = f"loop=true cannot continue the time field {self._given.time} in its form"
        return self.wrong(row, what, got=got, expected=expected)

    def _key(self, value: Any) -> bytes:
        if isinstance(value, bytes):
            return value
        try:
            plain = value if isinstance(value, str | list | dict) else plain_json(value)
            return plain.encode() if isinstance(plain, str) else json.dumps(plain, default=plain_json).encode()
        except (ValueError, TypeError, RecursionError) as problem:
            what = f"the key field {self._given.key} cannot become a key"
            raise self.wrong(-1, what, got=f"{ascii(value)[:_SHOWN]}: {problem}") from None

    def wrong(self, row: int, what: str, got: object = None, expected: object = None) -> UsageError:
        """The error for one of the rows taken so far."""
        return wrong(self._given, self._numbers[row], what, got, expected, by_line=self._by_line)


def plain_json(value: Any) -> Any:
    """What JSON has no form for, as text. Raises TypeError for binary data."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("binary data has no form in JSON")
    return str(value)


def check_size(key: bytes | None, value: bytes, where: object) -> None:
    """Raises UsageError for a record that a broker would refuse."""
    size = len(key or b"") + len(value)
    if size > RECORD_BYTES_MAX:
        raise UsageError(
            "a record is too large",
            where=where,
            got=f"{size:,} bytes",
            expected=f"at most {RECORD_BYTES_MAX:,}, key and value together",
        )


def wrong(
    given: Given, number: int, what: str, got: object = None, expected: object = None, *, by_line: bool = True
) -> UsageError:
    """The error for a line or a record of the file."""
    where = f"{given.file}, {'line' if by_line else 'record'} {number}"
    return UsageError(what, where=where, got=got, expected=expected)


def shown(line: bytes) -> str:
    """The beginning of a line, quoted."""
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")
