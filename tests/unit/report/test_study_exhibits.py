"""The exhibits of a reproduced study: their numbers, hand-worked, and where the paper's marks stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import synthetic_study
from synthetic_study import not_run, row, write_reproduction

from streamgauge.report.distributions import Distribution
from streamgauge.report.exhibit import Context, Panel, Plot
from streamgauge.report.reproduction import read_reproduction
from streamgauge.studies.ospbench import STUDY as OSPBENCH
from streamgauge.studies.ospbench.bursts import periodic_burst, single_burst
from streamgauge.studies.ospbench.exhibits import latency_by_stage, rate_sweep
from streamgauge.studies.ospbench.scores import factors, score, scores
from streamgauge.studies.stage_latency.exhibits import stage_cost
from streamgauge.studies.stages import Variant, dimensions, experiment
from streamgauge.study import Exhibit, Experiment, Mark, Study

LATENCY = "ospbench/latency"
INGEST, PARSE, JOIN = (experiment(LATENCY, stage) for stage in ("ingest", "parse", "join"))
TUMBLING = experiment(LATENCY, "tumbling")
CUSTOMISED = experiment(LATENCY, "tumbling", "customised")
SEARCH = experiment("ospbench/throughput", "tumbling", purpose="capacity")
SINGLE = experiment("ospbench/single-burst", "tumbling")
PERIODIC = experiment("ospbench/periodic-burst", "tumbling")
MEDIAN, P99 = "latency.latest.p50", "latency.latest.p99"
STRUCTURED, FLINK = "Structured Streaming 2.4.1", "Flink 1.9.1"


def mark(
    system: str, stage: str, metric: str, value: float, variant: Variant = "built-in", unit: str = "ms", label: str = ""
) -> Mark:
    return Mark(system, metric, value, unit, label or metric, dimensions(stage, variant))


def context(
    out: Path,
    draw: Callable[[Context], Sequence[Panel]],
    experiments: Sequence[Experiment],
    marks: Sequence[Mark] = (),
    rows: Sequence[dict[str, Any]] | None = None,
    latency: Literal["latest", "average"] = "latest",
) -> Context:
    exhibit = Exhibit("Fig. 1", "An exhibit", draw, tuple(experiments), tuple(marks))
    study = Study("A study", "nowhere", latency, (exhibit,))
    chosen_rows = [row(out, one) for one in experiments] if rows is None else rows
    return Context("e", study, exhibit, read_reproduction(write_reproduction(out, "ospbench", study, chosen_rows)))


def set_latencies(
    out: Path, experiment: Experiment, values: Sequence[float], engine: str = "spark", kind: str = "latest"
) -> None:
    distinct, counts = np.unique(np.array(values, dtype=float), return_counts=True)
    table = pa.table({"kind": [kind] * len(distinct), "value_ms": distinct, "count": counts})
    pq.write_table(table, out / f"runs/{experiment.name}-{engine}/measures/latency.parquet")


def plot(panels: Sequence[Panel], name: str) -> Plot:
    return next(one for panel in panels for one in panel.plots if one.name == name)


def test_percentiles_are_those_of_all_samples() -> None:
    distribution = Distribution(np.array([1.0, 2.0, 10.0]), np.array([50, 40, 11]))
    # 101 samples: places 0 to 100; place 25 is 1, place 50 is 2, place 90 is 10, and 10 samples lie above it.
    assert [distribution.percentile(p) for p in (0, 25, 50, 89, 90)] == [1.0, 1.0, 2.0, 2.0, 10.0]
    assert distribution.percentile(89.5) == pytest.approx(6.0)
    assert distribution.percentile(91) is None
    assert distribution.level(91) == 10.0
    assert Distribution(np.zeros(0), np.zeros(0, int)).percentile(50) is None


@pytest.mark.parametrize("percent", [1, 25, 50, 75, 95, 99])
def test_percentiles_agree_with_numpy(percent: int) -> None:
    samples = np.random.default_rng(3).integers(0, 50, 4001).astype(float)
    assert Distribution(*np.unique(samples, return_counts=True)).percentile(percent) == np.percentile(samples, percent)


def test_violins_and_the_papers_medians_share_a_row(tmp_path: Path) -> None:
    marks = [
        mark(STRUCTURED, "tumbling", MEDIAN, 1277, "customised", label="median latency"),
        mark(FLINK, "ingest", MEDIAN, 0, label="in the middle"),
        mark(FLINK, "ingest", P99, 2, label="median latency"),
    ]
    panels = latency_by_stage(context(tmp_path, latency_by_stage, [INGEST, TUMBLING, CUSTOMISED], marks))
    drawn = plot(panels, "e-stages").figure
    names = drawn["layout"]["yaxis"]["ticktext"]
    assert names == ["<b>tumbling</b><br>customised", "<b>tumbling</b><br>built-in", "<b>ingest</b><br>built-in"]
    theirs = {trace["name"]: trace for trace in drawn["data"] if trace.get("name", "").startswith("paper: ")}
    structured, flink = theirs["paper: Structured Streaming 2.4.1"], theirs["paper: Flink 1.9.1"]
    assert (structured["x"], structured["y"]) == ([1277], [0.0])
    assert structured["text"] == ["paper: Structured Streaming 2.4.1, 1,277 ms (median latency)"]
    assert drawn["layout"]["xaxis"]["type"] == "log"
    assert (flink["x"], flink["y"]) == ([0.5], [2.0])  # 0 ms, at the floor of a logarithmic axis
    assert flink["text"] == ["paper: Flink 1.9.1, 0 ms (in the middle)"]


def test_the_outline_is_widest_where_the_results_are(tmp_path: Path) -> None:
    drawing = context(tmp_path, latency_by_stage, [INGEST])
    set_latencies(tmp_path, INGEST, [100] * 800 + [110] * 100 + [160] * 100)
    drawn = plot(latency_by_stage(drawing), "e-stages")
    outline = drawn.figure["data"][0]
    assert outline["x"][int(np.argmax(outline["y"]))] == pytest.approx(100, abs=3)
    assert max(outline["y"]) == pytest.approx(0.42)
    assert drawn.figure["layout"]["xaxis"].get("type") != "log"
    assert "ingest (built-in, spark) 100 ms" in drawn.caption


def test_the_table_leaves_out_what_too_few_samples_carry(tmp_path: Path) -> None:
    drawing = context(tmp_path, latency_by_stage, [INGEST, PARSE])
    set_latencies(tmp_path, INGEST, range(1001))
    set_latencies(tmp_path, PARSE, range(1_100_001))
    (table, *_) = latency_by_stage(drawing)[0].tables
    assert list(table.head[4:]) == ["count", "p1", "p25", "p50", "p75", "p99", "p99.999", "p99 − p1"]
    assert table.rows[0].cells[4:] == ["1,001", "10.0", "250.0", "500.0", "750.0", "990.0", "–", "980.0"]
    assert table.rows[1].cells[10] == "1,099,989.0"


def test_one_and_the_same_latency_is_drawn(tmp_path: Path) -> None:
    drawing = context(tmp_path, latency_by_stage, [INGEST])
    set_latencies(tmp_path, INGEST, [7] * 20)
    outline = plot(latency_by_stage(drawing), "e-stages").figure["data"][0]
    assert min(outline["x"]) < 7 < max(outline["x"])


def test_a_stage_costs_the_latency_with_it_minus_without_it(tmp_path: Path) -> None:
    marks = [
        mark("Flink", "ingest", "latency.average.p50", 292),
        mark("Flink", "parse", "added.latency.average.p50", 172),
        mark("Flink", "parse", "latency.average.p50", 464),
    ]
    drawing = context(tmp_path, stage_cost, [INGEST, PARSE, JOIN], marks, latency="average")
    # Evenly spread over 0 to 1,000, over 100 to 1,300, over 50 to 2,050: p50 500, 700, 1,050; p95 950, 1,240, 1,950.
    set_latencies(tmp_path, INGEST, range(1001), kind="average")
    set_latencies(tmp_path, PARSE, np.linspace(100, 1300, 1001), kind="average")
    set_latencies(tmp_path, JOIN, np.linspace(50, 2050, 1001), kind="average")
    panels = stage_cost(drawing)
    boxes = plot(panels, "e-cumulative").figure["data"]
    assert boxes[0]["median"] == [500, 700, 1050]
    assert (boxes[0]["lowerfence"], boxes[0]["upperfence"]) == ([50, 160, 150], [950, 1240, 1950])
    assert (boxes[1]["name"], boxes[1]["x"], boxes[1]["y"]) == ("paper: Flink", ["ingest", "parse"], [292, 464])
    ours, theirs = plot(panels, "e-added").figure["data"]
    assert (ours["x"], ours["y"]) == (["ingest", "parse", "join"], [500, 200, 350])
    assert (theirs["x"], theirs["y"]) == (["ingest", "parse"], [292, 172])
    adds = panels[0].tables[1]
    assert adds.rows[2].cells[3:] == ["−10.0", "150.0", "350.0", "550.0", "710.0"]


def test_a_missing_stage_leaves_the_next_without_increment(tmp_path: Path) -> None:
    rows = [row(tmp_path, INGEST), not_run(PARSE, "why not"), row(tmp_path, JOIN)]
    panels = stage_cost(context(tmp_path, stage_cost, [INGEST, PARSE, JOIN], rows=rows))
    assert plot(panels, "e-added").figure["data"][0]["x"] == ["ingest"]
    assert panels[0].tables[1].rows[1].cells == ["join", "spark, built-in", "VALID", *["–"] * 5]


def test_an_increment_over_a_bad_run_is_grey(tmp_path: Path) -> None:
    rows = [row(tmp_path, INGEST, verdict="INVALID"), row(tmp_path, PARSE)]
    (panel,) = stage_cost(context(tmp_path, stage_cost, [INGEST, PARSE], rows=rows))
    levels, adds = panel.tables
    assert [one.muted for one in levels.rows] == [True, False]
    assert [one.muted for one in adds.rows] == [True, True]
    cumulative, added = panel.plots
    assert "ms (INVALID), parse" in cumulative.caption
    assert added.caption.count("(do not use)") == 2


def test_probes_stand_at_their_rates_with_the_papers_rates_at_the_foot(tmp_path: Path) -> None:
    marks = [
        mark(FLINK, "tumbling", "capacity.best", 26_000, unit="records/s"),
        mark(FLINK, "tumbling", "capacity.best", 25_000, "customised", unit="records/s"),
        mark(STRUCTURED, "tumbling", "capacity.best", 115_000, unit="records/s"),
        mark(STRUCTURED, "tumbling", "cpu", 50, unit="%", label="sustainable rate"),
    ]
    panels = rate_sweep(context(tmp_path, rate_sweep, [SEARCH], marks))
    drawn = plot(panels, "e-latency").figure
    p50, p99, zone_name, flink, structured = drawn["data"]
    assert zone_name["name"] == "spark: not sustained"
    assert (p50["x"], p50["y"]) == ([8000, 16000, 32000], [300.0, 900.0, 9000.0])
    assert p99["marker"]["symbol"] == ["circle", "circle", "x"]
    assert (flink["x"], structured["x"]) == ([26_000], [115_000])
    (zone,) = drawn["layout"]["shapes"]
    assert zone["x0"] == 32000
    assert zone["x1"] > 115_000
    cpu, heap = (plot(panels, f"e-{name}").figure["data"][0] for name in ("cpu", "heap"))
    assert cpu["x"] == heap["x"] == [8000, 16000, 32000]
    # The synthetic engine uses 0.9 cores give or take a fifth, more in the warm-up; its heap is 0.4 to 0.9 of 520 MB.
    assert 0.71 <= cpu["y"][0] - cpu["error_y"]["arrayminus"][0] < cpu["y"][0] + cpu["error_y"]["array"][0] <= 1.09
    assert heap["y"][0] - heap["error_y"]["arrayminus"][0] == pytest.approx(208, abs=0.1)
    assert heap["y"][0] + heap["error_y"]["array"][0] == pytest.approx(468, abs=0.1)
    assert panels[1].title.endswith("16,000 records/s sustained, 32,000 not (confirmed)")


def test_where_less_is_harder_the_least_that_was_sustained_is_the_best(tmp_path: Path) -> None:
    searched = row(tmp_path, SEARCH)
    searched["capacity"] |= {"over": "cores", "harder": "less", "unit": "cores", "interval": [2, 1]}
    for probe, (value, verdict) in zip(
        searched["capacity"]["probes"], [(4, "sustained"), (2, "sustained"), (1, "not sustained")], strict=True
    ):
        probe |= {"value": value, "verdict": verdict}
    panels = rate_sweep(context(tmp_path, rate_sweep, [SEARCH], rows=[searched]))
    drawn = plot(panels, "e-latency")
    assert "2 cores sustained, 1 not (confirmed), there p50 900 ms" in drawn.caption
    assert drawn.figure["data"][0]["x"] == [1, 2, 4]
    (zone,) = drawn.figure["layout"]["shapes"]
    assert (zone["x0"] < 1, zone["x1"]) == (True, 1)
    assert drawn.figure["layout"]["xaxis"]["title"] == {"text": "cores"}


def test_a_search_that_found_nothing_out_is_shown(tmp_path: Path) -> None:
    failed = row(tmp_path, SEARCH, verdict="FAILED")
    failed["capacity"] |= {"outcome": None, "interval": [None, None], "probes": []}
    failed["attempts"][0]["reasons"] = ["the engine died"]
    (together, panel, _) = rate_sweep(context(tmp_path, rate_sweep, [SEARCH], rows=[failed]))
    assert list(together.plots) == []
    assert (panel.verdict, panel.why, list(panel.plots)) == ("FAILED", "the engine died", [])
    assert panel.tables == []


def test_a_single_burst_counts_from_the_start_of_the_engine(tmp_path: Path) -> None:
    marks = [
        mark(FLINK, "tumbling", "burst.caught_up_s", 81, unit="s"),
        mark(FLINK, "tumbling", "burst.first_output_s", 16, unit="s", label="caught up"),
    ]
    panels = single_burst(context(tmp_path, single_burst, [SINGLE], marks))
    output = plot(panels, "e-output")
    ours, theirs, *moments = output.figure["data"]
    assert [one["name"] for one in moments] == ["spark first output 9.5 s", "spark caught up 21.0 s"]
    run = tmp_path / "runs/single-burst-tumbling-built-in-spark"
    per_second = pq.read_table(run / "measures/seconds.parquet").column("output").to_pylist()
    # The synthetic engine was started 2 s after the load.
    assert ours["x"][0] == 0.5
    assert ours["y"] == per_second[2:]
    assert (theirs["x"], theirs["name"]) == ([81], "paper: Flink 1.9.1")
    first, caught_up = output.figure["layout"]["shapes"]
    assert (first["x0"], caught_up["x0"]) == (9.5, 21.0)
    assert output.figure["layout"]["xaxis"]["range"] == [0.5, 81]
    assert "spark: first output 9.5 s, caught up 21.0 s after it was started, with 60,000 records" in output.caption
    assert plot(panels, "e-cpu").figure["data"][0]["x"][0] >= 0


def test_periodic_bursts_are_shown_over_the_last_minute_with_each_burst_marked(tmp_path: Path) -> None:
    panels = periodic_burst(context(tmp_path, periodic_burst, [PERIODIC]))
    rates = plot(panels, "e-rates").figure
    assert [trace["name"] for trace in rates["data"]] == ["spark input", "spark output"]
    assert rates["data"][0]["x"] == [second + 0.5 for second in range(10, 40)]
    assert [shape["x0"] for shape in rates["layout"]["shapes"]] == [10.0, 20.0, 30.0]
    assert [trace["name"] for trace in plot(panels, "e-latency").figure["data"]] == ["spark p50", "spark p99"]
    (table,) = panels[0].tables
    assert table.rows[0].cells == ["spark", "3", "1", "1,900.0", "2.0", "3.17", "VALID"]
    (bursts,) = panels[1].tables
    assert [one.cells[2] for one in bursts.rows] == ["no", "no", "yes"]


@pytest.mark.parametrize(
    ("value", "others", "more", "points"),
    [
        (100, [100], False, 4),
        (110, [100], False, 4),
        (111, [100], False, 3),
        (200, [100], False, 3),
        (201, [100], False, 2),
        (500, [100], False, 2),
        (501, [100], False, 1),
        (0.9, [0], False, 4),  # both below the resolution of the stamps
        (3, [0], False, 2),
        (91, [100], True, 4),
        (50, [100], True, 3),
        (20, [100], True, 2),
        (19, [100], True, 1),
    ],
)
def test_the_rule_of_the_scores(value: float, others: list[float], more: bool, points: int) -> None:
    assert score(value, [value, *others], more) == points


def table_2(out: Path, rows: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    exhibit = next(one for one in OSPBENCH.exhibits if one.draw is scores)
    reproduction = read_reproduction(write_reproduction(out, "ospbench", OSPBENCH, rows))
    (table,) = scores(Context("e", OSPBENCH, exhibit, reproduction))[0].tables
    table_rows = {"head": list(table.head)}
    for one in table.rows:
        table_rows[f"{one.cells[0]}: {one.cells[1][0]}"] = list(one.cells[1:])
    return table_rows


def with_p50(experiment_row: dict[str, Any], p50: float) -> dict[str, Any]:
    experiment_row["summary"]["latency_ms"]["latest"]["p50"] = p50
    return experiment_row


def test_scores_compare_the_systems_measured_here(tmp_path: Path) -> None:
    rows = [
        with_p50(row(tmp_path, INGEST), 100),
        with_p50(row(tmp_path, PARSE), 200),
        with_p50(row(tmp_path, INGEST, "other"), 40),
        with_p50(row(tmp_path, PARSE, "other"), 60),
        with_p50(row(tmp_path, experiment(LATENCY, "ingest", "real-time")), 5),
        with_p50(row(tmp_path, experiment(LATENCY, "parse", "real-time")), 7),
        row(tmp_path, SEARCH),
    ]
    table_rows = table_2(tmp_path, rows)
    # The paper's scores of a system stand beside ours.
    assert table_rows["head"][2:6] == ["spark", "paper: Structured Streaming 2.4.1", "spark, real-time", "other"]
    # Means over both stages: 150, 6 and 50 ms.
    assert table_rows["Latency: stateless stages"][1:5] == [["1", "150 ms"], "1", ["4", "6 ms"], ["1", "50 ms"]]
    theirs = ("Flink 1.9.1", "Kafka Streams 2.1.0", "Spark Streaming 2.4.1")
    assert table_rows["head"][6:] == [f"paper: {engine}" for engine in theirs]
    assert table_rows["Latency: stateless stages"][5:] == ["4", "4", "1"]
    assert table_rows["Latency: customised stateful API"][2:] == ["2", "–", "–", "4", "4", "–"]
    # One system only: a value and no score. 16,000/s is sustained, but with a p99 of 2.7 s.
    assert table_rows["Sustainable throughput: unconstrained latency"][1:3] == [["no score", "16,000 records/s"], "4"]
    assert table_rows["Sustainable throughput: constrained latency"][1:3] == [["no score", "8,000 records/s"], "1"]


def test_a_system_that_is_never_so_fast_scores_least(tmp_path: Path) -> None:
    """The other one sustains as much, but each of its probes has a p99 above two seconds."""
    slow = row(tmp_path, SEARCH, "other")
    for probe in slow["capacity"]["probes"]:
        probe["total_p99"] = 2500.0
    table_rows = table_2(tmp_path, [row(tmp_path, SEARCH), slow])
    (_, spark, _, other, *_) = table_rows["Sustainable throughput: constrained latency"]
    assert (spark, other) == (["4", "8,000 records/s"], ["1", "none"])


def test_only_stages_that_all_have_are_compared(tmp_path: Path) -> None:
    rows = [
        with_p50(row(tmp_path, INGEST), 100),
        with_p50(row(tmp_path, PARSE), 900),
        with_p50(row(tmp_path, INGEST, "other"), 105),
        not_run(PARSE, "it cannot", "other"),
    ]
    (what, spark, _, other, *_) = table_2(tmp_path, rows)["Latency: stateless stages"]
    assert what == ["stateless stages", "(median latency, mean over ingest)"]
    assert (spark, other) == (["4", "100 ms"], ["4", "105 ms"])


def test_bad_runs_are_not_scored(tmp_path: Path) -> None:
    rows = [with_p50(row(tmp_path, INGEST), 100), with_p50(row(tmp_path, INGEST, "other", verdict="INVALID"), 1)]
    assert table_2(tmp_path, rows)["Latency: stateless stages"][1:4] == [["no score", "100 ms"], "1", "–"]


def test_times_of_bursts_are_scored_in_seconds(tmp_path: Path) -> None:
    rows = [row(tmp_path, SINGLE), row(tmp_path, SINGLE, "other")]
    rows[0]["summary"]["burst"] = synthetic_study.SINGLE | {"first_output_s": 0.2, "caught_up_s": 30.0}
    rows[1]["summary"]["burst"] = synthetic_study.SINGLE | {"first_output_s": 0.5, "caught_up_s": 20.0}
    table_rows = table_2(tmp_path, rows)
    assert table_rows["Single burst: initial output"][1:4] == [["4", "0.20 s"], "2", ["2", "0.50 s"]]
    assert table_rows["Single burst: processing time"][1:4] == [["3", "30 s"], "4", ["4", "20 s"]]


def test_every_score_of_the_paper_has_its_factor() -> None:
    table = next(exhibit for exhibit in OSPBENCH.exhibits if exhibit.draw is scores)
    assert {mark.metric for mark in table.marks} == {factor.metric for factor in factors("latest")}
