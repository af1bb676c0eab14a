"""Where a record carries its sequence number and its event time.

A place can be read in Spark, over the columns ``key``, ``value`` (binary) and ``headers`` of a transport, and in
Python, for one record. Both return null or None if the record has no such number.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame


class Message(NamedTuple):
    """One record as a client of a transport sees it."""

    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()


class Place(ABC):
    """The location of an integer in a record."""

    @abstractmethod
    def column(self) -> Column:
        """The number as a Spark column."""

    @abstractmethod
    def read(self, message: Message) -> int | None:
        """The number in one record."""


@dataclass(frozen=True)
class JsonField(Place):
    """A field of the JSON object that is the value.

    A regular expression takes a quarter of the time of parsing the whole message. It cannot match inside a string,
    where quotes are escaped.
    """

    name: str

    @property
    def _pattern(self) -> str:
        return rf'"{re.escape(self.name)}"\s*:\s*(\d+)'

    @cached_property
    def _compiled(self) -> re.Pattern[bytes]:
        return re.compile(self._pattern.encode())

    def column(self) -> Column:
        from pyspark.sql import functions as f

        return f.regexp_extract(f.col("value").cast("string"), self._pattern, 1).try_cast("bigint")

    def read(self, message: Message) -> int | None:
        match = self._compiled.search(message.value or b"")
        return int(match[1]) if match else None


@dataclass(frozen=True)
class DelimitedField(Place):
    """The field at ``index`` of a value whose fields are separated by one character."""

    index: int
    separator: str = "\t"

    def column(self) -> Column:
        from pyspark.sql import functions as f

        fields = f.split(f.col("value").cast("string"), re.escape(self.separator))
        return f.get(fields, f.lit(self.index)).try_cast("bigint")

    def read(self, message: Message) -> int | None:
        fields = (message.value or b"").split(self.separator.encode())
        return _whole(fields[self.index]) if self.index < len(fields) else None


_LOWER_DIGITS = 0x0F0F_0F0F_0F0F_0F0F


@dataclass(frozen=True)
class BinaryField(Place):
    """Little-endian bytes of the value from ``offset`` on; none for a number that Spark has no place for."""

    offset: int
    bytes: int = 8

    def column(self) -> Column:
        from pyspark.sql import functions as f

        digits = f.hex(f.substring("value", self.offset + 1, self.bytes))
        # Digits in reverse order have the bytes in the right order, each with its two digits exchanged.
        exchanged = f.conv(f.reverse(digits), 16, -10).cast("bigint")
        upper = f.shiftleft(exchanged.bitwiseAND(f.lit(_LOWER_DIGITS)), 4)
        number = f.shiftrightunsigned(exchanged, 4).bitwiseAND(f.lit(_LOWER_DIGITS)).bitwiseOR(upper)
        return f.when((f.length(digits) == 2 * self.bytes) & (number >= 0), number)

    def read(self, message: Message) -> int | None:
        field = (message.value or b"")[self.offset : self.offset + self.bytes]
        number = int.from_bytes(field, "little")
        return number if len(field) == self.bytes and number < 2**63 else None


@dataclass(frozen=True)
class MessageKey(Place):
    """The key, as decimal digits."""

    def column(self) -> Column:
        from pyspark.sql import functions as f

        return f.col("key").cast("string").try_cast("bigint")

    def read(self, message: Message) -> int | None:
        return None if message.key is None else _whole(message.key)


@dataclass(frozen=True)
class Header(Place):
    """A header of the record, as decimal digits."""

    name: str

    def column(self) -> Column:
        from pyspark.sql import functions as f

        named = f.filter(f.col("headers"), lambda header: header["key"] == self.name)
        return f.get(named, f.lit(0))["value"].cast("string").try_cast("bigint")

    def read(self, message: Message) -> int | None:
        return next((_whole(value) for name, value in message.headers if name == self.name and value), None)


@dataclass(frozen=True)
class Codec:
    """What generic code must know about a record's bytes."""

    n_seq: Place
    event_ms: Place | None = None
    """Event time in milliseconds; None if the event time is the append time."""
    text: bool = True
    """Whether key and value are UTF-8."""

    @property
    def needs_headers(self) -> bool:
        return any(isinstance(place, Header) for place in (self.n_seq, self.event_ms))


def _whole(digits: bytes) -> int | None:
    try:
        return int(digits)
    except ValueError:
        return None


def with_numbers(records: DataFrame, places: Mapping[str, Place]) -> DataFrame:
    """The records with the number at each place as a column of that name; null where there is none.

    Numbers in fixed-width bytes are read by numpy, several times as fast as by Spark's functions.
    """
    fields = {name: place for name, place in places.items() if isinstance(place, BinaryField)}
    if not fields or len(fields) < len(places):
        return records.withColumns({name: place.column() for name, place in places.items()})
    from pyspark.sql.types import LongType, StructField, StructType

    schema = StructType([*records.schema.fields, *(StructField(name, LongType()) for name in fields)])
    ranges = {name: (field.offset, field.bytes) for name, field in fields.items()}
    return records.mapInArrow(_binary_numbers(records.columns.index("value"), ranges), schema)


def _binary_numbers(
    value: int, ranges: Mapping[str, tuple[int, int]]
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """For ``mapInArrow``. It is pickled as it is: Spark's workers need numpy and pyarrow, not this package."""

    def numbered(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        for batch in batches:
            values = batch.column(value).cast(pa.large_binary())
            starts = np.frombuffer(values.buffers()[1], np.int64, len(values) + 1, 8 * values.offset)
            data = np.frombuffer(values.buffers()[2] or b"", np.uint8)
            lengths = np.where(values.is_valid().to_numpy(zero_copy_only=False), np.diff(starts), 0)
            columns = list(batch.columns)
            for offset, size in ranges.values():
                known = lengths >= offset + size
                numbers = np.zeros(len(values), np.uint64)
                first = starts[:-1][known] + offset
                found = np.zeros(len(first), np.uint64)
                for place in range(size):
                    found |= data[first + place].astype(np.uint64) << np.uint64(8 * place)
                numbers[known] = found
                # Spark has no place for numbers from 2^63 on.
                absent = ~known | (numbers >= np.uint64(2**63))
                columns.append(pa.array(numbers.astype(np.int64), mask=absent))
            yield pa.RecordBatch.from_arrays(columns, [*batch.schema.names, *ranges])

    return numbered
