"""Capacity of an engine with one set of settings, compared with another: interleaved searches.

    python bench/throughput_settings.py [--engine spark] [--stage tumbling] [--implementation customised] [--searches 3]
        [--set-before KEY=VALUE]… [--set-after KEY=VALUE]… [--resolution 10] [--warmup 50] [--out DIR]

Both sides are `ospbench/throughput` in the laptop profile; each --set-before and --set-after changes one setting of
that side. Without any, on Spark, *before* are the settings that the scenario had until it got its own
(docs/reference/spark.md, *Throughput*); they are still those of `ospbench/latency`. Searches take turns, so that a
machine that becomes slower affects both. The same --out resumes.

Goal, of Spark's two sets: with *tumbling*, the median of the new settings is at least 3 times that of the old ones.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

STREAMGAUGE = Path(sys.executable).with_name("streamgauge")
BEFORE = (
    "state_store=rocksdb",
    "heap_mb=1024",
    "gc=G1",
    "trigger_ms=0",
    "spark.sql.streaming.stateStore.minDeltasForSnapshot=10",
)
GOAL = {"tumbling": 3.0}


def search(out: Path, number: int, settings: Sequence[str], asked: argparse.Namespace) -> None:
    """Add search ``number`` to the set in ``out``."""
    chosen = [f"implementation={asked.implementation}"] if asked.implementation else []
    changes = [f"stage={asked.stage}", *chosen, *settings]
    subprocess.run(
        [
            *(str(STREAMGAUGE), "capacity", "ospbench/throughput", "--engine", asked.engine, "--runs", str(number)),
            *(word for change in changes for word in ("--set", change)),
            *("--resolution", f"{asked.resolution:g}%", "--warmup", f"{asked.warmup:g}s", "--out", str(out)),
        ],
        check=True,
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=("spark", "flink", "kafka-streams"), default="spark")
    parser.add_argument("--stage", default="tumbling")
    parser.add_argument("--implementation", choices=("built-in", "customised"), help="of stages with state")
    for side in ("before", "after"):
        parser.add_argument(f"--set-{side}", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--searches", type=int, default=3)
    parser.add_argument("--resolution", type=float, default=10.0, help="in per cent")
    parser.add_argument("--warmup", type=float, default=50.0, help="of each probe, in seconds")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    given = bool(asked.set_before or asked.set_after)
    if not given and asked.engine != "spark":
        parser.error(f"nothing to compare on {asked.engine}: expected --set-before or --set-after")
    sides = {"before": asked.set_before if given else BEFORE, "after": asked.set_after}
    out = asked.out or Path(tempfile.mkdtemp(prefix="streamgauge-throughput-"))
    for number in range(1, asked.searches + 1):
        for side, settings in sides.items():
            search(out / side, number, settings, asked)
    compared = subprocess.run(
        [str(STREAMGAUGE), "compare", str(out / "before"), str(out / "after"), "--json"],
        stdout=subprocess.PIPE,
        check=False,
    )
    comparison = json.loads(compared.stdout)
    medians = [comparison[side]["median"] for side in ("a", "b")]
    gain = medians[1] / medians[0]
    goal = None if given or asked.implementation == "customised" else GOAL.get(asked.stage)
    for side, name in (("a", "before"), ("b", "after")):
        print(f"{name}: {', '.join(f'{value:,.0f}' for value in comparison[side]['values'])} records/s")
    met = goal is None or gain >= goal
    print(f"gain {gain:.2f} ×{'' if goal is None else f', goal {goal:g} ×: ' + ('met' if met else 'MISSED')}")
    print(f"searches in {out}")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
