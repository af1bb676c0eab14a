"""Makes the images of README.md and the docs from real runs: `make images`.

    python docs/images/make.py [--runs DIR]

Runs four systems on one workload (about eight minutes on two cores; leave the machine alone meanwhile), or takes up the
runs that DIR has. Writes systems.svg and its table in README.md, and report.png. Nothing is written unless all four
runs are VALID and steady. Needs the packages of `make test`, the extra `flink`, and a chromium on the PATH.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

IMAGES = Path(__file__).parent
README = IMAGES.parents[1] / "README.md"
TABLE = re.compile(r"(?<=<!-- systems: make images -->\n).*?(?=<!-- /systems -->)", re.DOTALL)
EXPERIMENTS = {
    ("latency-parse-built-in", "spark"): ("Spark Structured Streaming", "#d9480f"),
    ("latency-parse-real-time", "spark"): ("Spark, real-time mode", "#e67700"),
    ("latency-parse-built-in", "flink"): ("Flink", "#a61e4d"),
    ("latency-parse-built-in", "kafka-streams"): ("Kafka Streams", "#1864ab"),
}
ENGINES = ("spark", "flink", "kafka-streams")
COMMAND = [
    *("reproduce", "ospbench", "--only", "latency-parse-*"),
    *(word for engine in ENGINES for word in ("--engine", engine)),
]
"""As README.md shows it, below the figure."""
PERCENTILES = (0.0, 50.0, 90.0, 99.0, 99.9)
LEFT, RIGHT, TOP, BOTTOM, WIDTH, HEIGHT = 70, 215, 52, 48, 900, 400


@dataclass(frozen=True)
class System:
    """One system with every distinct end-to-end latency of its run and how often it occurred."""

    title: str
    color: str
    version: str
    summary: dict[str, Any]
    values_ms: np.ndarray[Any, Any]
    counts: np.ndarray[Any, Any]
    report: Path

    def percentile_ms(self, percent: float) -> float:
        reached = np.cumsum(self.counts) >= percent / 100 * self.counts.sum()
        return float(self.values_ms[int(np.argmax(reached))])


def run(directory: Path) -> None:
    """Run what is missing. INVALID runs are repeated once by the command itself."""
    program = Path(sys.executable).with_name("streamgauge")
    done = subprocess.run([program, *COMMAND, "--out", str(directory)], check=False)
    if done.returncode:
        sys.exit(f"the reproduction ended with exit code {done.returncode}; nothing was drawn")


def read(directory: Path) -> list[System]:
    """The four systems. Ends with a message where one is missing, not VALID or not steady."""
    content = json.loads((directory / "reproduction.json").read_text(encoding="utf-8"))
    rows = {(row["name"], row["engine"]): row for row in content["experiments"]}
    systems = []
    for key, (title, color) in EXPERIMENTS.items():
        row = rows.get(key)
        if row is None or row["state"] != "done":
            sys.exit(f"{title}: not run yet; run this script without --runs, or resume the reproduction")
        summary = row["summary"]
        if (summary["verdict"], summary["state"]) != ("VALID", "steady"):
            sys.exit(
                f"{title}: {summary['verdict']}, {summary['state']}: {summary['state_reason']}; use another --runs"
            )
        path = directory / row["directory"]
        table = pq.read_table(path / "measures" / "latency.parquet", filters=[("kind", "=", "total")])
        order = np.argsort(table.column("value_ms").to_numpy())
        values_ms, counts = (table.column(name).to_numpy()[order] for name in ("value_ms", "count"))
        version = str(summary["engine"]["version"] or "")
        systems.append(System(title, color, version, summary, values_ms, counts, path / "report.html"))
    return systems


def figure(systems: list[System]) -> str:
    """Latency by percentile, on a *nines* axis: each step to the right is ten times rarer."""
    highest = max(system.percentile_ms(PERCENTILES[-1]) for system in systems)
    decades = max(math.ceil(math.log10(max(highest, 10.0))), 1)

    def x(percent: float) -> float:
        nines = -math.log10(1 - percent / 100)
        return LEFT + (WIDTH - LEFT - RIGHT) * nines / -math.log10(1 - PERCENTILES[-1] / 100)

    def y(value_ms: float) -> float:
        share = (math.log10(max(value_ms, 0.5)) - math.log10(0.5)) / (decades - math.log10(0.5))
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share

    load = systems[0].summary["rate_per_s"]["offered"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"',
        'font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="24" font-size="16" font-weight="bold">End-to-end latency by percentile, in ms</text>',
        f'<text x="{LEFT}" y="42" fill="#555">parse {load:,.0f} JSON records/s, Kafka to Kafka, one machine</text>',
    ]
    for exponent in range(decades + 1):
        height, label = y(10.0**exponent), f"{10**exponent:,}"
        parts.append(f'<path d="M{LEFT} {height:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{height + 4:.1f}" text-anchor="end" fill="#555">{label}</text>')
    for percent in PERCENTILES:
        label = "min" if percent == 0 else f"{percent:g} %"
        parts.append(f'<path d="M{x(percent):.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#eee"/>')
        parts.append(
            f'<text x="{x(percent):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle" fill="#555">{label}</text>'
        )
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text x="{middle:.0f}" y="{HEIGHT - 8}" text-anchor="middle" fill="#555">share of the results</text>'
    )
    nines = np.linspace(0, -math.log10(1 - PERCENTILES[-1] / 100), 200)
    ends = {}
    for system in systems:
        points = [100 * (1 - 10**-value) for value in nines]
        path = " ".join(f"{x(percent):.1f},{y(system.percentile_ms(percent)):.1f}" for percent in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{system.color}" stroke-width="2.5"/>')
        ends[system.title] = y(system.percentile_ms(PERCENTILES[-1]))
    for title, height in _apart(ends, 32.0).items():
        system = next(one for one in systems if one.title == title)
        percentiles = f"p50 {system.percentile_ms(50):,.0f} · p99 {system.percentile_ms(99):,.0f}"
        left = WIDTH - RIGHT + 10
        parts.append(f'<text x="{left}" y="{height:.1f}" fill="{system.color}" font-weight="bold">{title}</text>')
        parts.append(f'<text x="{left}" y="{height + 15:.1f}" fill="{system.color}">{percentiles}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _apart(heights: dict[str, float], least: float) -> dict[str, float]:
    """The same order, but no two closer than that, and none outside."""
    placed: dict[str, float] = {}
    floor = float(TOP)
    for title, height in sorted(heights.items(), key=lambda item: item[1]):
        floor = max(height, floor)
        placed[title] = floor
        floor += least
    too_low = max(max(placed.values(), default=0.0) - (HEIGHT - BOTTOM), 0.0)
    return {title: height - too_low for title, height in placed.items()}


def table(systems: list[System]) -> str:
    """The figure in numbers."""
    lines = ["| system | p50, ms | p99, ms | p99.9, ms | results checked |", "|---|---|---|---|---|"]
    for system in systems:
        cells = " | ".join(f"{system.percentile_ms(percent):,.0f}" for percent in (50, 99, 99.9))
        results = system.summary["results"]
        checked = f"{results['matched']:,} of {results['expected']:,} right"
        lines.append(f"| {' '.join([system.title, system.version]).strip()} | {cells} | {checked} |")
    return "\n" + "\n".join(lines) + "\n\n"


def screenshot(report: Path, target: Path) -> None:
    """The first screen of a report."""
    from playwright.sync_api import sync_playwright

    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        sys.exit("no chromium, chromium-browser or google-chrome on the PATH")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--headless", "--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1000}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.wait_for_function("document.querySelectorAll('.plot path').length > 0")
        page.screenshot(path=str(target))
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=Path, default=Path("runs/systems"), help="the reproduction to take, or to make")
    directory = parser.parse_args().runs
    run(directory)
    systems = read(directory)
    text, count = TABLE.subn(lambda _: table(systems), README.read_text(encoding="utf-8"))
    assert count == 1, "README.md has no place for the table of the systems"
    drawing = figure(systems)
    screenshot(systems[0].report, IMAGES / "report.png")
    (IMAGES / "systems.svg").write_text(drawing, encoding="utf-8")
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
