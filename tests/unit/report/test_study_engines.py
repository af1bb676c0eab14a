"""Several engines in one exhibit: the paper's marks go to the right one, and its order of medians is looked for."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import synthetic_study
from synthetic_study import THREE, row, three_engines, write_reproduction
from test_study_exhibits import plot, set_latencies

from streamgauge.report.exhibit import Context
from streamgauge.report.reproduction import read_reproduction
from streamgauge.studies.ospbench import STUDY as OSPBENCH
from streamgauge.studies.ospbench.bursts import periodic_burst, single_burst
from streamgauge.studies.ospbench.exhibits import latency_by_stage, rate_sweep
from streamgauge.studies.ospbench.scores import scores
from streamgauge.studies.stages import experiment

INGEST = experiment("ospbench/latency", "ingest")
SINGLE = experiment("ospbench/single-burst", "tumbling")
PERIODIC = experiment("ospbench/periodic-burst", "tumbling")
SEARCH = experiment("ospbench/throughput", "tumbling", purpose="capacity")


def context(out: Path, draw: Callable[..., Any], rows: list[dict[str, Any]]) -> Context:
    exhibit = next(exhibit for exhibit in OSPBENCH.exhibits if exhibit.draw is draw)
    reproduction = read_reproduction(write_reproduction(out, "ospbench", OSPBENCH, rows))
    return Context("e", OSPBENCH, exhibit, reproduction)


def ingest(out: Path, medians_ms: Mapping[str, float], verdicts: Mapping[str, str] | None = None) -> Context:
    rows = [row(out, INGEST, engine, (verdicts or {}).get(engine, "VALID")) for engine in medians_ms]
    for engine, median_ms in medians_ms.items():
        set_latencies(out, INGEST, [median_ms - 1, median_ms, median_ms + 1], engine)
    return context(out, latency_by_stage, rows)


def test_the_papers_order_is_found(tmp_path: Path) -> None:
    (panel,) = latency_by_stage(ingest(tmp_path, {"spark": 210, "flink": 3, "kafka-streams": 5}))
    assert panel.finding == (
        "The paper's order of the median latencies of ingest, event-driven below micro-batch (Flink 1.9.1 0 ms, "
        "Kafka Streams 2.1.0 0 ms; Spark Streaming 2.4.1 140 ms, Structured Streaming 2.4.1 105 ms), is found here: "
        "flink 3 ms, kafka-streams 5 ms; spark 210 ms. kafka-streams (5 ms) is below spark (210 ms)."
    )


def test_the_order_of_some_of_them_says_who_is_absent(tmp_path: Path) -> None:
    measured = {"spark": 210, "flink": 3, "kafka-streams": 5}
    (panel,) = latency_by_stage(ingest(tmp_path, measured, {"flink": "INVALID"}))
    assert " is found here: kafka-streams 5 ms; spark 210 ms." in panel.finding
    assert panel.finding.endswith(" Without flink: no VALID run.")


@pytest.mark.parametrize("flink_ms", [210, 250])
def test_the_papers_order_is_not_found(tmp_path: Path, flink_ms: float) -> None:
    (panel,) = latency_by_stage(ingest(tmp_path, {"spark": 210, "flink": flink_ms, "kafka-streams": 5}))
    assert "is not found here: " in panel.finding
    assert f"flink ({flink_ms} ms) is not below spark (210 ms)." in panel.finding


def test_the_order_of_what_was_not_measured_cannot_be_told(tmp_path: Path) -> None:
    (alone,) = latency_by_stage(ingest(tmp_path / "alone", {"spark": 210}))
    assert alone.finding.endswith("is undecided here: no VALID run of flink or kafka-streams.")
    spoilt = {"spark": "INVALID"}
    (panel,) = latency_by_stage(ingest(tmp_path / "spoilt", {"spark": 210, "flink": 3}, spoilt))
    assert panel.finding.endswith("is undecided here: no VALID run of spark.")


def test_the_papers_medians_stand_in_the_row_and_colour_of_their_engine(tmp_path: Path) -> None:
    drawn = plot(latency_by_stage(ingest(tmp_path, {"spark": 210, "flink": 3, "kafka-streams": 5})), "e-stages").figure
    ours = [re.search(r", (\S+)$", name)[1] for name in drawn["layout"]["yaxis"]["ticktext"]]  # type: ignore[index]
    assert ours == ["kafka-streams", "flink", "spark"], "from below, as they were asked for"
    theirs = {trace["name"]: trace for trace in drawn["data"] if trace.get("name", "").startswith("paper: ")}
    places = {name: (trace["y"], trace["marker"]["color"]) for name, trace in theirs.items()}
    assert places == {
        "paper: Structured Streaming 2.4.1": ([2.0], "--s1"),
        "paper: Flink 1.9.1": ([1.0], "--s2"),
        "paper: Kafka Streams 2.1.0": ([0.0], "--s3"),
        "paper: Spark Streaming 2.4.1": ([2.0], "--muted"),
    }


def test_one_table_has_the_capacity_of_every_engine(tmp_path: Path) -> None:
    rows = [row(tmp_path, SEARCH, engine) for engine in THREE]
    rows[1]["capacity"] |= {
        "outcome": "ceiling",
        "interval": [52_000, None],
        "confirmed": False,
        "rule": "ospbench",
        "seconds": 611.4,
    }
    rows[2]["attempts"][0]["verdict"] = "INVALID"
    panels = rate_sweep(context(tmp_path, rate_sweep, rows))
    (table,) = panels[0].tables
    assert table.title == "Capacity of each engine"
    assert [one.cells for one in table.rows] == [
        ["spark", "16,000", "32,000", "yes", "3", "180", "slope", "VALID"],
        ["flink", "52,000", "–", "no", "3", "611", "ospbench", "VALID"],
        ["kafka-streams", "16,000", "32,000", "yes", "3", "180", "slope", "INVALID"],
    ]
    assert [one.muted for one in table.rows] == [False, False, True]
    assert [panel.verdict for panel in panels[1:4]] == ["VALID", "VALID", "INVALID"]
    drawn = plot(panels, "e-latency").figure
    zones = {zone["fillcolor"]: zone["x0"] for zone in drawn["layout"]["shapes"]}
    assert zones == {"--s1": 32_000, "--s2": 32_000, "--muted": 32_000}
    colors = {trace["name"]: trace["marker"]["color"] for trace in drawn["data"]}
    assert (colors["flink p50"], colors["paper: Flink 1.9.1"]) == ("--s2", "--s2")
    assert colors["kafka-streams: INVALID, do not use p50"] == "--muted"
    names = {trace["name"] for trace in drawn["data"]}
    assert {f"{engine}: not sustained" for engine in ("spark", "flink", "kafka-streams")} <= names


def test_a_single_burst_is_told_engine_by_engine(tmp_path: Path) -> None:
    rows = [row(tmp_path, SINGLE, engine) for engine in THREE]
    rows[1]["summary"]["burst"] = synthetic_study.SINGLE | {"first_output_s": 4.0, "caught_up_s": 12.0}
    rows[2]["attempts"][0] |= {"verdict": "FAILED", "reasons": ["it died"]}
    panels = single_burst(context(tmp_path, single_burst, rows))
    (table,) = panels[0].tables
    assert [one.cells[:4] for one in table.rows][1] == ["flink", "60,000", "4.0 s", "12.0 s"]
    assert (panels[1].title, panels[1].verdict, panels[1].why) == (
        "kafka-streams · tumbling · built-in",
        "FAILED",
        "it died",
    )
    drawn = plot(panels, "e-output").figure
    lines = {(shape["x0"], shape["line"]["color"]) for shape in drawn["layout"]["shapes"]}
    assert {(9.5, "--s1"), (21.0, "--s1"), (4.0, "--s2"), (12.0, "--s2"), (9.5, "--muted")} <= lines
    theirs = {t["name"]: (t["x"], t["marker"]["color"]) for t in drawn["data"] if t["name"].startswith("paper: ")}
    assert theirs["paper: Flink 1.9.1"] == ([81], "--s2")
    assert theirs["paper: Spark Streaming 2.4.1"] == ([76], "--muted")


def test_engines_far_apart_share_a_logarithmic_axis(tmp_path: Path) -> None:
    far = periodic_burst(context(tmp_path / "far", periodic_burst, [row(tmp_path / "far", PERIODIC, e) for e in THREE]))
    near = [row(tmp_path / "near", PERIODIC)]
    axes = [
        plot(panels, "e-latency").figure["layout"]["yaxis"].get("type")
        for panels in (far, periodic_burst(context(tmp_path / "near", periodic_burst, near)))
    ]
    assert axes == ["log", None]
    assert min(value for trace in plot(far, "e-latency").figure["data"] for value in trace["y"] if value) >= 0.5


def test_all_three_are_scored_with_the_papers_scores_beside(tmp_path: Path) -> None:
    (table,) = scores(context(tmp_path, scores, three_engines(tmp_path, OSPBENCH)))[0].tables
    assert list(table.head[2:]) == [
        "spark",
        "paper: Structured Streaming 2.4.1",
        "spark, real-time",
        "flink",
        "paper: Flink 1.9.1",
        "kafka-streams",
        "paper: Kafka Streams 2.1.0",
        "paper: Spark Streaming 2.4.1",
    ]
    for one in table.rows:
        of_engine = dict(zip(table.head[2:], one.cells[2:], strict=True))
        given = {engine: of_engine[engine][0] for engine in THREE}
        assert set(given.values()) <= set("1234"), one.cells
        assert "4" in {of_engine[name][0] for name in (*THREE, "spark, real-time")}
    latency = dict(zip(table.head[2:], table.rows[1].cells[2:], strict=True))
    assert (latency["flink"][0], latency["spark"][0]) == ("4", "1"), "a hundredth of Spark's"
