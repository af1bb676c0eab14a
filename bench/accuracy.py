"""Accuracy of the measured latency: `echo` with a known delay, against the floor at delay 0.

    python bench/accuracy.py [--runs 5]

Per run: delay 0, 20, 250 ms and a seeded bimodal one (20 ms, and 250 ms for one record in five), interleaved. The
median over the runs counts: p50 of the processing latency (`latest`) within ±3 ms of the delay plus the floor, p99
within ±(3 ms + the floor's own p99 − p50).
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

from streamgauge.conformance.suite import Bench, bench
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.measure.runner import run_scenario
from streamgauge.studies import scenario as scenarios

CASES: dict[str, tuple[dict[str, str], float, float]] = {
    # options of echo, expected p50 and p99 above the floor
    "0 ms": ({"delay_ms": "0"}, 0.0, 0.0),
    "20 ms": ({"delay_ms": "20"}, 20.0, 20.0),
    "250 ms": ({"delay_ms": "250"}, 250.0, 250.0),
    "bimodal": ({"delay": "bimodal", "delay_seed": "7"}, 20.0, 250.0),
}
LIMIT_MS = 3.0


def measure(shared: Bench, options: dict[str, str]) -> dict[str, Any]:
    changes = {"rate_per_s": "200", "warmup_s": "2", "measured_s": "12", "sustained": "none", **options}
    scenario = scenarios.resolve("ospbench/latency", engine="echo", changes=changes)
    for _ in range(3):
        _, summary = run_scenario(
            Request(scenario, shared.out("accuracy"), transport_address=shared.transport_address),
            NullReporter(),
            shared.evaluator,
        )
        if summary.verdict == "VALID":
            break
        print(f"  repeated: {'; '.join(summary.reasons)}", flush=True)
    latest: dict[str, Any] = summary.latency_ms["latest"]
    return latest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    figures_by_case: dict[str, list[dict[str, Any]]] = {case: [] for case in CASES}
    with bench() as shared:
        for number in range(runs):
            for case, (options, _, _) in CASES.items():
                figures = measure(shared, options)
                figures_by_case[case].append(figures)
                print(f"run {number + 1}  {case:<8} p50 {figures['p50']:>6g}  p99 {figures['p99']:>6g}", flush=True)
    middle = {
        case: {p: statistics.median(run[p] for run in figures) for p in ("p50", "p99")}
        for case, figures in figures_by_case.items()
    }
    floor = middle["0 ms"]
    spread_ms = floor["p99"] - floor["p50"]
    good = True
    print(f"\nfloor: p50 {floor['p50']:g} ms, p99 {floor['p99']:g} ms (median of {runs})")
    for case, (_, p50, p99) in CASES.items():
        errors = middle[case]["p50"] - floor["p50"] - p50, middle[case]["p99"] - floor["p50"] - p99
        within = abs(errors[0]) <= LIMIT_MS and abs(errors[1]) <= LIMIT_MS + spread_ms
        good &= within
        print(f"{case:<8} p50 off by {errors[0]:+g} ms, p99 by {errors[1]:+g} ms: {'within' if within else 'OUTSIDE'}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
