"""What a record costs generator, broker and evaluator in CPU time, to size a larger test (docs/howto/cluster.md).

    python bench/cost_model.py [--fit 20000 80000] [--check 40000 60000] [--for 20] [--engine flink]

Runs *ingest* of ospbench at each rate: every record of about 190 bytes goes to the broker, to the engine, and back. A
line through the rates of --fit gives the cores that are always used and the microseconds of CPU per record; those of
--check show how far it is off.

Goal: the cores at the rates of --check are predicted to within 25 %.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

GOAL = 0.25
STREAMGAUGE = str(Path(sys.executable).parent / "streamgauge")
PARTS = ("load", "broker", "evaluator")


def measure(rate: int, seconds: int, engine: str, out: Path) -> dict[str, float]:
    """Records and cores of one run by part; of the evaluator, the CPU time of evaluating it once more, alone."""
    options = ["--engine", engine, "--set", "stage=ingest", "--rate", f"{rate}/s", "--for", f"{seconds}s"]
    command = [STREAMGAUGE, "run", "ospbench/throughput", *options, "--out", str(out)]
    subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    summary = json.loads((out / "summary.json").read_text())
    if summary["verdict"] != "VALID":
        sys.exit(f"{rate}/s: {summary['verdict']}: {'; '.join(summary['reasons'])}")
    before = cpu_s()
    subprocess.run(
        [STREAMGAUGE, "evaluate", str(out)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    ends = json.loads((out / "outcome.json").read_text())["ends"]
    records = sum(sum(partitions.values()) for partitions in ends.values())
    cores = {part: summary["resources"][part]["cpu_mean"] for part in ("load", "broker")}
    return {"rate": summary["rate_per_s"]["achieved"], **cores, "evaluator": cpu_s() - before, "records": records}


def cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", type=int, nargs="+", default=[20_000, 80_000])
    parser.add_argument("--check", type=int, nargs="+", default=[40_000, 60_000])
    parser.add_argument("--for", dest="seconds", type=int, default=20)
    parser.add_argument("--engine", default="flink")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as home:
        runs = {
            rate: measure(rate, given.seconds, given.engine, Path(home) / str(rate))
            for rate in sorted({*given.fit, *given.check})
        }
    worst = 0.0
    for part in PARTS:
        amount = "records" if part == "evaluator" else "rate"
        known = [runs[rate] for rate in given.fit]
        per_record, fixed = np.polyfit([run[amount] for run in known], [run[part] for run in known], 1)
        unit = "s" if part == "evaluator" else "cores"
        print(f"{part}: {fixed:.2f} {unit} and {1e6 * per_record:.2f} µs of CPU per record")
        for rate in given.check:
            run = runs[rate]
            predicted = fixed + per_record * run[amount]
            worst = max(worst, abs(predicted / run[part] - 1))
            print(f"  {rate:,}/s: predicted {predicted:.2f} {unit}, measured {run[part]:.2f}")
    print(f"off by {worst:.0%} at most; goal: within {GOAL:.0%}: {'met' if worst <= GOAL else 'missed'}")
    return 0 if worst <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
