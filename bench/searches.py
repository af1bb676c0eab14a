"""How often a comparison of capacities is correct, from simulated searches of systems with known capacity.

    python bench/searches.py [--pairs 300] [--resolution 10]

Both systems drain faster or slower than they sustain, each by its own factor. Noise is log-normal from search to
search, and half as large from probe to probe. Prints the frequency of each verdict, with first guesses raised by parts
of a resolution (as `capacity --runs` does) and without. At most 2 % of equal capacities may be declared different.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter

from streamgauge.campaigns.capacity_set import GOLDEN
from streamgauge.campaigns.search import Next, Probe, Target, advance
from streamgauge.evaluate import comparison

CAPACITY_PER_S = 20_000.0
DRAINED = (0.8, 1.25)
LEVEL = 0.02


def search(capacity_per_s: float, guess_per_s: float, resolution: float, noise: float, seeded: random.Random) -> int:
    """The best sustained rate of one search; searches without a confirmed answer are repeated."""
    while True:
        today_per_s = capacity_per_s * seeded.lognormvariate(0, noise)
        target, probes = Target(max(1, round(guess_per_s)), resolution), list[Probe]()
        while isinstance(step := advance(target, probes), Next):
            held = step.value <= today_per_s * seeded.lognormvariate(0, noise / 2)
            probes.append(Probe(step.value, "sustained" if held else "not sustained", step.purpose))
        if step.confirmed and step.best is not None:
            return step.best


def side(
    capacity_per_s: float, searches: int, resolution: float, noise: float, raised: bool, seeded: random.Random
) -> list[float]:
    drained_per_s = capacity_per_s * seeded.uniform(*DRAINED)
    shifts = [n * GOLDEN % 1 if raised else 0.0 for n in range(searches)]
    guesses = [drained_per_s * seeded.lognormvariate(0, 0.01) * (1 + resolution) ** shift for shift in shifts]
    return [float(search(capacity_per_s, guess, resolution, noise, seeded)) for guess in guesses]


def words(ratio: float, searches: int, resolution: float, noise: float, raised: bool, pairs: int) -> Counter[str]:
    seeded, words_counted = random.Random(7), Counter[str]()
    for _ in range(pairs):
        a, b = (
            side(capacity, searches, resolution, noise, raised, seeded)
            for capacity in (CAPACITY_PER_S, CAPACITY_PER_S / ratio)
        )
        words_counted[comparison.word(*comparison.ratio_interval(b, a, resolution=0), searches)] += 1
    return words_counted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=300)
    parser.add_argument("--resolution", type=float, default=10.0, help="in per cent")
    asked = parser.parse_args()
    comparison.RESAMPLES = 1000
    wrong = 0.0
    for raised in (False, True):
        print("guesses raised by parts of a resolution" if raised else "guesses unchanged")
        for searches in (3, 5):
            for noise in (0.0, 0.02, 0.05):
                line = [f"  {searches} searches, noise {noise:.0%}:"]
                for ratio in (1.0, 1.1, 1.2):
                    words_counted = words(ratio, searches, asked.resolution / 100, noise, raised, asked.pairs)
                    line.append(
                        f"{ratio:g}: "
                        + ", ".join(f"{w} {words_counted[w] / asked.pairs:.1%}" for w in sorted(words_counted))
                    )
                    if raised and ratio == 1.0:
                        wrong = max(wrong, (words_counted["slower"] + words_counted["faster"]) / asked.pairs)
                print("  ".join(line), flush=True)
    print(f"equal capacities declared different: at most {wrong:.1%}; goal: {LEVEL:.0%}")
    return 0 if wrong <= LEVEL else 1


if __name__ == "__main__":
    sys.exit(main())
