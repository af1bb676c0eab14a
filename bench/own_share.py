"""Overhead of streamgauge while it measures: CPU of the command line (progress, sampling), and time of a whole run.

    python bench/own_share.py [--engine echo] [--for 30]

Goal: the process of the command line uses less than 5 % of one core. Also prints the duration of the run beyond its
load.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

LIMIT = 0.05


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", default="echo")
    parser.add_argument("--for", dest="seconds", type=int, default=30)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        log = Path(home) / "stderr"
        began = time.monotonic()
        with log.open("w") as stderr:
            seconds = f"{given.seconds}s"
            options = ["--engine", given.engine, "--for", seconds, "--warmup", "10s", "--out", f"{home}/run"]
            cli = subprocess.Popen(
                [Path(sys.executable).parent / "streamgauge", "run", "ospbench/latency", *options],
                stdout=subprocess.DEVNULL,
                stderr=stderr,
            )
        process = psutil.Process(cli.pid)
        marks = []
        for text in ("measuring", "draining"):
            while text not in log.read_text():
                if cli.poll() is not None:
                    sys.exit(log.read_text())
                time.sleep(0.2)
            marks.append((time.monotonic(), sum(process.cpu_times()[:2])))
        cli.wait()
        took_s = time.monotonic() - began
        code = cli.returncode
    (start, used_before), (end, used_after) = marks
    share = (used_after - used_before) / (end - start)
    print(f"the command line used {share:.1%} of one core over {end - start:.0f} s; limit {LIMIT:.0%}")
    print(f"the run took {took_s:.0f} s, of which {given.seconds + 10} s were load (exit code {code})")
    return 0 if share < LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
