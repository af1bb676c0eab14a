"""Throughput and latency in the study sustainable, worked out by hand, and its whole page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from pages import unlinked
from synthetic_study import not_run, write_reproduction
from synthetic_sustainable import (
    EVEN_MS,
    EXPERIMENTS,
    MIDDLES,
    batch,
    cells,
    context,
    panels,
    pending,
    plots,
    plotted,
    run,
    search,
    used,
)

from streamgauge.report.exhibit import gaps
from streamgauge.report.study import write_study_page
from streamgauge.studies.sustainable import STUDY

PAPER = "The paper's numbers"
COLUMNS = {
    "offered": [1000.0] * 4,
    "ingested": [900.0, 1100.0, 900.0, 1100.0],
    "queued": [10.0, 20.0, 30.0, 40.0],
    "total_p50": [100.0, 200.0, 300.0, 400.0],
    "total_max": [150.0, 250.0, 350.0, 450.0],
    "processing_time_p50": [50.0] * 4,
    "processing_time_p99": [60.0] * 4,
    "processing_time_max": [70.0] * 4,
}
BATCHES = [batch(number, began_ms) for number, began_ms in enumerate((1000, 2000, 3100, 4000, 5000))]
CPU = [
    used(float(second), role, 0.5 * second, 1.0 * second) for second in range(8) for role in ("worker-1", "executor-1")
]


def whole_study(out: Path, engine: str, verdict: str = "VALID") -> list[dict[str, Any]]:
    """Every experiment on one engine, all with the same verdict."""
    both = {"total": EVEN_MS, "processing_time": [50.0] * 1001}
    samples = [*CPU, *(BATCHES if engine == "spark" else [])]
    return [
        search(out, name, engine, verdict=verdict, p50_ms=300.0)
        if one.purpose == "capacity"
        else run(out, name, engine, columns=COLUMNS, latencies=both, samples=samples, verdict=verdict)
        for name, one in EXPERIMENTS.items()
    ]


def test_each_cluster_has_what_was_sustained_in_all_and_per_node(tmp_path: Path) -> None:
    rows = [
        search(tmp_path, "aggregation-1x", best=10_000, nodes=1),
        search(tmp_path, "aggregation-2x", best=16_000, nodes=2),
        search(tmp_path, "aggregation-1x", "flink", best=20_000, nodes=1),
        search(tmp_path, "aggregation-4x", "flink", best=None, nodes=4),
    ]
    drawn = panels(tmp_path, "Table I", rows)
    assert cells(drawn, "Sustainable throughput") == [
        ["1×", "1", "spark", "10,000", "12,500", "10,000", "yes", "VALID"],
        ["1×", "1", "flink", "20,000", "25,000", "20,000", "yes", "VALID"],
        ["2×", "2", "spark", "16,000", "20,000", "8,000", "yes", "VALID"],
        ["4×", "4", "flink", "–", "1,000", "–", "no", "VALID"],
    ]
    bars = plotted(drawn)["e-throughput"]
    assert bars["spark"] == {"1×": 10_000, "2×": 16_000}
    assert bars["flink"] == {"1×": 20_000}, "nothing was sustained on the largest"
    assert bars["paper: Spark 2.0.1"] == {"1×": 380_000, "2×": 640_000, "4×": 910_000}
    assert "spark: 1× 10,000, 2× 16,000; flink: 1× 20,000." in plots(drawn)["e-throughput"].caption
    assert [panel.verdict for panel in drawn[1:]] == ["VALID"] * 4, "every search has its probes"


def test_what_could_not_be_sent_is_no_limit_of_the_engine(tmp_path: Path) -> None:
    rows = [
        search(tmp_path, "aggregation-1x", best=10_000, mean_ms=100.0, bound=True),
        search(tmp_path, "large-windows-incremental", best=9000, mean_ms=100.0),
        search(tmp_path, "large-windows-recomputed", best=5000, mean_ms=200.0, bound=True),
    ]
    drawn = panels(tmp_path, "Table I", rows)
    assert cells(drawn, "Sustainable throughput") == [["1×", "1", "spark", "≥ 10,000", "–", "10,000", "yes", "VALID"]]
    assert "spark: 1× ≥ 10,000." in plots(drawn)["e-throughput"].caption
    large = cells(panels(tmp_path, "Experiment 3", rows), "Large windows against small ones")
    assert [row[2:6] for row in large] == [["9,000", "–", "100", "1 ×"], ["≥ 5,000", "–", "200", "2 ×"]]


def test_a_valid_run_without_a_result_says_why(tmp_path: Path) -> None:
    gave_out = {"latency_ms": {}, "sustained": False, "state": "overloaded", "state_reason": "a queue was full"}
    rows = [run(tmp_path, "fluctuating-aggregation", latencies={}, **gave_out)]
    [line, *_] = gaps(context(tmp_path, "Fig. 6", rows))
    assert line.endswith("VALID, overloaded, without a measured result (a queue was full)")


def test_an_invalid_search_is_grey_with_its_reason(tmp_path: Path) -> None:
    rows = [search(tmp_path, "join-1x", verdict="INVALID"), search(tmp_path, "join-2x")]
    drawn = panels(tmp_path, "Table III", rows)
    (bars, *_) = plots(drawn)["e-throughput"].figure["data"]
    assert bars["marker"]["color"] == ["--muted", "--s1"]
    (table,) = [table for table in drawn[0].tables if table.title == "Sustainable throughput"]
    assert [row.muted for row in table.rows] == [True, False]
    assert [(panel.verdict, panel.why) for panel in drawn[1:]] == [("INVALID", "a reason"), ("VALID", "")]


def test_a_search_without_a_readable_probe_has_no_number_of_nodes(tmp_path: Path) -> None:
    row = search(tmp_path, "aggregation-1x", best=10_000)
    row["capacity"]["probes"] = []
    assert cells(panels(tmp_path, "Table I", [row]), "Sustainable throughput") == [
        ["1×", "–", "spark", "10,000", "12,500", "–", "yes", "VALID"]
    ]


def test_skew_is_shown_by_cluster_with_the_papers_numbers(tmp_path: Path) -> None:
    drawn = panels(tmp_path, "Experiment 4", [search(tmp_path, "skew-4x", "flink", best=4800)])
    assert plotted(drawn)["e-throughput"] == {"flink": {"4×": 4800}, "paper: Spark 2.0.1": {"2×": 530_000}}
    numbers = cells(drawn, PAPER)
    assert ["", "sustainable throughput with one key, any cluster (records/s)", "–", "480,000", "200,000"] in numbers


def test_large_windows_are_compared_with_small_ones(tmp_path: Path) -> None:
    rows = [
        search(tmp_path, "aggregation-1x", best=20_000, p50_ms=400.0, mean_ms=500.0),
        search(tmp_path, "aggregation-2x", best=90_000, p50_ms=9.0, mean_ms=10.0),
        search(tmp_path, "large-windows-incremental", best=15_000, p50_ms=1000.0, mean_ms=1250.0),
        search(tmp_path, "large-windows-recomputed", best=5000, p50_ms=1000.0, mean_ms=5000.0),
        search(tmp_path, "large-windows-recomputed", "flink", best=7000),
    ]
    drawn = panels(tmp_path, "Experiment 3", rows)
    assert cells(drawn, "Large windows against small ones") == [
        ["incremental", "spark", "15,000", "0.75 ×", "1,250", "2.50 ×", "1,000", "VALID"],
        ["recomputed", "spark", "5,000", "0.25 ×", "5,000", "10 ×", "1,000", "VALID"],
        ["recomputed", "flink", "7,000", "–", "–", "–", "–", "VALID"],
    ], "averages are compared, as in the paper"
    assert plotted(drawn)["e-throughput"]["spark"] == {"incremental": 15_000, "recomputed": 5000}
    assert [row[1] for row in cells(drawn, PAPER)] == ["0.50", "10"]


def test_an_invalid_search_is_no_measure_for_large_windows(tmp_path: Path) -> None:
    rows = [
        search(tmp_path, "aggregation-1x", best=20_000, mean_ms=400.0, verdict="INVALID"),
        search(tmp_path, "large-windows-incremental", best=15_000, p50_ms=900.0, mean_ms=1000.0),
    ]
    (row,) = cells(panels(tmp_path, "Experiment 3", rows), "Large windows against small ones")
    assert row == ["incremental", "spark", "15,000", "–", "1,000", "–", "900", "VALID"]


def test_a_probe_that_is_gone_leaves_the_median(tmp_path: Path) -> None:
    row = search(tmp_path, "large-windows-incremental", best=15_000, p50_ms=900.0, mean_ms=1000.0)
    shutil.rmtree(tmp_path / row["directory"] / "probes")
    (found,) = cells(panels(tmp_path, "Experiment 3", [row]), "Large windows against small ones")
    assert found == ["incremental", "spark", "15,000", "–", "–", "–", "900", "VALID"]


def test_the_smallest_latencies_of_the_paper_are_not_zero(tmp_path: Path) -> None:
    rows = {tuple(row[:3]): row[3:] for row in cells(panels(tmp_path, "Table II", []), PAPER)}
    assert rows["100 %", "1×", "min latency (s)"] == ["0.07", "2.50", "0.004"]
    assert rows["90 %", "4×", "min latency (s)"] == ["0.20", "1.70", "0.002"]


def test_latencies_are_in_the_papers_statistics_and_in_seconds(tmp_path: Path) -> None:
    rows = [
        run(tmp_path, "aggregation-latency-2x-100", rate=16_000, nodes=2),
        run(tmp_path, "aggregation-latency-2x-90", rate=14_400, nodes=2, state="drifting"),
    ]
    (table,) = [table for table in panels(tmp_path, "Table II", rows)[0].tables if table.title != PAPER]
    assert table.head[5:11] == ["avg", "min", "max", "p90", "p95", "p99"]
    statistics = ["1.500", "1.000", "2.000", "1.900", "1.950", "1.990"]
    assert [list(row.cells) for row in table.rows] == [
        ["2×", "2", "100 %", "spark", "16,000", *statistics, "VALID"],
        ["2×", "2", "90 %", "spark", "14,400", *statistics, "VALID, drifting"],
    ]


def test_the_load_is_of_a_bound_where_the_engine_was_not_the_limit(tmp_path: Path) -> None:
    rows = [
        search(tmp_path, "join-1x", best=10_000, bound=True),
        run(tmp_path, "join-latency-1x-100", rate=10_000),
        search(tmp_path, "join-2x", best=12_000),
        run(tmp_path, "join-latency-2x-100", rate=12_000),
    ]
    table = cells(panels(tmp_path, "Table IV", rows), "Event-time latency, s")
    assert [(row[0], row[2]) for row in table] == [("1×", "100 % of a bound"), ("2×", "100 %")]


def test_too_few_results_leave_percentiles_open(tmp_path: Path) -> None:
    rows = [run(tmp_path, "join-latency-1x-100", latencies={"total": [100.0, 200.0, 600.0]})]
    (row,) = cells(panels(tmp_path, "Table IV", rows), "Event-time latency, s")
    assert row[5:11] == ["0.300", "0.100", "0.600", "–", "–", "–"]


def test_a_run_without_results_leaves_all_statistics_open(tmp_path: Path) -> None:
    rows = [run(tmp_path, "join-latency-1x-100", latencies={}, verdict="FAILED")]
    banner, panel = panels(tmp_path, "Table IV", rows)
    assert (banner.verdict, banner.why) == ("FAILED", "a reason")
    (row,) = cells([panel], "Event-time latency, s")
    assert row[5:] == ["–"] * 6 + ["FAILED"]


def test_latency_over_time_has_a_figure_for_each_cluster_and_load(tmp_path: Path) -> None:
    rows = [
        run(tmp_path, "aggregation-latency-1x-90", columns=COLUMNS),
        run(tmp_path, "aggregation-latency-1x-100", columns=COLUMNS),
        run(tmp_path, "aggregation-latency-1x-100", "flink", columns={"total_p50": [None, 7.0, None, 9.0]}),
        pending("aggregation-latency-2x-100"),
    ]
    drawn = panels(tmp_path, "Fig. 4", rows)
    assert [plot.title for plot in plots(drawn).values()] == [
        "Cluster 1×, 100 % of the sustainable throughput",
        "Cluster 1×, 90 % of the sustainable throughput",
    ]
    assert plotted(drawn)["e-1x-100"] == {
        "spark p50": dict(zip(MIDDLES, COLUMNS["total_p50"], strict=True)),
        "spark max": dict(zip(MIDDLES, COLUMNS["total_max"], strict=True)),
        "flink p50": {1.5: 7.0, 3.5: 9.0},
    }
    assert "spark p50: mean 250, highest 400." in plots(drawn)["e-1x-100"].caption
    assert plots(drawn)["e-1x-100"].figure["layout"]["yaxis"]["type"] == "log", "the engines lie far apart"


def test_without_a_result_the_papers_numbers_are_left(tmp_path: Path) -> None:
    rows = [pending(name, engine) for name in EXPERIMENTS for engine in ("spark", "flink")]
    for exhibit in STUDY.exhibits:
        drawn = panels(tmp_path, exhibit.name, rows)
        assert not plots(drawn)
        tables = {table.title for panel in drawn for table in panel.tables}
        ratings = "Stars; more are better"
        assert tables == ({ratings} if exhibit.name == "Table V" else {PAPER} if exhibit.marks else set())


@pytest.mark.parametrize("verdict", ["INVALID", "FAILED"])
def test_what_must_not_be_used_is_drawn_in_grey(verdict: str, tmp_path: Path) -> None:
    rows = whole_study(tmp_path, "spark", verdict)
    for exhibit in STUDY.exhibits:
        drawn = panels(tmp_path, exhibit.name, rows)
        judged = [row for panel in drawn for table in panel.tables for row in table.rows if verdict in row.cells]
        traces = [trace for plot in plots(drawn).values() for trace in plot.figure["data"]]
        colors = [trace["marker"]["color"] for trace in traces if trace["name"].startswith("spark")]
        assert judged or traces or exhibit.name == "Table V"
        assert all(row.muted for row in judged)
        assert {color for one in colors for color in ([one] if isinstance(one, str) else one)} <= {"--muted"}


@pytest.mark.parametrize("engines", [("spark",), ("flink",), ("spark", "flink")])
def test_every_exhibit_is_drawn_for_one_engine_or_both(engines: tuple[str, ...], tmp_path: Path) -> None:
    rows = [row for engine in engines for row in whole_study(tmp_path, engine)]
    for exhibit in STUDY.exhibits:
        drawn = panels(tmp_path, exhibit.name, rows)
        if exhibit.name == "Fig. 11" and "spark" not in engines:
            assert not drawn, "only Spark has batches"
        else:
            assert any(panel.plots or panel.tables for panel in drawn)


def test_the_page_shows_every_exhibit_and_gap(tmp_path: Path) -> None:
    rows = [
        *whole_study(tmp_path, "spark"),
        run(tmp_path, "aggregation-latency-1x-100", "flink", columns=COLUMNS, verdict="INVALID"),
        not_run(EXPERIMENTS["overloaded"], "its rate follows from what aggregation-1x found", "flink"),
        *(pending(name, "flink") for name in EXPERIMENTS if name.startswith("join-")),
    ]
    write_reproduction(tmp_path, "sustainable", STUDY, rows)
    page = unlinked(write_study_page(tmp_path, STUDY).read_text(encoding="utf-8"))
    for exhibit in STUDY.exhibits:
        assert f"{exhibit.name}: {exhibit.title}" in page
    assert "flink · aggregation · 150 %: not run (its rate follows from what aggregation-1x found" in page
    assert "do not use these numbers.</b> a reason" in page
    assert "flink · join · 1×, flink · join · 2×, flink · join · 4×: not started yet" in page
    assert "★" in page


def test_an_empty_reproduction_has_a_page(tmp_path: Path) -> None:
    write_reproduction(tmp_path, "sustainable", STUDY, [pending(name) for name in EXPERIMENTS], state="unfinished")
    page = unlinked(write_study_page(tmp_path, STUDY).read_text(encoding="utf-8"))
    assert page.count("not started yet") >= 5
    assert "Nothing to show yet." in page
