"""The data set of your own files and functions: replayed in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from streamgauge.contracts import Dataset, Records
from streamgauge.errors import UsageError
from streamgauge.workloads.yours.function import Pairs, RecordFunction
from streamgauge.workloads.yours.given import Given
from streamgauge.workloads.yours.reader import read
from streamgauge.workloads.yours.rows import Rows

NUMBER_HEADER, EVENT_HEADER = "streamgauge-n", "streamgauge-event-ms"
"""Headers of each record: its sequence number and, with ``time=``, its event time."""
_TRIED = 10

Headers = list[list[tuple[str, bytes]]]


class YourRecords(Dataset):
    """Records in turns: of each ``sum of all shares`` records, a stream gets as many as its share, in order."""

    name: ClassVar[str] = "yours"

    def __init__(self, streams: Sequence[Given], records: int) -> None:
        """Raises UsageError for files that cannot be used, and for a file that ends before the load does."""
        self.streams = tuple(one.stream for one in streams)  # type: ignore[misc]
        self._turn = [place for place, one in enumerate(streams) for _ in range(one.share)]
        self._firsts = [self._turn.index(place) for place in range(len(streams))]
        self._given = streams
        self._sources = [_Made(one) if one.function else _Replayed(one) for one in streams]
        self.repeated: list[Given] = []
        """The files that the load begins again."""
        sizes = []
        for place, source in enumerate(self._sources):
            if isinstance(source, _Replayed) and source.repeats(-(-records * streams[place].share // len(self._turn))):
                self.repeated.append(streams[place])
            sizes.append(source.mean_bytes * streams[place].share)
        self.record_bytes = round(sum(sizes) / len(self._turn)) + len(NUMBER_HEADER) + len(EVENT_HEADER) + 24

    def build(self, first: int, count: int) -> Mapping[str, Records]:
        if len(self._sources) == 1:
            return {self.streams[0]: self._sources[0].records(range(first, first + count), first)}
        built = {}
        turn = len(self._turn)
        for place, source in enumerate(self._sources):
            share, offset = self._given[place].share, self._firsts[place]
            own = range(self._before(place, first), self._before(place, first + count))
            numbers = [row // share * turn + offset + row % share for row in own]
            if numbers:
                built[self.streams[place]] = source.records(numbers, own.start)
        return built

    def _before(self, place: int, end: int) -> int:
        """How many of the first ``end`` records belong to a stream."""
        share, offset = self._given[place].share, self._firsts[place]
        turns, rest = divmod(end, len(self._turn))
        return turns * share + min(max(rest - offset, 0), share)


class _Replayed:
    """The rows of a file, and its repetitions."""

    def __init__(self, given: Given) -> None:
        self._given = given
        self._rows: Rows = read(given)
        self._period_ms = self._rows.time_field.period_ms if self._rows.time_field else 0
        self.mean_bytes = self._rows.bytes / len(self._rows.values)

    def repeats(self, needed: int) -> bool:
        """Whether so many records need the file more than once.

        Raises UsageError for a file that ends before the load does, or whose times cannot go on for so long.
        """
        field = self._rows.time_field
        shift_ms = (needed - 1) // len(self._rows.values) * self._period_ms
        if field and shift_ms > field.room_ms:
            raise UsageError(
                f"the event times of stream {self._given.stream} cannot go on for the whole run in their form",
                where=self._given.file,
                got=f"repetitions that are up to {shift_ms:,} ms later",
                expected=f"at most {field.room_ms:,} ms",
                hint="earlier times in the file, a shorter --for, or a lower --rate",
            )
        if self._given.loop or needed <= len(self._rows.values):
            return needed > len(self._rows.values)
        raise UsageError(
            f"the data of stream {self._given.stream} does not last for the whole run",
            where=self._given.file,
            got=f"{len(self._rows.values):,} records",
            expected=f"{needed:,}",
            hint=f"--data {self._given.typed},loop=true to begin again at its end, a shorter --for, or a lower --rate",
        )

    def records(self, numbers: Sequence[int], first: int) -> Records:
        """The rows from ``first`` on, as records with these sequence numbers."""
        rows, size, count = self._rows, len(self._rows.values), len(numbers)
        begin = first % size
        if begin + count <= size:
            places: Sequence[int] = range(begin, begin + count)
            keys, values = rows.keys[begin : begin + count], rows.values[begin : begin + count]
        else:
            places = [(first + row) % size for row in range(count)]
            keys, values = [rows.keys[place] for place in places], [rows.values[place] for place in places]
        if not rows.times:
            return Records(numbers, keys, values, _numbered(numbers))
        shifts_ms = [(first + row) // size * self._period_ms for row in range(count)]
        if rows.time_field:
            later, shifted = rows.time_field.later, zip(places, values, shifts_ms, strict=True)
            values = [later(place, value, ms) if ms else value for place, value, ms in shifted]
        times = (rows.times[place].ms + ms for place, ms in zip(places, shifts_ms, strict=True))
        headers = [
            [(NUMBER_HEADER, b"%d" % n), (EVENT_HEADER, b"%d" % ms)] for n, ms in zip(numbers, times, strict=True)
        ]
        return Records(numbers, keys, values, headers)


class _Made:
    """What a function of the user's makes."""

    def __init__(self, given: Given) -> None:
        self._make: Callable[[int, int], Pairs] = RecordFunction(given)
        keys, values = self._make(0, _TRIED)
        self.mean_bytes = sum(len(key or b"") + len(value) for key, value in zip(keys, values, strict=True)) / _TRIED

    def records(self, numbers: Sequence[int], first: int) -> Records:
        keys, values = self._make(first, len(numbers))
        return Records(numbers, keys, values, _numbered(numbers))


def _numbered(numbers: Sequence[int]) -> Headers:
    return [[(NUMBER_HEADER, b"%d" % n)] for n in numbers]
