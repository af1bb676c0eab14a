"""What a record costs generator, broker and evaluator in CPU time, to size a larger test.

    python bench/cost_model.py [--fit 20000 60000] [--check 40000 80000] [--for 20] [--engine flink]

Runs *ingest* of ospbench at each rate: every record of about 190 bytes goes to the broker, to the engine, and back. A
line through the rates of --fit gives the cores that are always used and the microseconds of CPU for each record that
is sent; those of --check, one of them beyond the rates of --fit, show how far it is off. The evaluator records the
topics and evaluates them: its CPU time is that of its processes from their start to their end.

Goal: what is used at the rates of --check is predicted to within 25 %.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import psutil

from streamgauge.evaluate.process import ROLE

GOAL = 0.25
LOOK_S = 0.2
STREAMGAUGE = str(Path(sys.executable).parent / "streamgauge")
PARTS = ("load", "broker", "evaluator")


def measure(rate: int, seconds: int, engine: str, out: Path) -> dict[str, float]:
    """Records sent per second, cores of load and broker, all records sent, CPU seconds of the evaluator."""
    options = ["--engine", engine, "--set", "stage=ingest", "--rate", f"{rate}/s", "--for", f"{seconds}s"]
    command = [STREAMGAUGE, "run", "ospbench/throughput", *options, "--out", str(out)]
    with out.with_suffix(".log").open("w+") as log:
        run = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        evaluator_s = cpu_of_evaluator_s(run)
        log.seek(0)
        printed = log.read()
    if not (out / "summary.json").is_file():
        sys.exit(f"{rate}/s: there is no result:\n{printed}")
    summary = json.loads((out / "summary.json").read_text())
    if summary["verdict"] != "VALID":
        sys.exit(f"{rate}/s: {summary['verdict']}: {'; '.join(summary['reasons'])}")
    ends = json.loads((out / "outcome.json").read_text())["ends"]
    inputs = [stream["name"] for stream in json.loads((out / "manifest.json").read_text())["streams"]
              if stream["role"] == "input"]  # fmt: skip
    cores = {part: summary["resources"][part]["cpu_mean"] for part in ("load", "broker")}
    records = sum(sum(ends[name].values()) for name in inputs)
    return {"rate": summary["rate_per_s"]["achieved"], **cores, "evaluator": evaluator_s, "records": records}


def cpu_of_evaluator_s(run: subprocess.Popen[bytes]) -> float:
    """CPU seconds of the evaluator's processes, as last seen before each one ended."""
    used: dict[tuple[int, float], float] = {}
    command = psutil.Process(run.pid)
    while run.poll() is None:
        try:
            children = command.children(recursive=True)
        except psutil.NoSuchProcess:
            break
        for one in children:
            try:
                for part in [one, *one.children(recursive=True)] if is_of_evaluator(one.cmdline()) else []:
                    times = part.cpu_times()
                    used[part.pid, part.create_time()] = times.user + times.system
            except (psutil.NoSuchProcess, psutil.ZombieProcess):
                continue
        try:
            run.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            continue
    return sum(used.values())


def is_of_evaluator(argv: list[str]) -> bool:
    """Its Python process, and its JVM, which works in a directory of that name."""
    temporary = [one for one in argv if one.startswith("-Djava.io.tmpdir=")]
    return "streamgauge.evaluate" in argv or any(one.endswith(f"/{ROLE}") for one in temporary)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fit", type=int, nargs="+", default=[20_000, 60_000])
    parser.add_argument("--check", type=int, nargs="+", default=[40_000, 80_000])
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
        if per_record <= 0:
            # JVMs that still compile need more than the records do.
            print(f"{part}: no cost of a record can be seen between these rates: try higher ones, and a longer --for")
            worst = float("inf")
            continue
        unit = "s" if part == "evaluator" else "cores"
        print(f"{part}: {fixed:.2f} {unit} and {1e6 * per_record:.2f} µs of CPU per record sent, "
              f"or {1 / per_record:,.0f} records/s per core")  # fmt: skip
        for rate in given.check:
            run = runs[rate]
            predicted = fixed + per_record * run[amount]
            worst = max(worst, abs(predicted / run[part] - 1))
            print(f"  {rate:,}/s: predicted {predicted:.2f} {unit}, measured {run[part]:.2f}")
    off = "not known" if worst == float("inf") else f"off by {worst:.0%} at most"
    print(f"{off}; goal: within {GOAL:.0%}: {'met' if worst <= GOAL else 'missed'}")
    return 0 if worst <= GOAL else 1


if __name__ == "__main__":
    sys.exit(main())
