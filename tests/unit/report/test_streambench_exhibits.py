"""Figs. 2 and 3 of StreamBench, drawn from runs that were not run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import synthetic_study
from synthetic_run import write_preloaded, write_valid
from synthetic_streambench import at_a_rate, cells, panels, preloaded
from synthetic_streambench import row as chosen

from run_files import change
from run_files import content as read_json
from streamgauge import report
from streamgauge.studies.streambench import STUDY
from streamgauge.studies.streambench.experiments import LATENCY, PERFORMANCE
from streamgauge.study import Experiment

PER_S = {"1×": 40_000.0, "2×": 50_000.0, "4×": 60_000.0, "10×": 55_000.0}


def row(out: Path, experiment: Experiment, engine: str, verdict: str = "VALID") -> dict[str, Any]:
    directory = f"runs/{experiment.name}-{engine}"
    (out / "runs").mkdir(parents=True, exist_ok=True)
    if experiment.rate_of:
        run = write_valid(out / directory)
        content = read_json(run.summary_path)
        change(run.summary_path, latency_ms={**content["latency_ms"], "arrival": {"mean": 321.5}})
    else:
        run = write_preloaded(out / directory)
        per_s = PER_S[experiment.dimensions["scale"]]
        figures = {"records": 2_000_000, "records_per_s": per_s, "mb_per_s": per_s * 60e-6}
        change(run.summary_path, processing={**figures, "generated_per_s": 120_000.0, "served_per_s": 400_000.0})
    change(run.summary_path, verdict=verdict, reasons=[] if verdict == "VALID" else ["it stopped"])
    if verdict == "FAILED":
        change(run.summary_path, results={**read_json(run.summary_path)["results"], "unfinished": 7})
    measured = synthetic_study.not_run(experiment, "", engine)
    attempt = {"run": 1, "directory": directory, "verdict": verdict, "reasons": read_json(run.summary_path)["reasons"]}
    summary = read_json(run.summary_path)
    return {**measured, "state": "done", "directory": directory, "attempts": [attempt], "summary": summary}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Identity and wordcount on two engines; the largest wordcount failed on one of them; the rest is pending."""
    tmp_path = tmp_path_factory.mktemp("study")
    rows = []
    for experiment in (*PERFORMANCE, *LATENCY):
        for engine in ("spark", "flink"):
            if experiment.dimensions.get("program") in ("identity", "wordcount"):
                failed = experiment.name == "performance-wordcount-10x" and engine == "spark"
                rows.append(row(tmp_path, experiment, engine, "FAILED" if failed else "VALID"))
            else:
                rows.append({**synthetic_study.not_run(experiment, "", engine), "state": "pending"})
    synthetic_study.write_reproduction(tmp_path, "streambench", STUDY, rows)
    return report.write_study(tmp_path, STUDY).read_text()


def figures(page: str) -> dict[str, Any]:
    drawn = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, flags=re.DOTALL)
    assert drawn is not None
    content: dict[str, Any] = json.loads(drawn[1])
    return content


def test_a_figure_for_each_engine_with_bars_by_scale(page: str) -> None:
    drawn = figures(page)
    for engine in ("spark", "flink"):
        bars = drawn[f"exhibit-1-{engine}"]["data"]
        assert [series["name"] for series in bars] == [f"{engine} {scale}" for scale in PER_S]
        assert bars[0]["x"] == ["identity", "wordcount"]
        assert bars[2]["y"] == [3.6, 3.6]


def test_what_an_engine_cannot_cope_with_is_said_and_not_dropped(page: str) -> None:
    assert "Beyond the saturate volume: spark · wordcount · 10× (it stopped)." in page
    assert page.count(">saturated<") == 1


def test_the_wait_in_the_broker_is_named_and_the_sources_are_shown(page: str) -> None:
    assert "mean latency, ms: includes the wait in the broker" in page
    assert "400,000" in page and "120,000" in page


def test_latency_is_that_of_the_constant_rate(page: str) -> None:
    (spark, flink) = figures(page)["exhibit-2-latency"]["data"]
    assert (spark["name"], spark["x"], spark["y"]) == ("spark", ["identity", "wordcount"], [321.5, 321.5])
    assert flink["name"] == "flink"
    assert "12,019.26" in page, "Table IV"


def test_throughput_is_also_given_per_node(tmp_path: Path) -> None:
    rows = [chosen(tmp_path, "performance-identity-1x", "flink", preloaded(10_000.0))]
    drawn = panels(tmp_path, "Fig. 2", rows)
    assert cells(drawn, "Throughput of each run")[0][4:9] == ["10,000", "0.60", "4", "2,500", "0.15"]
    highest = ["highest throughput in the performance suites, nearly (section I) (MB/s)", "100", "–"]
    assert highest in cells(drawn, "The paper's numbers")


def test_wrong_results_make_a_run_unusable_and_not_saturated(tmp_path: Path) -> None:
    wrong = preloaded(20_000.0) | {"results": {"expected": 500_000, "matched": 499_993, "wrong": 7}}
    banner, main = panels(tmp_path, "Fig. 2", [chosen(tmp_path, "performance-grep-4x", "spark", wrong, "FAILED")])
    assert (banner.title, banner.verdict, banner.why) == ("spark · grep · 4×", "FAILED", "it stopped")
    assert main.finding == ""
    assert cells([main], "Throughput of each run")[0][4] == "20,000"


def test_ratios_between_programs_stand_beside_the_papers(tmp_path: Path) -> None:
    per_s = {
        "identity-1x": 60_000.0,
        "wordcount-1x": 30_000.0,
        "statistics-1x": 99_000.0,
        **{f"{program}-1x": 45_000.0 for program in ("sample", "projection", "grep", "distinctcount")},
        "identity-2x": 96_000.0,
        "wordcount-2x": 30_000.0,
        "statistics-2x": 99_000.0,  # not against the others: they were not run at this scale
    }
    rows = [
        *(chosen(tmp_path, f"performance-{name}", "spark", preloaded(value)) for name, value in per_s.items()),
        chosen(tmp_path, "performance-identity-4x", "spark", preloaded(60_000.0)),
        chosen(tmp_path, "performance-wordcount-4x", "spark", preloaded(1.0), "INVALID"),
        chosen(tmp_path, "performance-identity-1x", "flink", preloaded(60_000.0)),
    ]
    # (60 / 30 + 96 / 30) / 2, 99 / ((60 + 30 + 4 * 45) / 6)
    assert cells(panels(tmp_path, "Fig. 2", rows), "Ratios between programs") == [
        ["identity against wordcount", "over 2.50 ×", "–", ["2.60 ×", "mean of 2 scales"], "–"],
        ["statistics against the others", "–", "about 3 ×", "2.20 ×", "–"],
    ]
    latencies = [
        chosen(tmp_path, f"latency-{program}", "spark", at_a_rate(mean_ms))
        for program, mean_ms in (("identity", 100.0), ("statistics", 450.0))
    ]
    drawn = panels(tmp_path, "Fig. 3", latencies)
    against_spark = ["wordcount", "4×", "mean latency against Spark's, about (×)", "–", "4"]
    assert against_spark in cells(drawn, "The paper's numbers")
    assert cells(drawn, "Ratios between programs") == [["statistics against identity", "about 5 ×", "4.50 ×"]]


def test_what_is_pending_is_one_line(page: str) -> None:
    assert page.count("not started yet</p>") == 2


def test_the_caption_names_what_the_figure_shows_at_one_scale(tmp_path: Path) -> None:
    """In MB/s, as its bars: the records of statistics are larger, so it is not the slowest."""
    figures = {
        "performance-identity-10x": preloaded(300_000),
        "performance-grep-10x": preloaded(1_000_000),
        "performance-statistics-10x": {"processing": {**preloaded(250_000)["processing"], "mb_per_s": 75.0}},
        "performance-sample-1x": preloaded(10_000),
    }
    rows = [chosen(tmp_path, name, "spark", figure) for name, figure in figures.items()]
    (plot,) = (plot for panel in panels(tmp_path, "Fig. 2", rows) for plot in panel.plots)
    assert plot.caption == (
        "spark, 10×: fastest statistics with 75 MB/s, slowest identity with 18 MB/s. The fainter, the fewer records."
    )


def test_a_throughput_that_is_known_within_bounds_is_a_range(tmp_path: Path) -> None:
    bounds = preloaded(100_000)["processing"] | {"records_per_s_at_most": 150_000}
    rows = [chosen(tmp_path, "performance-distinctcount-1x", "flink", {"processing": bounds})]
    ((*_, cell),) = [line[:5] for line in cells(panels(tmp_path, "Fig. 2", rows), "Throughput of each run")]
    assert cell == "100,000 to 150,000"
