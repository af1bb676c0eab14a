"""The data sets of StreamBench: a search log and statistics of network traces."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from streamgauge.errors import UsageError
from streamgauge.workloads.keys import Floats, spread
from streamgauge.workloads.seed_file import place, read_records, shown
from streamgauge.workloads.seed_records import SEED_RECORDS, SeedRecords, random_numbers
from streamgauge.workloads.streambench import PACKET_SEPARATOR, SEARCHLOG_SEPARATOR

Integers = npt.NDArray[np.int64]

SUM_MAX = 2**63 - 1

SEARCHLOG_FIELDS = ("user id", "query", "query time", "item rank", "click URL")
WORDS = 4_000
USERS = 650_000
FIRST_QUERY = np.datetime64("2006-03-01T00:00:00")
NEW_SESSION = 0.4
"""The probability that a record belongs to another user than the previous one."""
CLICKED = 0.5
_QUERY_WORDS = np.array([0.20, 0.50, 0.75, 0.90, 0.97])
"""Cumulative shares of queries with 1, 2, … words; the longest have one word more than listed."""

PACKET_FIELDS = (
    "packet size",
    "IPv4 packets",
    "IPv4 bytes",
    "IPv6 packets",
    "IPv6 bytes",
    "TCP packets",
    "TCP bytes",
    "UDP packets",
    "UDP bytes",
    "ICMP packets",
    "ICMP bytes",
    "other packets",
    "other bytes",
    "flows",
    "first seen (ms)",
    "last seen (ms)",
    "bytes",
)
FIRST_TRACE_MS = 1_379_656_800_000
"""September 2013, the start of the paper's traces."""
TRACE_MS = 3_600_000

_NUMBER = rb"-?\d+(?:\.\d+)?"
_PACKET = re.compile(rb" ".join([_NUMBER] * len(PACKET_FIELDS)))
_INTEGER = re.compile(rb"-?\d{1,18}")


class SearchLog(SeedRecords):
    """Queries of a search engine's users, session by session, as lines of ``SEARCHLOG_FIELDS``."""

    name: ClassVar[str] = "searchlog"

    def __init__(self, seed: int, seed_file: str = "") -> None:
        """Raises UsageError for an unusable seed file."""
        super().__init__(
            read_records(seed_file, SEARCHLOG_SEPARATOR.encode(), SEARCHLOG_FIELDS) if seed_file else _searches(seed)
        )


class Packets(SeedRecords):
    """Statistics of network traces, as lines of ``PACKET_FIELDS``."""

    name: ClassVar[str] = "packets"

    def __init__(self, seed: int, seed_file: str = "") -> None:
        """Raises UsageError for an unusable seed file."""
        self._seed_file = seed_file
        super().__init__(
            read_records(seed_file, PACKET_SEPARATOR.encode(), PACKET_FIELDS) if seed_file else _traces(seed)
        )
        if seed_file:
            self._check_numbers()

    def _check_numbers(self) -> None:
        for line, value in enumerate(self.values, 1):
            if not _PACKET.fullmatch(value):
                fields = value.split(PACKET_SEPARATOR.encode())
                field = next(n for n, text in enumerate(fields) if not re.fullmatch(_NUMBER, text))
                raise UsageError(
                    "the seed file has a field that is not a number",
                    where=place(self._seed_file, line),
                    got=f"field {field}: {shown(fields[field])}",
                    expected="digits, with a minus sign or a decimal point where needed: 42, -1, 0.5",
                )

    def check_sum(self, field: int, records: int) -> None:
        """Raises UsageError unless the field is an integer and its sum over ``records`` records fits into 64 bits."""
        texts = [value.split(PACKET_SEPARATOR.encode())[field] for value in self.values]
        for line, text in enumerate(texts, 1):
            if not _INTEGER.fullmatch(text):
                raise UsageError(
                    f"statistics cannot use field {field} of the seed file",
                    where=place(self._seed_file, line),
                    got=shown(text),
                    expected="an integer of at most 18 digits",
                    hint="choose another field from 0 to 16: --set field=N",
                )
        replays = -(-records // len(texts))
        largest = replays * sum(abs(int(text)) for text in texts)
        if largest > SUM_MAX:
            raise UsageError(
                f"the sum of field {field} may not fit into 64 bits",
                got=f"up to {largest:,} over {records:,} records",
                expected=f"at most {SUM_MAX:,}",
                hint="choose a field with smaller numbers (--set field=N), or fewer records",
            )


@cache
def vocabulary() -> tuple[str, ...]:
    """The words of the queries, most frequent first: the same for every seed, so that a pattern can be chosen."""
    syllables = [start + vowel + end for start in "bcdfghklmnprstvw" for vowel in "aeiou" for end in ("", "n", "r")]
    random = np.random.Generator(np.random.Philox(key=2014))
    picked = (random.random((2 * WORDS, 3)) * len(syllables)).astype(int).tolist()
    long = (random.random(2 * WORDS) < 0.3).tolist()
    words = ("".join(syllables[n] for n in row[: 2 + more]) for row, more in zip(picked, long, strict=True))
    return tuple(dict.fromkeys(words))[:WORDS]


def _searches(seed: int) -> list[bytes]:
    random = random_numbers(seed, 1)
    words, number = vocabulary(), SEED_RECORDS
    session = np.cumsum(random.random(number) < NEW_SESSION)
    users = 100_000 + (random.random(number + 1) * USERS).astype(np.int64)[session]
    lengths = 1 + np.searchsorted(_QUERY_WORDS, random.random(number), side="right")
    ends = np.cumsum(lengths)
    chosen = [words[n] for n in spread("zipf", WORDS)(random.random(int(ends[-1]))).tolist()]
    queries = [" ".join(chosen[start:end]) for start, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True)]
    seconds = np.cumsum(1 + (random.random(number) * 150).astype(np.int64))
    times = np.datetime_as_string(FIRST_QUERY + seconds, unit="s").tolist()
    clicked = (random.random(number) < CLICKED).tolist()
    ranks = (1 + spread("zipf", 10)(random.random(number))).tolist()
    sites = (random.random(number) * WORDS).astype(np.int64).tolist()
    rows = zip(users.tolist(), queries, times, clicked, ranks, sites, strict=True)
    return _encoded(
        f"{user}\t{query}\t{time.replace('T', ' ')}\t" + (f"{rank}\thttp://www.{words[site]}.com" if click else "\t")
        for user, query, time, click, rank, site in rows
    )


def _traces(seed: int) -> list[bytes]:
    random = random_numbers(seed, 2)

    def between(low: float, high: float) -> Floats:
        return low + (high - low) * random.random(SEED_RECORDS)

    def part(low: float, high: float) -> Integers:
        """A random share of the packets in this range."""
        return (packets * between(low, high)).astype(np.int64)

    size = between(40, 1501).astype(np.int64)
    packets = between(1e8, 4e9).astype(np.int64)
    ipv6, udp, icmp, other = part(0.05, 0.45), part(0.1, 0.4), part(0.01, 0.1), part(0.01, 0.1)
    counts = (packets - ipv6, ipv6, packets - udp - icmp - other, udp, icmp, other)
    flows = part(0.01, 0.1)
    first_ms = FIRST_TRACE_MS + np.cumsum(1 + between(0, 1000).astype(np.int64))
    last_ms = first_ms + between(0, TRACE_MS).astype(np.int64)
    columns = [size, *(column for count in counts for column in (count, count * size))]
    columns += [flows, first_ms, last_ms, packets * size]
    rows = zip(*(map(str, column.tolist()) for column in columns), strict=True)
    return _encoded(map(PACKET_SEPARATOR.join, rows))


def _encoded(values: Iterable[str]) -> list[bytes]:
    return "\n".join(values).encode().split(b"\n")
