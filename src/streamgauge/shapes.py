"""When each record of a load should be sent, as pure arithmetic: number → time, and back.

Every shape is a sequence of segments in which records are evenly spaced::

    constant         one rate
    steps            the measured interval in equal parts, one rate each
    ramp             from one rate to another over the measured interval, in steps of 100 ms
    single-burst     first a backlog (sent before the engine starts), then the base rate
    periodic-burst   the base rate, plus a burst every few seconds
    fluctuating      high, low, high: thirds of the measured interval
    unlimited        no schedule: records are sent as fast as possible
    preloaded        no schedule: all records are sent before the engine starts

The warm-up has the initial rate of the measured interval, or rises to it; the tail has its final rate. Poisson arrivals
replace even spacing in all shapes except the last two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Ints = npt.NDArray[np.int64]

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

STAIR_S = 0.1
WARMUP_STAIR_S = 1.0
"""Step of a rising warm-up, which is not measured: few segments keep it fast."""
RISING_SHARE = 0.8
"""The share of a rising warm-up that rises. In the rest the engine settles at the full rate."""
PRELOAD_PER_S = 100_000
POISSON_BLOCK = 1024
"""Poisson arrivals are drawn in blocks of the time that this many evenly spaced records take."""

Value = TypeVar("Value")
ShapeName = Literal[
    "constant", "steps", "ramp", "single-burst", "periodic-burst", "fluctuating", "unlimited", "preloaded"
]
Arrivals = Literal["even", "poisson"]


class _CachedProperty(Generic[Value]):
    """A cached property without the lock of Python 3.11, so that a plan can be pickled."""

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self._make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Value:
        value = instance.__dict__[self._name] = self._make(instance)
        return value


@dataclass(frozen=True)
class Segment:
    """``records`` records, evenly over ``length_ns`` from ``start_ns`` on; the first is number ``first``."""

    start_ns: int
    length_ns: int
    first: int
    records: int


class _Blocks(NamedTuple):
    """The blocks in which Poisson arrivals are drawn, one element each.

    Block *b* covers the time of the evenly spaced records ``starts[b]`` to ``starts[b] + widths[b]``, and contains the
    records ``firsts[b]`` to ``firsts[b] + counts[b]``.
    """

    starts: Ints
    widths: Ints
    firsts: Ints
    counts: Ints


@dataclass(frozen=True)
class LoadPlan:
    """A load and the phases of its run. Record 0 is sent at the start of the warm-up."""

    rate_per_s: int
    warmup_s: float
    measured_s: float
    tail_s: float
    shape: ShapeName = "constant"
    arrivals: Arrivals = "even"
    steps_per_s: tuple[int, ...] = ()
    """steps: the rates."""
    to_per_s: int = 0
    """ramp: the rate at its end. fluctuating: the low rate."""
    burst_records: int = 0
    burst_s: float = 0.0
    burst_every_s: float = 0.0
    rising_warmup: bool = False
    """Not for the burst shapes, whose load begins at once, nor for unlimited."""
    preloaded: int = 0
    """preloaded: the number of records."""
    seed: int = 0
    """For Poisson arrivals."""
    poisson_blocks: Literal["drawn", "fixed"] = "drawn"
    """Whether the number of records of a Poisson block is drawn too. Manifests without this key have fixed numbers."""

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> LoadPlan:
        """The inverse of ``asdict``. Raises TypeError for an unknown key."""
        early = content.get("arrivals") == "poisson" and "poisson_blocks" not in content
        missing = {"poisson_blocks": "fixed"} if early else {}
        return cls(**{**content, **missing, "steps_per_s": tuple(content.get("steps_per_s", ()))})

    @property
    def duration_s(self) -> float:
        return self.warmup_s + self.measured_s + self.tail_s

    @property
    def scheduled(self) -> bool:
        """Whether each record has a scheduled time."""
        return self.shape not in ("unlimited", "preloaded")

    @property
    def before_engine(self) -> bool:
        """Whether records are sent before the engine starts."""
        return self.shape in ("single-burst", "preloaded")

    @property
    def is_one_rate(self) -> bool:
        """Whether the rate is constant from the first record to the last."""
        return self.shape == "constant" and not self.rising_warmup

    @property
    def bursts(self) -> tuple[Segment, ...]:
        """single-burst: the backlog. periodic-burst: each burst, including the base rate. Otherwise empty."""
        if self.shape == "single-burst":
            return self.segments[:1]
        return self.segments[1::2] if self.shape == "periodic-burst" else ()

    @property
    def busiest_per_s(self) -> int:
        """The rate of the second with the most records of a burst; without bursts, the plan's rate.

        For a load without a schedule, about what one load worker can send.
        """
        if self.shape == "preloaded":
            return min(self.preloaded, PRELOAD_PER_S)
        burst_per_s = round(self.burst_records / max(self.burst_s, 1.0))
        return max(self.rate_per_s, burst_per_s + (self.rate_per_s if self.shape == "periodic-burst" else 0))

    @_CachedProperty
    def records(self) -> int:
        """The total number of records."""
        if self.shape == "preloaded":
            return self.preloaded
        duration_ns = round(self.duration_s * NS_PER_S)
        if not self.scheduled:
            return -(-duration_ns * self.rate_per_s // NS_PER_S)
        return self._evenly_before(duration_ns)

    @_CachedProperty
    def segments(self) -> tuple[Segment, ...]:
        if self.is_one_rate:
            # Whole seconds, so that record n is sent at n / rate whatever the duration; ``records`` cuts it off.
            seconds = max(1, -(-round(self.duration_s * NS_PER_S) // NS_PER_S))
            return (Segment(0, seconds * NS_PER_S, 0, seconds * self.rate_per_s),)
        segments: list[Segment] = []
        planned, start_s, first = 0.0, 0.0, 0
        for length_s, records in self._parts():
            planned += records
            start_ns, end_ns = round(start_s * NS_PER_S), round((start_s + length_s) * NS_PER_S)
            # The sum is rounded, so that fractions of records are not lost in each part.
            segments.append(Segment(start_ns, end_ns - start_ns, first, round(planned) - first))
            start_s, first = start_s + length_s, round(planned)
        return tuple(segment for segment in segments if segment.length_ns > 0)

    def _parts(self) -> Iterator[tuple[float, float]]:
        """Length in seconds and number of records of each part, in order."""
        rate, measured_s = float(self.rate_per_s), self.measured_s
        if self.shape == "constant":
            yield from self._warm_up(rate)
            yield measured_s + self.tail_s, (measured_s + self.tail_s) * rate
        elif self.shape == "steps":
            yield from self._warm_up(self.steps_per_s[0])
            part_s = measured_s / len(self.steps_per_s)
            yield from ((part_s, part_s * step) for step in self.steps_per_s)
            yield self.tail_s, self.tail_s * self.steps_per_s[-1]
        elif self.shape == "ramp":
            yield from self._warm_up(rate)
            yield from _stairs(measured_s, rate, self.to_per_s)
            yield self.tail_s, self.tail_s * self.to_per_s
        elif self.shape == "fluctuating":
            yield from self._warm_up(rate)
            yield measured_s / 3, measured_s / 3 * rate
            yield measured_s / 3, measured_s / 3 * self.to_per_s
            yield measured_s / 3 + self.tail_s, (measured_s / 3 + self.tail_s) * rate
        elif self.shape == "single-burst":
            yield self.burst_s, float(self.burst_records)
            rest_s = max(self.duration_s - self.burst_s, 0.0)
            yield rest_s, rest_s * rate
        elif self.shape == "periodic-burst":
            calm_s = self.burst_every_s - self.burst_s
            left_s = self.duration_s
            while left_s > 0:
                yield min(calm_s, left_s), min(calm_s, left_s) * rate
                if left_s > calm_s:
                    yield self.burst_s, self.burst_s * rate + self.burst_records
                left_s -= self.burst_every_s

    def _warm_up(self, rate: float) -> Iterator[tuple[float, float]]:
        rising_s = RISING_SHARE * self.warmup_s if self.rising_warmup else 0.0
        yield from _stairs(rising_s, 0.0, rate, WARMUP_STAIR_S)
        yield self.warmup_s - rising_s, (self.warmup_s - rising_s) * rate

    def offset_ns(self, n_seq: int) -> int:
        """When record ``n_seq`` should be sent, in nanoseconds after the start; 0 without a schedule."""
        if not self.scheduled:
            return 0
        if self.arrivals == "poisson" and n_seq < self.records:
            block = bisect_right(self._blocks.firsts, n_seq) - 1
            return int(self._random_block(block)[n_seq - self._blocks.firsts[block]])
        return self._evenly(n_seq)

    def offsets_ns(self, n_seq: Ints) -> Ints:
        """``offset_ns`` of many records at once."""
        import numpy as np

        if not self.scheduled:
            return np.zeros(len(n_seq), np.int64)
        if self.arrivals == "even":
            return self._many_evenly(n_seq)
        firsts = self._blocks.firsts
        order = np.argsort(n_seq, kind="stable")
        rising = n_seq[order]
        blocks, begins = np.unique(np.searchsorted(firsts, rising, side="right") - 1, return_index=True)
        offsets = np.zeros(len(n_seq), np.int64)
        ends = np.append(begins[1:], len(rising))[: len(begins)]
        for block, begin, end in zip(blocks.tolist(), begins, ends, strict=True):
            offsets[order[begin:end]] = self._random_block(block)[rising[begin:end] - firsts[block]]
        return offsets

    def count_before(self, elapsed_ns: int) -> int:
        """The number of records due before ``elapsed_ns``: those with ``offset_ns(n) < elapsed_ns``."""
        if elapsed_ns <= 0:
            return 0
        if not self.scheduled:
            return self.records
        even = min(self._evenly_before(elapsed_ns), self.records)
        if self.arrivals == "even" or even == self.records:
            return even
        import numpy as np

        # Records stay within the time of their block, so earlier blocks are complete and later ones have not begun.
        block = bisect_right(self._blocks.starts, max(even - 1, 0)) - 1
        inside = int(np.searchsorted(self._random_block(block), elapsed_ns, side="left"))
        return int(self._blocks.firsts[block]) + inside

    def per_second(self) -> list[int]:
        """Records due in each second of the load; the last second may be partial."""
        seconds = -(-round(self.duration_s * NS_PER_S) // NS_PER_S)
        counts = [self.count_before(second * NS_PER_S) for second in range(max(seconds, 1))] + [self.records]
        return [after - before for before, after in pairwise(counts)]

    def offered_before(self, elapsed_s: float) -> int:
        """Records due in the second before ``elapsed_s``; 0 after the end of the load."""
        until_ns = round(elapsed_s * NS_PER_S)
        over = elapsed_s >= self.duration_s
        return 0 if over else self.count_before(until_ns) - self.count_before(until_ns - NS_PER_S)

    def most_within(self, seconds: int) -> int:
        """The most records within this many consecutive seconds."""
        counts = self.per_second()
        return max(sum(counts[start : start + seconds]) for start in range(max(1, len(counts) - seconds + 1)))

    @_CachedProperty
    def _starts_ns(self) -> list[int]:
        return [segment.start_ns for segment in self.segments]

    @_CachedProperty
    def _firsts(self) -> list[int]:
        return [segment.first for segment in self.segments]

    def _evenly(self, n_seq: int) -> int:
        segment = self.segments[bisect_right(self._firsts, n_seq) - 1]
        return segment.start_ns + (n_seq - segment.first) * segment.length_ns // max(segment.records, 1)

    def _evenly_before(self, elapsed_ns: int) -> int:
        segment = self.segments[bisect_right(self._starts_ns, elapsed_ns) - 1]
        inside = -(-(elapsed_ns - segment.start_ns) * segment.records // segment.length_ns)
        return segment.first + min(inside, segment.records)

    @_CachedProperty
    def _columns(self) -> Ints:
        """The fields of the segments, one row each."""
        import numpy as np

        return np.array([[*vars(segment).values()] for segment in self.segments]).T

    def _many_evenly(self, n_seq: Ints) -> Ints:
        import numpy as np

        start_ns, length_ns, first, records = self._columns
        place = np.searchsorted(first, n_seq, side="right") - 1
        inside, records = n_seq - first[place], np.maximum(records, 1)[place]
        # Quotient and remainder separately: the plain product would overflow 64 bits.
        whole, rest = np.divmod(length_ns[place], records)
        offsets: Ints = start_ns[place] + inside * whole + inside * rest // records
        return offsets

    @_CachedProperty
    def _blocks(self) -> _Blocks:
        """Draw the number of records of each block; the total is that of the plan.

        A burst, and the time between two bursts, keep their planned number of records, so that a burst has the same
        records with any seed. Other shapes are drawn as a whole: fixed numbers would make arrivals too smooth.
        """
        import numpy as np

        bounds = [*(self._firsts if self.bursts else [0]), self.records]
        random = np.random.Generator(np.random.Philox(key=[self.seed % 2**64, 2**63 - 1]))
        starts, counts = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for first, end in pairwise([0, self.records] if self.poisson_blocks == "fixed" else bounds):
            start = np.arange(first, end, POISSON_BLOCK)
            widths = np.diff([*start, max(first, end)])
            starts.append(start)
            drawn = self.poisson_blocks == "drawn" and first < end
            counts.append(random.multinomial(end - first, widths / (end - first)) if drawn else widths)
        start, count = np.concatenate(starts), np.concatenate(counts)
        return _Blocks(start, np.append(start[1:], self.records) - start, np.cumsum(count) - count, count)

    @_CachedProperty
    def _random_blocks(self) -> dict[int, Ints]:
        return {}

    def _random_block(self, block: int) -> Ints:
        """The send times of one block of Poisson arrivals. A few blocks are cached for repeated use."""
        import numpy as np

        known = self._random_blocks
        if block not in known:
            if len(known) > 64:
                known.clear()
            start, width, _, count = (int(column[block]) for column in self._blocks)
            random = np.random.Generator(np.random.Philox(key=[self.seed % 2**64, block]))
            place = np.sort(random.random(count)) * width
            whole = place.astype(np.int64)
            here = self._many_evenly(start + whole)
            following = self._many_evenly(np.minimum(start + whole + 1, self.records - 1))
            known[block] = here + ((place - whole) * np.maximum(following - here, 0)).astype(np.int64)
        return known[block]


def _stairs(
    length_s: float, from_per_s: float, to_per_s: float, stair_s: float = STAIR_S
) -> Iterator[tuple[float, float]]:
    """Steps that approximate a linear change from one rate to another."""
    stairs = max(1, round(length_s / stair_s))
    part_s, rise = length_s / stairs, (to_per_s - from_per_s) / stairs
    yield from ((part_s, part_s * (from_per_s + rise * (stair + 0.5))) for stair in range(stairs))
