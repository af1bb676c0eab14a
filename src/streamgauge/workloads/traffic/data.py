"""Road traffic: a flow and a speed message for every lane of every measurement point, once a round.

A record is a pure function of the seed and its sequence number. A round visits all lanes once, with the lanes of a
point next to each other, and the speed message of a lane right after its flow message::

    n_seq = round × 2L + 2 × lane entry + (0 for flow, 1 for speed)        L = lanes of all points

Every round has its own timestamp, a minute after the previous one, so that (timestamp, id, lane) occurs once in each
stream of a run. With another distribution of keys (keys.py), lanes are random.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from streamgauge.contracts import Dataset, Records
from streamgauge.errors import UsageError
from streamgauge.workloads.chance import mix
from streamgauge.workloads.keys import spread
from streamgauge.workloads.traffic import STREAMS

FIRST_TIMESTAMP = datetime(2026, 1, 1)  # noqa: DTZ001 - a data field without a time zone
MAX_RECORDS = 10**10
"""Sequence numbers have a fixed width of ten digits."""

# 1 to 4 lanes per point, 1.585 on average: as in the study, a point has 3.17 messages per round.
_LANES_CUMULATED = np.array([0.62, 0.84, 0.955])
_MAX_ROUNDS = (datetime(9999, 12, 31) - FIRST_TIMESTAMP) // timedelta(minutes=1)  # noqa: DTZ001 - as above

_U8 = npt.NDArray[np.uint8]
_U64 = npt.NDArray[np.uint64]

_LAYOUT = (
    '{"n_seq":##########,"id":"RWS01_MONIBAS_####hrl####","lane":"lane#","lanes":#,'
    '"timestamp":"2026-01-01 00:00:00","flow": ###,"period":60,"accuracy":###,'
    '"lat_e6":########,"lon_e6": #######}'
)
"""The bytes of every message. ``"flow": `` and ``"speed":`` are equally long, so both streams share it."""


def _field(name: str) -> slice:
    """The run of # after a name in the layout."""
    start = _LAYOUT.index("#", _LAYOUT.index(f'"{name}"'))
    end = start
    while _LAYOUT[end] == "#":
        end += 1
    return slice(start, end)


WIDTH = len(_LAYOUT)
_N_SEQ = _field("n_seq")
_N_SEQ_HIGH = slice(_N_SEQ.start, _N_SEQ.stop - 4)
_N_SEQ_LOW = slice(_N_SEQ.stop - 4, _N_SEQ.stop)
_ID = slice(_LAYOUT.index("RWS01"), _LAYOUT.index('","lane"'))
_LANE = _field("lane")
_LANES = _field("lanes")
_TIMESTAMP = slice(_LAYOUT.index("2026-"), _LAYOUT.index("2026-") + 19)
_NAME = slice(_LAYOUT.index('"flow": '), _LAYOUT.index('"flow": ') + 8)
_VALUE = _field("flow")
_ACCURACY = _field("accuracy")
_LAT = _field("lat_e6")
_LON = _field("lon_e6")


def _digits(texts: list[str]) -> _U8:
    return np.frombuffer("".join(texts).encode(), np.uint8).reshape(len(texts), -1)


_ZERO_PADDED = _digits([f"{n:04}" for n in range(10_000)])
_SPACE_PADDED = _digits([f"{n:4}" for n in range(10_000)])
_THREE = _digits([f"{n:3}" for n in range(1_000)])


class Traffic(Dataset):
    """Flow and speed messages of ``points`` measurement points, keyed by the point's id."""

    name: ClassVar[str] = "traffic"
    streams: ClassVar[tuple[str, ...]] = STREAMS

    record_bytes = WIDTH + _ID.stop - _ID.start

    def __init__(self, seed: int, points: int, keys: str = "dataset") -> None:
        if points < 1:
            raise UsageError("a traffic data set needs measurement points", got=points, expected="at least 1")
        self.points = points
        self._seed = mix(np.array([seed % 2**64], np.uint64))[0]
        self._lanes_by_point = _lanes_of_points(self._seed, points)
        self.lanes = int(self._lanes_by_point.sum())
        """Lanes of all points; a round has twice as many messages."""
        self._records = min(MAX_RECORDS, 2 * self.lanes * _MAX_ROUNDS)
        self._choose = None if keys == "dataset" else spread(keys, self.lanes)

    @classmethod
    def for_rate(cls, seed: int, rate_per_s: int, keys: str = "dataset") -> Traffic:
        """With as many points as one round visits in about a second."""
        mixed = mix(np.array([seed % 2**64], np.uint64))[0]
        lanes_so_far = np.cumsum(_lanes_of_points(mixed, max(1, rate_per_s // 2)))
        return cls(seed, 1 + int(np.argmin(np.abs(2 * lanes_so_far - rate_per_s))), keys)

    def build(self, first: int, count: int) -> dict[str, Records]:
        """See Dataset.build. Raises UsageError beyond the last record that fits into the fields."""
        end = first + count
        if end > self._records:
            raise UsageError("the traffic data set has no more records", got=end, expected=f"at most {self._records}")
        return {
            stream: self._stream(remainder, range(first + (first + remainder) % 2, end, 2))
            for remainder, stream in enumerate(self.streams)
        }

    def _stream(self, remainder: int, n_seq: range) -> Records:
        numbers = np.arange(n_seq.start, n_seq.start + 2 * len(n_seq), 2, dtype=np.uint64)
        rows, keys = self._in_turn(n_seq) if self._choose is None else self._at_random(numbers)
        if remainder:
            rows[:, _NAME] = _ascii('"speed":')
        _write_n_seq(rows, n_seq, numbers)
        chance = mix(numbers ^ self._seed)
        rows[:, _VALUE] = _THREE[40 + chance % np.uint64(91) if remainder else chance % np.uint64(60)]
        rows[:, _ACCURACY] = _THREE[80 + (chance >> np.uint64(32)) % np.uint64(21)]
        return Records(n_seq, keys, rows.view(f"S{WIDTH}").ravel().tolist())

    def _in_turn(self, n_seq: range) -> tuple[_U8, list[bytes]]:
        """The lanes one after another, round by round."""
        static_keys, static_rows = self._static
        rows = np.empty((len(n_seq), WIDTH), np.uint8)
        keys: list[bytes] = []
        for start, stop, round_, entry in self._pieces(n_seq):
            entries = slice(entry, entry + stop - start)
            rows[start:stop] = static_rows[entries]
            rows[start:stop, _TIMESTAMP] = _ascii(str(FIRST_TIMESTAMP + timedelta(minutes=round_)))
            keys += static_keys[entries]
        return rows, keys

    def _at_random(self, numbers: _U64) -> tuple[_U8, list[bytes]]:
        """Random lanes, the same one for a flow message and the speed message after it.

        Each pair has its own timestamp, a second after the previous one: a lane may repeat, but (timestamp, id, lane)
        must not.
        """
        assert self._choose is not None
        pair = numbers // np.uint64(2)
        entries = self._choose(mix(mix(pair) ^ self._seed) / 2.0**64)
        static_keys, static_rows = self._static
        rows = static_rows[entries]
        moments = np.datetime64(FIRST_TIMESTAMP, "s") + pair.astype(np.int64)
        texts = np.char.replace(np.datetime_as_string(moments, unit="s"), "T", " ").astype("S19")
        rows[:, _TIMESTAMP] = texts.view(np.uint8).reshape(len(pair), 19)
        return rows, [static_keys[entry] for entry in entries.tolist()]

    def _pieces(self, n_seq: range) -> Iterator[tuple[int, int, int, int]]:
        """Runs of rows within one round: first row, row after the last, round, lane entry of the first."""
        row = 0
        while row < len(n_seq):
            round_, entry = divmod(n_seq[row] // 2, self.lanes)
            stop = min(len(n_seq), row + self.lanes - entry)
            yield row, stop, round_, entry
            row = stop

    @cached_property
    def _static(self) -> tuple[list[bytes], _U8]:
        """The key of each lane entry, and its message with everything that stays the same in every round.

        Built with the first records: a plan does not need it, and with millions of lanes it takes seconds.
        """
        lanes = self._lanes_by_point
        point = np.repeat(np.arange(self.points), lanes)
        lane = np.arange(self.lanes) - np.repeat(np.cumsum(lanes) - lanes, lanes)
        place = mix(point.astype(np.uint64) + np.uint64(MAX_RECORDS) ^ self._seed)
        rows = np.tile(_ascii(_LAYOUT), (self.lanes, 1))
        _write_digits(rows, slice(_ID.stop - 4, _ID.stop), point % 10_000)
        _write_digits(rows, slice(_ID.stop - 11, _ID.stop - 7), point // 10_000)
        rows[:, _LANE.start] = ord("1") + lane
        rows[:, _LANES.start] = ord("0") + np.repeat(lanes, lanes)
        # Somewhere in the Netherlands.
        _write_digits(rows, _LAT, 50_750_000 + (place % np.uint64(2_750_000)).astype(np.int64))
        _write_digits(rows, _LON, 3_400_000 + ((place >> np.uint64(32)) % np.uint64(3_800_000)).astype(np.int64))
        ids: list[bytes] = np.ascontiguousarray(rows[:, _ID]).view(f"S{_ID.stop - _ID.start}").ravel().tolist()
        # Lanes of one point share one object: a large data set holds each key once.
        shared: dict[bytes, bytes] = {}
        return [shared.setdefault(key, key) for key in ids], rows


def _lanes_of_points(seed: Any, points: int) -> npt.NDArray[np.int64]:
    chance = mix(mix(np.arange(points, dtype=np.uint64)) ^ seed) / 2.0**64
    return 1 + np.searchsorted(_LANES_CUMULATED, chance, side="right")


def _ascii(text: str) -> _U8:
    return np.frombuffer(text.encode(), np.uint8)


def _write_digits(rows: _U8, field: slice, numbers: npt.NDArray[np.int64]) -> None:
    for column in range(field.stop - 1, field.start - 1, -1):
        rows[:, column] = ord("0") + numbers % 10
        numbers = numbers // 10


def _write_n_seq(rows: _U8, n_seq: range, numbers: _U64) -> None:
    """Right-aligned in ten columns. The upper six change only once in 10,000, so they are written in runs."""
    low = numbers % np.uint64(10_000)
    row = 0
    while row < len(n_seq):
        high = n_seq[row] // 10_000
        stop = min(len(n_seq), row + -(-(10_000 * (high + 1) - n_seq[row]) // 2))
        rows[row:stop, _N_SEQ_HIGH] = _ascii(f"{high:6}" if high else " " * 6)
        rows[row:stop, _N_SEQ_LOW] = (_ZERO_PADDED if high else _SPACE_PADDED)[low[row:stop]]
        row = stop
