"""Whether a comparison detects a real difference and no other: `echo` at 250 ms twice, and at 275 ms.

    python bench/comparison.py [--runs 5] [--out DIR]

Three sets, interleaved. The two at 250 ms must be *same* or *cannot tell*; 275 against 250 ms must be *slower*, with
1.1 inside the interval.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from streamgauge.campaigns.comparison import compare
from streamgauge.campaigns.repetition import run_interleaved
from streamgauge.measure.plan import Request
from streamgauge.measure.reporter import NullReporter
from streamgauge.model.comparison import Comparison
from streamgauge.studies import scenario as scenarios

SETS = {"first": "250", "second": "250", "slow": "275"}
SHORT = {"rate_per_s": "200", "warmup_s": "2", "measured_s": "10", "sustained": "none"}


class PhasePrinter(NullReporter):
    def phase(self, text: str) -> None:
        if text.startswith("run "):
            print(text, flush=True)


def show(name: str, comparison: Comparison, good: bool) -> None:
    low, high = comparison.interval
    ratio = f"ratio {comparison.ratio:.3f} ({low:.3f} to {high:.3f})"
    print(f"{name}: {comparison.word}, {ratio}: {'ok' if good else 'FAILED'}")
    for name, side in (("a", comparison.a), ("b", comparison.b)):
        print(f"  {name}: {' '.join(f'{value:g}' for value in side.values)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    out = asked.out or Path(tempfile.mkdtemp(prefix="streamgauge-comparison-"))
    requests = [
        Request(scenarios.resolve("ospbench/latency", engine="echo", changes={**SHORT, "delay_ms": ms}), out / name)
        for name, ms in SETS.items()
    ]
    run_interleaved(requests, asked.runs, PhasePrinter())
    equal, slower = compare(out / "first", out / "second"), compare(out / "first", out / "slow")
    low, high = slower.interval
    verdicts = equal.word in ("same", "cannot tell"), slower.word == "slower" and low <= 1.1 <= high
    show("250 against 250 ms", equal, verdicts[0])
    show("275 against 250 ms", slower, verdicts[1])
    print(f"runs in {out}")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
