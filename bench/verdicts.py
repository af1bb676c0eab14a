"""How often the rules for a sustained rate, and the state `drifting`, are wrong: seeded series whose answer is known.

    python bench/verdicts.py [--series 200]

Each series is a run of 30, 60 or 120 s at 400 records/s, as one median latency and one backlog a second, judged by the
very functions that judge a run. A series is healthy, or its engine falls behind by a share of the rate. Goals, for the
two rules that have a statistical test (`slope` and `sustainable`) and every kind of series: at most 5 % of the healthy
ones are called overloaded, and at most 1 % of those that fall behind by 2 % or more are called sustained.

A cell is `overloaded / undecided`, in per cent; the rest was called sustained. The last column tells how often the 95 %
interval of the backlog's slope holds the true one.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from streamgauge.evaluate import sustained
from streamgauge.evaluate.metrics.latency import is_drifting
from streamgauge.evaluate.metrics.trend import Series
from streamgauge.evaluate.sustained import Evidence

RATE = 400.0
LEVEL_MS = 200.0
NOISE = 0.2
MEMORY = 0.5
"""How much of a second's deviation the next one keeps."""
LENGTHS_S = (30, 60, 120)
RULES = ("slope", "sustainable", "ospbench", "scalability")
TESTED = ("slope", "sustainable")
ACCUSED_LIMIT, MISSED_LIMIT = 0.05, 0.01

Floats = np.ndarray
Pair = tuple[Floats, Floats]
"""Median latency (ms) and backlog (records) of each second."""


@dataclass(frozen=True)
class Kind:
    name: str
    make: Callable[[np.random.Generator, int], Pair]
    behind: float = 0.0
    """The share of the rate by which the engine falls behind."""


def noise(random: np.random.Generator, seconds: int) -> Floats:
    """Around 1: each second remembers the one before."""
    found = np.empty(seconds)
    state = random.normal(0, NOISE)
    for second in range(seconds):
        found[second] = state
        state = MEMORY * state + math.sqrt(1 - MEMORY**2) * random.normal(0, NOISE)
    return np.exp(found)


def stationary(random: np.random.Generator, seconds: int) -> Pair:
    total_ms = LEVEL_MS * noise(random, seconds)
    # What waits is what arrived within one latency (Little's law), counted at one moment of the second.
    return total_ms, RATE * total_ms / 1000 * random.uniform(0.8, 1.2, seconds)


def batches(batch_s: float) -> Callable[[np.random.Generator, int], Pair]:
    """Batches of about that length, 15 % more or less: what arrives in one comes out at the end of the next."""

    def make(random: np.random.Generator, seconds: int) -> Pair:
        lengths = batch_s * np.clip(random.normal(1, 0.15, math.ceil(2 * seconds / batch_s) + 20), 0.4, 1.6)
        bounds = np.cumsum(lengths) - batch_s * 4 * random.uniform(1, 2)
        arrivals = np.arange(0, seconds, 0.02)
        after = np.searchsorted(bounds, arrivals, side="right")
        total_ms = np.median(((bounds[after + 1] - arrivals) * 1000).reshape(seconds, -1), axis=1)
        ends = np.arange(1.0, seconds + 1)
        out_until = bounds[np.searchsorted(bounds, ends, side="right") - 2]
        return total_ms, RATE * (ends - out_until)

    return make


def with_step(random: np.random.Generator, seconds: int) -> Pair:
    """From some moment of the middle three fifths on, everything takes 300 ms longer."""
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
    """The engine takes that share less than what is offered: the backlog grows, and with it the wait."""

    def make(random: np.random.Generator, seconds: int) -> Pair:
        total_ms, backlog = base(random, seconds)
        elapsed_s = np.arange(seconds) + 0.5
        return total_ms + 1000 * share / (1 - share) * elapsed_s, backlog + RATE * share * (elapsed_s + 0.5)

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
)


def evidence(pair: Pair, share: float) -> Evidence:
    total_ms, backlog = pair
    seconds = range(len(total_ms))
    waiting = Series.of(np.round(backlog).astype(np.int64), seconds)
    return Evidence(
        offered_per_s=RATE,
        slope=waiting.slope(),
        median_ms=float(np.median(total_ms)),
        medians=Series.of(total_ms.tolist(), seconds),
        backlog=waiting,
        fifths_ms=[float(np.median(part)) for part in np.split(total_ms, 5)],
        drained_s=float(np.ceil(backlog[-1] / (RATE * (1 - share)))),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=200, help="of each kind and length")
    given = parser.parse_args()
    print("| series | measured | " + " | ".join(f"`{rule}`" for rule in RULES) + " | `drifting` | interval |")
    print("|---|---|" + "---|" * (len(RULES) + 2))
    broken = []
    for number, kind in enumerate(KINDS):
        for length_s in LENGTHS_S:
            found: dict[str, Counter[bool | None]] = {rule: Counter() for rule in RULES}
            drifting = holds = 0
            for seed in range(given.series):
                pair = kind.make(np.random.default_rng([number, length_s, seed]), length_s)
                seen = evidence(pair, kind.behind)
                assert seen.slope is not None
                holds += seen.slope.low <= RATE * kind.behind <= seen.slope.high
                for rule in RULES:
                    found[rule][sustained.apply(rule, seen).held] += 1
                drifting += is_drifting([float(np.median(part)) for part in np.array_split(pair[0], 4)])
            cells = [
                f"{found[rule][False] / given.series:.0%} / {found[rule][None] / given.series:.0%}" for rule in RULES
            ]
            cells.append(f"{drifting / given.series:.0%}")
            cells.append("–" if kind.make is with_step else f"{holds / given.series:.0%}")
            print(f"| {kind.name} | {length_s} s | " + " | ".join(cells) + " |", flush=True)
            for rule in TESTED:
                accused, missed = (found[rule][held] / given.series for held in (False, True))
                if kind.behind < sustained.SLOPE_SHARE and accused > ACCUSED_LIMIT:
                    broken.append(f"{rule} calls {accused:.0%} of {kind.name}, {length_s} s, overloaded")
                if kind.behind > sustained.SLOPE_SHARE and missed > MISSED_LIMIT:
                    broken.append(f"{rule} calls {missed:.0%} of {kind.name}, {length_s} s, sustained")
    print("\n".join(broken) or "every goal was met")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
