"""The study scalability: what so many instances sustain, with the line worked out by hand, and its whole page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from synthetic_study import about, write_reproduction
from synthetic_sustainable import cells, plots

from streamgauge.report.exhibit import Context, Panel
from streamgauge.report.reproduction import read_reproduction
from streamgauge.report.study import write_study_page
from streamgauge.studies.scalability import STUDY

PROBE = {
    "value": 1000,
    "purpose": "bisect",
    "verdict": "sustained",
    "reason": "",
    "weak": False,
    "seconds": 9.0,
    "seconds_saved": 0.0,
    "directory": "probes/01",
    "total_p50": None,
    "total_p99": None,
}
EXPERIMENTS = {one.name: one for one in STUDY.experiments}


def found(
    name: str, best: float | None, beyond: float | None, outcome: str = "found", rules: Sequence[str | None] = ()
) -> dict[str, Any]:
    """A search of Kafka Streams that came to its end; ``rules`` has for each probe the one that decided instead."""
    experiment = EXPERIMENTS[name]
    capacity = {
        "format": 1,
        "scenario": experiment.scenario,
        "engine": "kafka-streams",
        "rule": "scalability",
        "slo": [],
        "resolution": 0.5,
        "over": experiment.axis.name,
        "harder": experiment.axis.harder,
        "unit": experiment.axis.unit,
        "outcome": outcome,
        "interval": [best, beyond],
        "confirmed": best is not None,
        "note": "",
        "best_latency_ms": None,
        "guess": 1000,
        "probes": [{**PROBE, "rule": rule} for rule in rules],
        "seconds": 9.0,
        "seconds_saved": 0.0,
        "settings": {},
    }
    directory = f"runs/{name}-kafka-streams"
    attempt = {"run": 1, "directory": directory, "verdict": "VALID", "reasons": []}
    ended = {"state": "done", "directory": directory, "attempts": [attempt], "verdict": "VALID"}
    return about(experiment, "kafka-streams") | ended | {"capacity": capacity}


def panels(out: Path, name: str, rows: Sequence[dict[str, Any]]) -> list[Panel]:
    reproduction = read_reproduction(write_reproduction(out, "scalability", STUDY, rows))
    exhibit = next(one for one in STUDY.exhibits if one.name == name)
    return list(exhibit.draw(Context("e", STUDY, exhibit, reproduction)))


def traces(drawn: Sequence[Panel]) -> dict[str, tuple[list[float], list[float]]]:
    [plot] = plots(drawn).values()
    return {trace["name"]: (trace["x"], trace["y"]) for trace in plot.figure["data"]}


def test_the_line_goes_through_what_the_engine_itself_limited(tmp_path: Path) -> None:
    """1 and 2 instances sustain 1,000 and 3,000: each adds 2,000. Of 4 it is only known that they sustain more."""
    rows = [found("sink-1", 1000, 1400), found("sink-2", 3000, 4000), found("sink-4", 4000, None, "ceiling")]
    drawn = panels(tmp_path, "Fig. 5", rows)
    shown = traces(drawn)
    assert shown["kafka-streams"] == ([1, 2], [1000, 3000])
    assert shown["kafka-streams: line"] == ([1, 2], [1000, 3000])
    assert shown["kafka-streams: at least"] == ([4], [4000])
    assert shown["paper: Kafka Streams"] == ([1, 2, 4, 8], [2**13, 2**13, 2**15, 2**16])
    [plot] = plots(drawn).values()
    assert "each further instance adds 2,000 records/s" in plot.caption
    assert [row[:4] for row in cells(drawn, "Capacity by the number of instances")] == [
        ["kafka-streams", "1", "1,000", "1,400"],
        ["kafka-streams", "2", "3,000", "4,000"],
        ["kafka-streams", "4", "4,000", "–"],
    ]


def test_the_papers_own_line_goes_through_its_four_points(tmp_path: Path) -> None:
    """By hand: the means are 3.75 and 28,672, the slope is 249,856 / 28.75; at 1 and 8 that is 4,773 and 65,607."""
    shown = traces(panels(tmp_path, "Fig. 5", [found("sink-1", 1000, 1400)]))
    instances, throughput = shown["paper: line"]
    assert instances == [1, 8]
    assert [round(value) for value in throughput] == [4773, 65_607]
    assert "paper: line" not in traces(panels(tmp_path / "2", "Benchmark 2", [found("hierarchy-1", 1, 2)]))


def test_where_less_is_harder_a_bound_is_at_most_that(tmp_path: Path) -> None:
    shown = traces(panels(tmp_path, "Benchmark 4", [found("overlapping-1", 10, None, "ceiling")]))
    assert shown["kafka-streams: at most"] == ([1], [10])
    assert "kafka-streams: at least" not in shown


def test_the_table_says_where_another_rule_decided(tmp_path: Path) -> None:
    rows = [found("sink-1", 10, 20, rules=["slope", None, "slope"]), found("sink-2", 10, 20, rules=[None])]
    notes = [row[-1] for row in cells(panels(tmp_path, "Fig. 5", rows), "Capacity by the number of instances")]
    assert notes == ["rule slope (2 of 3 probes)", "–"]


def test_three_points_have_an_interval(tmp_path: Path) -> None:
    """(1, 1), (2, 2), (4, 4) lie on one line, so the interval has no width."""
    rows = [found("hierarchy-1", 1, 2), found("hierarchy-2", 2, 3), found("hierarchy-4", 4, 5)]
    [plot] = plots(panels(tmp_path, "Benchmark 2", rows)).values()
    assert "adds 1 height (95 % interval 1 to 1)" in plot.caption


def test_the_whole_page_is_written_also_without_a_result(tmp_path: Path) -> None:
    pending = [about(one, "kafka-streams") for one in STUDY.experiments]
    every = [found(name, 10, 20) for name in EXPERIMENTS]
    for name, rows in (("pending", pending), ("every", every)):
        out = write_reproduction(tmp_path / name, "scalability", STUDY, rows)
        page = write_study_page(out, STUDY).read_text(encoding="utf-8")
        assert all(exhibit.name in page for exhibit in STUDY.exhibits)
