"""How often the rules for a sustained rate, and the state of a run, are wrong on seeded series with a known answer.

    python bench/verdicts.py [--series 200]

Each series is a run of 30, 60 or 120 s at 400 records/s, with one median latency and one mean backlog per second,
judged by the same functions as a run. A series is healthy, or its engine falls behind by a share of the rate. Goals,
for the two rules with a statistical test (`slope` and `sustainable`) and every kind of series: at most 5 % of the
healthy series are called overloaded, and at most 1 % of those that fall behind by 2 % or more are called sustained. For
engines that publish periodically, either rule may leave at most 20 % undecided, at 120 s and with periods of up to 2 s.

A cell is `overloaded / undecided`, in per cent; the rest was called sustained. In the column `state` it is `drifting /
undecided`; the rest was called steady. The last column shows how often the 95 % confidence interval of the backlog's
slope contains the true slope.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from streamgauge.evaluate import steadiness, sustained
from streamgauge.evaluate.metrics.level import mean_level
from streamgauge.evaluate.metrics.trend import Series
from streamgauge.evaluate.sustained import Evidence

RATE = 400
LEVEL_MS = 200.0
NOISE = 0.2
MEMORY = 0.5
"""The share of a second's deviation that carries over to the next one."""
LENGTHS_S = (30, 60, 120)
PERIODS_S = (0.33, 0.5, 0.98, 0.985, 1.0, 1.02, 1.49, 1.97, 2.0, 5.0)
JITTERS = (0.0, 0.05, 0.15)
TOO_SLOW = 0.025
SETTLED_S = 20
"""How long a periodically publishing engine has run before the series starts."""
RULES = ("slope", "sustainable", "ospbench", "scalability")
TESTED = ("slope", "sustainable")
ACCUSED_LIMIT, MISSED_LIMIT, UNDECIDED_LIMIT = 0.05, 0.01, 0.20
DECIDED_LENGTH_S, DECIDED_PERIOD_S = 120, 2.0

Floats = np.ndarray
Pair = tuple[Floats, Floats]
"""Median latency (ms) and mean backlog (records) of each second."""


@dataclass(frozen=True)
class Kind:
    name: str
    make: Callable[[np.random.Generator, int], Pair]
    behind: float = 0.0
    """The share of the rate by which the engine falls behind."""
    period_s: float | None = None
    """The period of a periodically publishing engine."""


def noise(random: np.random.Generator, seconds: int) -> Floats:
    """Autocorrelated noise around 1."""
    level = np.empty(seconds)
    state = random.normal(0, NOISE)
    for second in range(seconds):
        level[second] = state
        state = MEMORY * state + math.sqrt(1 - MEMORY**2) * random.normal(0, NOISE)
    return np.exp(level)


def stationary(random: np.random.Generator, seconds: int) -> Pair:
    total_ms = LEVEL_MS * noise(random, seconds)
    # The backlog is what arrived within one latency (Little's law).
    return total_ms, RATE * total_ms / 1000 * random.uniform(0.8, 1.2, seconds)


def published(period_s: float, jitter: float, behind: float = 0.0) -> Callable[[np.random.Generator, int], Pair]:
    """An engine that periodically publishes what has arrived; one that is too slow leaves a part of it."""

    def make(random: np.random.Generator, seconds: int) -> Pair:
        arrived_s = np.arange(0, SETTLED_S + seconds, 1 / RATE)
        flushes = math.ceil(2 * (SETTLED_S + seconds) / period_s) + 20
        lengths = period_s * np.clip(random.normal(1, jitter, flushes), 0.4, 1.6)
        moments_s = np.cumsum(lengths) - random.uniform(0, period_s)
        # The total published after each period; an engine that keeps up has published everything.
        out = np.searchsorted(arrived_s, moments_s)
        if behind:
            capacity = np.cumsum(lengths) * RATE * (1 - behind)
            out = np.minimum(out, np.floor(np.minimum.accumulate(out - capacity) + capacity)).astype(np.int64)
        emitted_s = np.append(moments_s, np.inf)[np.searchsorted(out, np.arange(len(arrived_s)), side="right")]
        return by_second(arrived_s, emitted_s, seconds)

    return make


def by_second(arrived_s: Floats, emitted_s: Floats, seconds: int) -> Pair:
    """As in the evaluation: the median of each second's records, and the backlog from millisecond timestamps."""
    arrived_ms, emitted_ms = (np.floor(1000 * (at_s - SETTLED_S)) for at_s in (arrived_s, np.minimum(emitted_s, 1e6)))
    levels = []
    for stamps_ms in (arrived_ms.astype(np.int64), emitted_ms.astype(np.int64)):
        ones = np.ones(len(stamps_ms), np.int64)
        levels.append(mean_level(stamps_ms // 1000, ones, 1000 - stamps_ms % 1000, seconds))
    total_ms = (emitted_ms - arrived_ms)[arrived_ms >= 0].reshape(seconds, -1)
    return np.median(total_ms, axis=1), levels[0] - levels[1]


def batches(batch_s: float) -> Callable[[np.random.Generator, int], Pair]:
    """Batches of about this length, ±15 %: what arrives in one is published at the end of the next."""

    def make(random: np.random.Generator, seconds: int) -> Pair:
        arrived_s = np.arange(0, SETTLED_S + seconds, 1 / RATE)
        lengths = batch_s * np.clip(
            random.normal(1, 0.15, math.ceil(2 * (SETTLED_S + seconds) / batch_s) + 20), 0.4, 1.6
        )
        bounds = np.cumsum(lengths) - batch_s * random.uniform(1, 2)
        emitted_s = bounds[np.searchsorted(bounds, arrived_s, side="right") + 1]
        return by_second(arrived_s, emitted_s, seconds)

    return make


def with_step(random: np.random.Generator, seconds: int) -> Pair:
    """From a random time in the middle three fifths on, everything takes 300 ms longer."""
    total_ms, backlog = stationary(random, seconds)
    after = np.arange(seconds) >= random.uniform(0.2, 0.8) * seconds
    return total_ms + 300.0 * after, backlog + RATE * 0.3 * after


def with_outlier(random: np.random.Generator, seconds: int) -> Pair:
    """In one second everything took ten times as long."""
    total_ms, backlog = stationary(random, seconds)
    here = random.integers(seconds)
    total_ms[here] *= 10
    backlog[here] *= 10
    return total_ms, backlog


def behind(
    base: Callable[[np.random.Generator, int], Pair], share: float
) -> Callable[[np.random.Generator, int], Pair]:
    """The engine processes this share less than the offered load: backlog and latency grow."""

    def make(random: np.random.Generator, seconds: int) -> Pair:
        total_ms, backlog = base(random, seconds)
        elapsed_s = np.arange(seconds) + 0.5
        return total_ms + 1000 * share / (1 - share) * elapsed_s, backlog + RATE * share * elapsed_s

    return make


KINDS = (
    Kind("stationary", stationary),
    Kind("one outlier", with_outlier),
    Kind("one step", with_step),
    Kind("batches of 0.5 s", batches(0.5)),
    Kind("batches of 2 s", batches(2.0)),
    Kind("batches of 5 s", batches(5.0)),
    Kind("behind by 0.5 %", behind(stationary, 0.005), 0.005),
    Kind("behind by 2 %", behind(stationary, 0.02), 0.02),
    Kind("behind by 5 %", behind(stationary, 0.05), 0.05),
    Kind("behind by 20 %", behind(stationary, 0.2), 0.2),
    Kind("batches of 2 s, behind by 5 %", behind(batches(2.0), 0.05), 0.05),
    Kind("batches of 5 s, behind by 20 %", behind(batches(5.0), 0.2), 0.2),
    *(
        Kind(
            f"every {period_s:g} s ± {jitter:.0%}{f', behind by {share:.1%}' if share else ''}",
            published(period_s, jitter, share),
            share,
            period_s,
        )
        for period_s in PERIODS_S
        for jitter in JITTERS
        for share in (0.0, TOO_SLOW)
    ),
)


def evidence(pair: Pair, share: float) -> Evidence:
    total_ms, backlog = pair
    seconds = range(len(total_ms))
    records = Series.of(backlog, seconds)
    return Evidence(
        median_ms=float(np.median(total_ms)),
        medians=Series.of(total_ms.tolist(), seconds),
        backlog=records,
        waiting=Series(records.seconds, records.values / RATE),
        fifths_ms=[float(np.median(part)) for part in np.split(total_ms, 5)],
        drained_s=float(np.ceil(backlog[-1] / (RATE * (1 - share)))),
    )


def judged(
    kind: Kind, number: int, length_s: int, series: int
) -> tuple[dict[str, Counter[bool | None]], Counter[str | None], int]:
    """The verdicts of each rule, the states, and the number of intervals that contain the true slope."""
    judgements: dict[str, Counter[bool | None]] = {rule: Counter() for rule in RULES}
    states: Counter[str | None] = Counter()
    holds = 0
    for seed in range(series):
        seen = evidence(kind.make(np.random.default_rng([number, length_s, seed]), length_s), kind.behind)
        slope = seen.waiting.slope()
        assert slope is not None
        holds += slope.low <= kind.behind <= slope.high
        for rule in RULES:
            judgements[rule][sustained.apply(rule, seen).held] += 1
        states[steadiness.judge(seen.medians).state] += 1
    return judgements, states, holds


def broken_goals(kind: Kind, length_s: int, judgements: dict[str, Counter[bool | None]], series: int) -> list[str]:
    broken = []
    for rule in TESTED:
        accused, missed, undecided = (judgements[rule][held] / series for held in (False, True, None))
        if kind.behind < sustained.SLOPE_SHARE and accused > ACCUSED_LIMIT:
            broken.append(f"{rule} calls {accused:.0%} of {kind.name}, {length_s} s, overloaded")
        if kind.behind > sustained.SLOPE_SHARE and missed > MISSED_LIMIT:
            broken.append(f"{rule} calls {missed:.0%} of {kind.name}, {length_s} s, sustained")
        asked = kind.period_s is not None and kind.period_s <= DECIDED_PERIOD_S and length_s >= DECIDED_LENGTH_S
        if asked and undecided > UNDECIDED_LIMIT:
            broken.append(f"{rule} leaves {undecided:.0%} of {kind.name}, {length_s} s, undecided")
    return broken


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=200, help="of each kind and length")
    series: int = parser.parse_args().series
    print("| series | measured | " + " | ".join(f"`{rule}`" for rule in RULES) + " | state | interval |")
    print("|---|---|" + "---|" * (len(RULES) + 2))
    broken = []
    for number, kind in enumerate(KINDS):
        for length_s in LENGTHS_S:
            judgements, states, holds = judged(kind, number, length_s, series)
            cells = [
                f"{judgements[rule][False] / series:.0%} / {judgements[rule][None] / series:.0%}" for rule in RULES
            ]
            cells.append(f"{states['drifting'] / series:.0%} / {states[None] / series:.0%}")
            cells.append("–" if kind.make is with_step else f"{holds / series:.0%}")
            print(f"| {kind.name} | {length_s} s | " + " | ".join(cells) + " |", flush=True)
            broken += broken_goals(kind, length_s, judgements, series)
    print("\n".join(broken) or "every goal was met")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
