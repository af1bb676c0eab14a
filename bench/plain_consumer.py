"""How fast Spark processes a topic, compared with a plain consumer that fetches the same topic into memory.

    python bench/plain_consumer.py [--runs 3] [--records 2000000] [--programs identity wordcount] [--engine spark]

Each run has its input in the broker before the engine starts. When the engine has stopped, a plain consumer
(librdkafka) fetches the same topic for a few seconds, and nothing takes the records out of it; the ratio of the two
rates says what the program costs beyond reading. A ratio near 1 would mean that the broker or the reader is the limit.
There is no goal; every run must be VALID.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.measure.runner import run_scenario
from streamgauge.studies import scenario as scenarios


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--records", type=int, default=2_000_000)
    parser.add_argument("--programs", nargs="+", default=["identity", "wordcount"])
    parser.add_argument("--engine", default="spark")
    asked = parser.parse_args()
    valid = True
    with tempfile.TemporaryDirectory(prefix="streamgauge-bench-") as home:
        for program in asked.programs:
            changes = {"program": program, "records": str(asked.records)}
            scenario = scenarios.resolve("streambench/performance", engine=asked.engine, changes=changes)
            ratios = []
            for number in range(1, asked.runs + 1):
                _, summary = run_scenario(Request(scenario, Path(home) / f"{program}-{number}"), NullReporter())
                taken, served = (summary.processing.get(name) for name in ("records_per_s", "served_per_s"))
                if summary.verdict != "VALID" or taken is None or served is None:
                    print(f"{program} {number}: {summary.verdict} {'; '.join(summary.reasons)}", flush=True)
                    valid = False
                    continue
                ratios.append(taken / served)
                print(
                    f"{program} {number}: {asked.engine} {taken:,.0f} records/s, plain consumer {served:,.0f}, "
                    f"ratio {ratios[-1]:.2f}",
                    flush=True,
                )
            if ratios:
                print(f"{program}: median ratio {statistics.median(ratios):.2f}", flush=True)
    return 0 if valid else 1


if __name__ == "__main__":
    sys.exit(main())
