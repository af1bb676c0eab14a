"""Latencies of results: exact percentiles of counted samples, with those that are missing counted too."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from streamgauge.evaluate.facts import PARTS
from streamgauge.evaluate.tally import LOST, MATCHED, UNFINISHED, Bools, Floats, Ints, Tally

PERCENTILES_PERMILLE: Mapping[str, int] = {"p50": 500, "p90": 900, "p99": 990, "p999": 999}
SAMPLES_ABOVE = 10
"""A percentile is shown when at least this many samples lie above it."""
KINDS = ("total", "latest", "average")
PROCESSING_TIME = "processing_time"
"""A kind that only some transports know."""
WINDOWS_S = (1, 2, 3, 5, 10, 15, 30, 60)


NO_VALUES: Floats = np.zeros(0)
NO_COUNTS: Ints = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Distribution:
    """Samples as distinct values, rising, with their counts; and those of which only a lower bound is known.

    The latter (results that never came) count as larger than every sample: a figure that they reach is None, and its
    lower bound takes its place (``at_least``).
    """

    values: Floats
    counts: Ints
    bounds: Floats = field(default_factory=lambda: NO_VALUES)
    """The lower bounds, rising."""
    bound_counts: Ints = field(default_factory=lambda: NO_COUNTS)

    @classmethod
    def of(
        cls,
        values: Floats | Ints,
        counts: Ints,
        bounds: Floats | Ints = NO_VALUES,
        bound_counts: Ints = NO_COUNTS,
    ) -> Distribution:
        return cls(*_distinct(values, counts), *_distinct(bounds, bound_counts))

    @property
    def count(self) -> int:
        return int(self.counts.sum())

    @property
    def missing(self) -> int:
        return int(self.bound_counts.sum())

    @property
    def max(self) -> float | None:
        return float(self.values[-1]) if self.count and not self.missing else None

    @property
    def mean(self) -> float | None:
        if not self.count or self.missing:
            return None
        return float((self.values * self.counts).sum() / self.count)

    def at_least(self) -> Distribution:
        """With every lower bound in the place of the value that is not known."""
        if not self.missing:
            return self
        return Distribution.of(
            np.concatenate([self.values, self.bounds]), np.concatenate([self.counts, self.bound_counts])
        )

    def below_zero(self) -> int:
        return int(self.counts[self.values < 0].sum())

    def percentile(self, permille: int, *, above: int = SAMPLES_ABOVE) -> float | None:
        """Interpolated between the two nearest samples.

        None unless ``above`` samples lie above it, and when more than its complement is missing.
        """
        every = self.count + self.missing
        lower, rest = divmod((every - 1) * permille, 1000)
        if not every or every - 1 - lower < above or 1000 * self.missing > (1000 - permille) * every:
            return None
        ends = np.cumsum(self.counts)
        low, high = self.values[np.searchsorted(ends, [lower, min(lower + 1, self.count - 1)], side="right")]
        return float(low + (high - low) * (rest / 1000))

    @property
    def median(self) -> float | None:
        """The middle whatever the number of samples: for comparing, not for showing."""
        return self.percentile(500, above=0)

    def figures(self) -> dict[str, float | int | None]:
        """What the summary shows of it; beside a figure that missing results leave unknown, its lower bound."""
        shown = self._shown()
        values: dict[str, float | int | None] = {"count": self.count, "missing": self.missing, **shown}
        if self.missing:
            bounds = self.at_least()._shown().items()
            values |= {f"{name}_at_least": bound for name, bound in bounds if bound is not None and shown[name] is None}
        return values

    def _shown(self) -> dict[str, float | None]:
        shown = {name: self.percentile(permille) for name, permille in PERCENTILES_PERMILLE.items()}
        return {**shown, "max": self.max, "mean": self.mean}


def _distinct(values: Floats | Ints, counts: Ints) -> tuple[Floats, Ints]:
    distinct, place = np.unique(values.astype(np.float64), return_inverse=True)
    summed = np.zeros(len(distinct), np.int64)
    np.add.at(summed, place, counts)
    return distinct, summed


EMPTY = Distribution(NO_VALUES, NO_COUNTS)


def added(distributions: Sequence[Distribution]) -> Distribution:
    """All samples together."""
    return Distribution.of(
        np.concatenate([one.values for one in distributions]), np.concatenate([one.counts for one in distributions])
    )


def distributions(tally: Tally) -> dict[str, Distribution]:
    """Each latency of the measured interval, and the generator's share of ``total``."""
    timed, censored = tally.timed, tally.censored
    by_kind = {
        kind: Distribution.of(values[timed], tally.rows[timed], values[censored], tally.rows[censored])
        for kind, values in (("total", tally.total_ms), ("latest", tally.latest_ms), ("average", tally.average_ms))
    }
    if (handed := tally.processing_time_ms[timed]).size and not np.isnan(handed).any():
        # A record that was never handed over has no such moment, and its result no such latency.
        never = censored & ~np.isnan(tally.processing_time_ms)
        by_kind[PROCESSING_TIME] = Distribution.of(
            handed, tally.rows[timed], tally.processing_time_ms[never], tally.rows[never]
        )
    share_ms = (tally.total_ms - tally.latest_ms)[timed]
    return {**by_kind, "generator_share": Distribution.of(share_ms, tally.rows[timed])}


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
    """One percentile at each place, whatever the number of samples: for comparing, not for showing.

    Results that never came count with the time that they had taken when the run ended.
    """
    by_place = at_each(tally, kind, tally.timed, tally.censored, place, places)
    return [distribution.at_least().percentile(permille, above=0) for distribution in by_place]


def at_each(tally: Tally, kind: str, known: Bools, missing: Bools, place: Ints, places: int) -> Iterator[Distribution]:
    """The distribution of these rows at each place."""
    by_kind = {"latest": tally.latest_ms, PROCESSING_TIME: tally.processing_time_ms}
    values = by_kind.get(kind, tally.total_ms)
    chosen = (known | missing) & ~np.isnan(values)
    order = np.argsort(place[chosen], kind="stable")
    where, value, rows = (column[chosen][order] for column in (place, values, tally.rows))
    unknown = missing[chosen][order]
    edges = np.searchsorted(where, np.arange(places + 1))
    for begin, end in pairwise(edges):
        v, n, m = value[begin:end], rows[begin:end], unknown[begin:end]
        yield Distribution.of(v[~m], n[~m], v[m], n[m])


def medians_of_parts_ms(tally: Tally, kind: str, parts: int) -> list[float | None]:
    """The medians of ``parts`` equal parts of the measured interval; ``parts`` divides ``PARTS``."""
    return medians_ms(tally, kind, tally.part * parts // PARTS, parts)


def per_second(tally: Tally, kind: str, seconds: int) -> dict[str, list[float | None]]:
    """p50, p99 and max of the results anchored in each second; None where missing results leave them unknown."""
    matched: Bools = tally.fate == MATCHED
    missing: Bools = np.isin(tally.fate, (LOST, UNFINISHED))
    series: dict[str, list[float | None]] = {"p50": [], "p99": [], "max": []}
    for distribution in at_each(tally, kind, matched, missing, tally.second, seconds):
        series["p50"].append(distribution.percentile(500))
        series["p99"].append(distribution.percentile(990))
        series["max"].append(distribution.max)
    return series


def window_s(tally: Tally, from_s: int, to_s: int) -> int:
    """The shortest of ``WINDOWS_S`` in which a 99th percentile has enough samples above it, by the typical second.

    Of the seconds ``from_s`` … ``to_s``. The longest where none is long enough.
    """
    chosen = (tally.fate == MATCHED) & (tally.second >= from_s) & (tally.second < to_s)
    counts = np.bincount(tally.second[chosen], weights=tally.rows[chosen]) if chosen.any() else np.zeros(1)
    typical = float(np.median(counts[counts > 0])) if counts.any() else 0.0
    return next((window for window in WINDOWS_S if 0.01 * window * typical > SAMPLES_ABOVE), WINDOWS_S[-1])


def p99_by_window(tally: Tally, kind: str, seconds: int, from_s: int, to_s: int, window: int) -> list[float | None]:
    """For each second the 99th percentile of the window it lies in.

    No window reaches over ``from_s`` or ``to_s``; the last one between them takes what is left over.
    """
    second = np.arange(seconds)
    inside = np.minimum((second - from_s) // window, max((to_s - from_s) // window - 1, 0))
    place = np.where(second < from_s, (second - from_s) // window, inside)
    place = np.where(second >= to_s, inside.max() + 1 + (second - to_s) // window, place)
    place -= place.min()
    known = (tally.second >= 0) & (tally.second < seconds)
    of_rows = np.where(known, place[np.clip(tally.second, 0, seconds - 1)], -1)
    matched: Bools = tally.fate == MATCHED
    missing: Bools = np.isin(tally.fate, (LOST, UNFINISHED))
    by_window = [d.percentile(990) for d in at_each(tally, kind, matched, missing, of_rows, int(place.max()) + 1)]
    return [by_window[one] for one in place]


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
    cut_off, remaining = series[math.ceil(warmup_s) : cut_s], series[cut_s:]
    if abs(np.median(cut_off) - np.median(remaining)) <= 0.1 * abs(np.median(remaining)):
        return None
    return cut_s
