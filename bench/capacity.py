"""How well the capacity search finds a known capacity: `echo` with a cap.

    python bench/capacity.py [--searches 5] [--cap 5000] [--resolution 5] [--seconds 20]

A search is good if its best sustained rate is within ±5 % of the cap and it took at most 8 probes. Four of five must be
good.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from streamgauge.campaigns.capacity import CapacitySearch, find_capacity
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.model.capacity import Capacity, CapacityProbe
from streamgauge.studies import scenario as scenarios

OFF = 0.05
PROBES = 8
SHARE = 0.8


def search(out: Path, cap_per_s: int, resolution: float, seconds: float, seed: int) -> Capacity:
    changes = {
        "cap_per_s": str(cap_per_s),
        "seed": str(seed),
        "stage": "ingest",
        "warmup_s": "5",
        "measured_s": str(seconds),
    }
    scenario = scenarios.resolve("ospbench/throughput", engine="echo", changes=changes)
    return find_capacity(CapacitySearch(Request(scenario, out), resolution), NullReporter(), show)


def show(row: CapacityProbe) -> None:
    print(
        f"  {row.value:>8,}  {row.purpose:<8} {row.verdict:<14} {row.seconds:>5.0f} s, "
        f"{row.seconds_saved:.0f} s saved  {row.reason}",
        flush=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", type=int, default=5)
    parser.add_argument("--cap", type=int, default=5000)
    parser.add_argument("--resolution", type=float, default=5.0, help="in per cent")
    parser.add_argument("--seconds", type=float, default=20.0, help="of a probe")
    asked = parser.parse_args()
    good = 0
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as home:
        for number in range(1, asked.searches + 1):
            print(f"search {number}", flush=True)
            capacity = search(Path(home) / str(number), asked.cap, asked.resolution / 100, asked.seconds, number)
            best, beyond = capacity.interval
            fits = best is not None and abs(best / asked.cap - 1) <= OFF and len(capacity.probes) <= PROBES
            good += fits
            print(
                f"  guess {capacity.guess:,}, interval {best} to {beyond}, "
                f"{'confirmed' if capacity.confirmed else 'not confirmed'}, {len(capacity.probes)} probes, "
                f"{capacity.seconds:.0f} s: {'good' if fits else 'BAD'}",
                flush=True,
            )
    print(f"{good} of {asked.searches} searches good; {SHARE:.0%} must be")
    return 0 if good >= SHARE * asked.searches else 1


if __name__ == "__main__":
    sys.exit(main())
