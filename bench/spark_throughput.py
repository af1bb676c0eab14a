"""Capacity of Spark with its settings for throughput, compared with those for latency: interleaved searches.

    python bench/spark_throughput.py [--searches 3] [--stage tumbling] [--resolution 10] [--warmup 50] [--out DIR]

*Before* are the settings that `ospbench/throughput` had in the laptop profile until it got its own
(docs/reference/spark.md, *Throughput*); they are still those of `ospbench/latency`. Searches take turns, so that a
machine that becomes slower affects both. The same --out resumes.

Goal: with *tumbling*, the median of the new settings is at least 3 times that of the old ones.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

STREAMGAUGE = Path(sys.executable).with_name("streamgauge")
BEFORE = {
    "state_store": "rocksdb",
    "heap_mb": "1024",
    "gc": "G1",
    "trigger_ms": "0",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot": "10",
}
SIDES = {"before": BEFORE, "after": {}}
GOAL = {"tumbling": 3.0}


def search(out: Path, number: int, settings: dict[str, str], asked: argparse.Namespace) -> None:
    """Add search ``number`` to the set in ``out``."""
    changes = {"stage": asked.stage, **settings}
    subprocess.run(
        [
            *(str(STREAMGAUGE), "capacity", "ospbench/throughput", "--engine", "spark", "--runs", str(number)),
            *(word for key, value in changes.items() for word in ("--set", f"{key}={value}")),
            *("--resolution", f"{asked.resolution:g}%", "--warmup", f"{asked.warmup:g}s", "--out", str(out)),
        ],
        check=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=3)
    parser.add_argument("--stage", default="tumbling")
    parser.add_argument("--resolution", type=float, default=10.0, help="in per cent")
    parser.add_argument("--warmup", type=float, default=50.0, help="of each probe, in seconds")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    out = asked.out or Path(tempfile.mkdtemp(prefix="streamgauge-throughput-"))
    for number in range(1, asked.searches + 1):
        for side, settings in SIDES.items():
            search(out / side, number, settings, asked)
    compared = subprocess.run(
        [str(STREAMGAUGE), "compare", str(out / "before"), str(out / "after"), "--json"],
        stdout=subprocess.PIPE,
        check=False,
    )
    comparison = json.loads(compared.stdout)
    medians = [comparison[side]["median"] for side in ("a", "b")]
    gain, goal = medians[1] / medians[0], GOAL.get(asked.stage)
    for side, name in (("a", "before"), ("b", "after")):
        print(f"{name}: {', '.join(f'{value:,.0f}' for value in comparison[side]['values'])} records/s")
    met = goal is None or gain >= goal
    print(f"gain {gain:.2f} ×{'' if goal is None else f', goal {goal:g} ×: ' + ('met' if met else 'MISSED')}")
    print(f"searches in {out}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
