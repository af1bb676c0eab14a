"""Latencies of results: exact percentiles of counted samples, drift, advice on the warm-up."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from streamgauge.evaluate.facts import PARTS
from streamgauge.evaluate.tally import MATCHED, Bools, Floats, Ints, Tally

PERCENTILES_PERMILLE: Mapping[str, int] = {"p50": 500, "p90": 900, "p99": 990, "p999": 999}
SAMPLES_ABOVE = 10
"""A percentile is shown when at least this many samples lie above it."""
DRIFT_SHARE = 0.25
KINDS = ("total", "latest", "average")


@dataclass(frozen=True)
class Distribution:
    """Samples as distinct values, rising, with their counts."""

    values: Floats
    counts: Ints

    @classmethod
    def of(cls, values: Floats | Ints, counts: Ints) -> Distribution:
        distinct, place = np.unique(values.astype(np.float64), return_inverse=True)
        summed = np.zeros(len(distinct), np.int64)
        np.add.at(summed, place, counts)
        return cls(distinct, summed)

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    @property
    def max(self) -> float | None:
        return float(self.values[-1]) if self.count else None

    @property
    def mean(self) -> float | None:
        return float((self.values * self.counts).sum() / self.count) if self.count else None

    def below_zero(self) -> int:
        return int(self.counts[self.values < 0].sum())

    def percentile(self, permille: int, *, above: int = SAMPLES_ABOVE) -> float | None:
        """Interpolated between the two nearest samples; None unless ``above`` samples lie above it."""
        last = self.count - 1
        lower, rest = divmod(last * permille, 1000)
        if last < 0 or last - lower < above:
            return None
        ends = np.cumsum(self.counts)
        low, high = self.values[np.searchsorted(ends, [lower, min(lower + 1, last)], side="right")]
        return float(low + (high - low) * (rest / 1000))

    @property
    def median(self) -> float | None:
        """The middle whatever the number of samples: for comparing, not for showing."""
        return self.percentile(500, above=0)

    def figures(self) -> dict[str, float | int | None]:
        """What the summary shows of it."""
        shown = {name: self.percentile(permille) for name, permille in PERCENTILES_PERMILLE.items()}
        return {"count": self.count, **shown, "max": self.max, "mean": self.mean}


EMPTY = Distribution(np.zeros(0), np.zeros(0, np.int64))


def distributions(tally: Tally) -> dict[str, Distribution]:
    """Each latency of the measured interval, and the generator's share of ``total``."""
    timed = tally.timed
    rows = tally.rows[timed]
    return {
        "total": Distribution.of(tally.total_ms[timed], rows),
        "latest": Distribution.of(tally.latest_ms[timed], rows),
        "average": Distribution.of(tally.average_ms[timed], rows),
        "generator_share": Distribution.of((tally.total_ms - tally.latest_ms)[timed], rows),
    }


def mostly_generator(total: Distribution, share: Distribution) -> list[str]:
    """The percentiles of ``total`` more than half of which is the generator's share."""
    marked = []
    for name, permille in PERCENTILES_PERMILLE.items():
        whole, part = total.percentile(permille), share.percentile(permille)
        if whole is not None and part is not None and part > whole / 2:
            marked.append(name)
    return marked


def medians_ms(tally: Tally, kind: str, place: Ints, places: int) -> list[float | None]:
    """The median of the measured results at each place (a second, a part of the interval); None where there is none."""
    return percentiles_ms(tally, kind, place, places, permille=500)


def percentiles_ms(tally: Tally, kind: str, place: Ints, places: int, *, permille: int) -> list[float | None]:
    """One percentile at each place, whatever the number of samples: for comparing, not for showing."""
    values = tally.latest_ms if kind == "latest" else tally.total_ms
    timed = tally.timed
    order = np.argsort(place[timed], kind="stable")
    where, value, rows = (column[timed][order] for column in (place, values, tally.rows))
    bounds = np.searchsorted(where, np.arange(places + 1))
    found = (Distribution.of(value[begin:end], rows[begin:end]) for begin, end in pairwise(bounds))
    return [distribution.percentile(permille, above=0) for distribution in found]


def medians_of_parts_ms(tally: Tally, kind: str, parts: int) -> list[float | None]:
    """The medians of ``parts`` equal parts of the measured interval; ``parts`` divides ``PARTS``."""
    return medians_ms(tally, kind, tally.part * parts // PARTS, parts)


def is_drifting(quarters_ms: Sequence[float | None]) -> bool:
    """The medians of the four quarters rise or fall strictly; the last is more than 25 % off the first."""
    medians = [median for median in quarters_ms if median is not None]
    if len(medians) < len(quarters_ms):
        return False
    steps = np.diff(medians)
    strict = bool((steps > 0).all() or (steps < 0).all())
    return strict and abs(medians[-1] - medians[0]) > DRIFT_SHARE * abs(medians[0])


def per_second(tally: Tally, kind: str, seconds: int) -> dict[str, list[float | None]]:
    """p50, p99 and max of the results anchored in each second."""
    values = tally.latest_ms if kind == "latest" else tally.total_ms
    matched: Bools = tally.fate == MATCHED
    order = np.argsort(tally.second[matched], kind="stable")
    second, value, rows = (column[matched][order] for column in (tally.second, values, tally.rows))
    bounds = np.searchsorted(second, np.arange(seconds + 1))
    series: dict[str, list[float | None]] = {"p50": [], "p99": [], "max": []}
    for begin, end in pairwise(bounds):
        found = Distribution.of(value[begin:end], rows[begin:end])
        series["p50"].append(found.percentile(500))
        series["p99"].append(found.percentile(990))
        series["max"].append(found.max)
    return series


def advised_warmup_s(medians: list[float | None], warmup_s: float) -> int | None:
    """MSER-5 on the medians of each second: where the series is best cut, if that is after the warm-up.

    It only advises. Cuts in the second half are not trusted, nor one that would change the level by under 10
    %.
    """
    series = np.array([value for value in medians if value is not None], dtype=np.float64)
    batches = len(series) // 5
    if batches < 4:
        return None
    means = series[: batches * 5].reshape(batches, 5).mean(axis=1)
    errors = [float(means[cut:].var() / (batches - cut)) for cut in range(batches // 2)]
    cut_s = 5 * int(np.argmin(errors))
    if cut_s <= warmup_s:
        return None
    cut_off, kept = series[math.ceil(warmup_s) : cut_s], series[cut_s:]
    if abs(np.median(cut_off) - np.median(kept)) <= 0.1 * abs(np.median(kept)):
        return None
    return cut_s
