"""The page of a reproduced study: what it says of every experiment, good, bad and missing."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import synthetic_study
from pages import unlinked
from synthetic_study import THREE, not_run, row, write_reproduction, write_study

from streamgauge import registry, report
from streamgauge.errors import UsageError
from streamgauge.report import study as study_page
from streamgauge.report.reproduction import read_reproduction
from streamgauge.report.study import render
from streamgauge.studies.configuration import configuration
from streamgauge.studies.ospbench import STUDY as OSPBENCH
from streamgauge.studies.ospbench.bursts import periodic_burst
from streamgauge.studies.ospbench.exhibits import latency_by_stage
from streamgauge.studies.stage_latency import STUDY as STAGE_LATENCY
from streamgauge.studies.stages import dimensions, experiment
from streamgauge.study import Exhibit, Mark, Study

INGEST = experiment("ospbench/latency", "ingest")
PARSE = experiment("ospbench/latency", "parse")
MARKS = (
    Mark("Structured Streaming 2.4.1", "latency.latest.p50", 105, "ms", "median latency", dimensions("ingest")),
    Mark("Flink 1.9.1", "latency.latest.p99", 2, "ms", "p99 latency", dimensions("parse")),
)
SMALL = Study(
    "A small study",
    "nowhere, 2026",
    "latest",
    (
        Exhibit("Table 1", "Configuration", configuration),
        Exhibit("Fig. 2", "Latency", latency_by_stage, (INGEST, PARSE), MARKS, "Read it with care."),
    ),
    {"duration": "shorter than the paper's"},
)


SECTIONS = ("exhibit-2", "exhibit-3", "exhibit-4")
"""Table 2, Fig. 2 and Fig. 3 of ospbench."""


def page_of(out: Path, study: Study = SMALL) -> str:
    return unlinked(render(read_reproduction(out), study))


def words(page: str) -> str:
    """What a reader sees: without markup and scripts."""
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


def figures_of(page: str) -> dict[str, Any]:
    match = re.search(r'<script type="application/json" id="figures">(.*?)</script>', page, flags=re.DOTALL)
    assert match is not None
    drawn: dict[str, Any] = json.loads(match[1])
    return drawn


def test_fewer_runs_than_the_papers_are_scaled_too(tmp_path: Path) -> None:
    text = words(page_of(write_study(tmp_path, "ospbench", SMALL), replace(SMALL, runs={"paper": 5})))
    assert "partitions 2 instead of 20, runs 1 instead of 5" in text


def test_the_head_says_what_was_run_on_what_and_what_was_scaled(tmp_path: Path) -> None:
    page_text = words(page_of(write_study(tmp_path, "ospbench", SMALL)))
    for text in (
        "A small study",
        "nowhere, 2026",
        "2 experiments: 2 VALID.",
        "profile laptop",
        "spark 4.2.0",
        "Example CPU @ 2.5 GHz, 2 cores",
        "2026-11-15 10:15 UTC, 20.0 minutes in all",
        "latency measured_s 30 instead of 1,500, partitions 2 instead of 20",
        "shorter than the paper&#39;s",
        "Read it with care.",
    ):
        assert text in page_text
    assert page_text.index("Table 1: Configuration") < page_text.index("Fig. 2: Latency")


def test_every_attempt_is_shown_and_linked(tmp_path: Path) -> None:
    first = row(tmp_path, INGEST, verdict="INVALID")["attempts"][0]
    shutil.move(tmp_path / first["directory"], tmp_path / "runs/first try")
    good = row(tmp_path, INGEST)
    figures = {"p50_ms": {"latest": 12.34}, "p99_ms": {"latest": 99.0}, "rate_output": 398.5}
    good["attempts"].insert(0, first | {"directory": "runs/first try"} | figures)
    page = page_of(write_reproduction(tmp_path, "ospbench", SMALL, [good]))
    assert '<a href="./runs/first%20try/report.html">INVALID</a>: generator: a record was 327 ms late' in page
    assert "(repeated; it had p50 12.3 ms, p99 99.0 ms, output 398.5/s)" in page
    assert '<a href="./runs/latency-ingest-built-in-spark/report.html">VALID</a>' in page
    assert "1 experiments: 1 VALID." in page
    assert "<title>ospbench reproduced · streamgauge</title>" in page


def test_what_has_no_result_leaves_a_gap_with_the_reason(tmp_path: Path) -> None:
    rows = [not_run(INGEST, "the engine <b>refuses</b> it"), synthetic_study.about(PARSE, "spark")]
    page = page_of(write_reproduction(tmp_path, "ospbench", SMALL, rows, state="unfinished"))
    text = words(page)
    assert "No result: spark · ingest · built-in: not run (the engine &lt;b&gt;refuses&lt;/b&gt; it)" in text
    assert "No result: spark · parse · built-in: not started yet" in text
    assert "unfinished: parts of the study have not been run yet" in text
    assert "<title>ospbench unfinished · streamgauge</title>" in page
    assert figures_of(page) == {}


def is_gap(title: str, why: str, page: str) -> bool:
    """Whether it is among the experiments that share a line with this reason."""
    return re.search(rf"{re.escape(title)}(, [^:]*)?: not run \({re.escape(why)}", words(page)) is not None


def test_experiments_without_a_result_for_the_same_reason_share_a_row() -> None:
    def result(name: str, why: str, state: str = "not run", engine: str = "flink", attempts: Any = ()) -> Any:
        return SimpleNamespace(name=name, why=why, state=state, engine=engine, attempts=attempts)

    results = [
        result("a", "", "done"),
        result("b", "", "done"),
        result("c", "no"),
        result("d", "no"),
        result("e", "never"),
        result("f", "never", engine="spark"),
        result("g", "never", engine="spark"),
        result("h", "not started yet", "pending"),
        result("i", "not started yet", "pending"),
        result("j", "not started yet", "pending", attempts=["1"]),
    ]
    groups = study_page._grouped(results)
    assert [[one.name for one in group] for group in groups] == [
        *(["a"], ["b"], ["c", "d"], ["e"], ["f", "g"], ["h", "i"], ["j"])
    ]


def test_warnings_of_runs_stand_beside_their_results(tmp_path: Path) -> None:
    busy = "the machine was busy: 99 % of all cores in the measured interval"
    quiet, warned = row(tmp_path, INGEST), row(tmp_path, PARSE)
    warned["summary"] = {**warned["summary"], "warnings": [busy, "<b>bold</b>"]}
    quiet["summary"] = {**quiet["summary"], "warnings": []}
    write_reproduction(tmp_path, "ospbench", SMALL, [quiet, warned])
    page = page_of(tmp_path)
    assert "1 result has warnings" in words(page)
    assert f"<summary>2 warnings</summary><ul><li>{busy}</li><li>&lt;b&gt;bold&lt;/b&gt;</li></ul>" in page


def test_an_overview_leaves_gaps_to_the_exhibits_that_it_rests_on(tmp_path: Path) -> None:
    rows = [not_run(one, "no Java") for one in OSPBENCH.experiments]
    page = page_of(write_reproduction(tmp_path, "ospbench", OSPBENCH, rows), OSPBENCH)
    sections = {name: page.split(f'<section id="{name}" ')[1].split("</section>")[0] for name in SECTIONS}
    lines = {name: re.findall(r"No result: (.*?): not run", text) for name, text in sections.items()}
    # One experiment counts for the scores alone; Fig. 2 has ten.
    counted = {name: [line.count("spark · ") for line in of_section] for name, of_section in lines.items()}
    assert counted == {"exhibit-2": [1], "exhibit-3": [10], "exhibit-4": [1]}


def test_what_was_left_out_or_removed_since_is_said(tmp_path: Path) -> None:
    out = write_reproduction(tmp_path, "ospbench", SMALL, [row(tmp_path, INGEST)])
    (tmp_path / "runs/latency-ingest-built-in-spark/manifest.json").unlink()
    text = words(page_of(out))
    assert "latency-parse-built-in: not part of this reproduction" in text
    assert "VALID, and its directory runs/latency-ingest-built-in-spark cannot be read" in text


def test_numbers_of_a_bad_run_are_grey_and_named(tmp_path: Path) -> None:
    rows = [row(tmp_path, INGEST), row(tmp_path, PARSE, verdict="INVALID")]
    page = page_of(write_reproduction(tmp_path, "ospbench", SMALL, rows))
    assert "INVALID and FAILED runs are shown in grey." in page
    assert re.search(r'<tr class="muted"><td>parse</td>.*?<td>INVALID</td>', page)
    assert re.search(r"<tr><td>ingest</td>.*?<td>VALID</td>", page)
    (drawn,) = figures_of(page).values()
    colors = {trace["name"]: trace["fillcolor"] for trace in drawn["data"] if trace.get("showlegend")}
    assert colors == {"spark": "--s1", "spark: INVALID, do not use": "--muted"}


def test_a_bad_burst_stands_under_a_banner(tmp_path: Path) -> None:
    bursts = experiment("ospbench/periodic-burst", "tumbling")
    study = Study("t", "s", "latest", (Exhibit("Fig. 5", "Bursts", periodic_burst, (bursts,)),))
    page = page_of(write_reproduction(tmp_path, "ospbench", study, [row(tmp_path, bursts, verdict="FAILED")]), study)
    assert '<div class="panel unusable">' in page
    assert "<b>FAILED: do not use these numbers.</b> generator: a record was 327 ms late" in page


def test_configuration_stands_beside_the_papers(tmp_path: Path) -> None:
    customised = experiment("ospbench/latency", "tumbling", "customised")
    rows = [row(tmp_path, INGEST), row(tmp_path, customised)]
    page = page_of(write_reproduction(tmp_path, "ospbench", SMALL, rows))
    assert "<td>cores</td><td>2</td><td>20</td>" in page
    assert "<td>implementation</td><td>built-in, customised</td><td>–</td>" in page
    assert "<td>partitions</td><td>2</td><td>20</td>" in page
    assert "<td>measured_s</td><td>30</td><td>1,500</td>" in page


def test_the_systems_own_settings_stand_one_by_one(tmp_path: Path) -> None:
    experiment_row = row(tmp_path, INGEST, "flink")
    path = tmp_path / experiment_row["directory"] / "manifest.json"
    content = json.loads(path.read_text())
    content["engine"]["options"] = {"slots": 2, "conf": {"pipeline.auto-watermark-interval": "20 ms"}}
    path.write_text(json.dumps(content))
    page = page_of(write_reproduction(tmp_path, "ospbench", SMALL, [experiment_row]))
    assert "<td>slots</td><td>2</td><td>4</td>" in page
    assert "<td>pipeline.auto-watermark-interval</td><td>20 ms</td><td>50 ms</td>" in page
    assert "<td>conf</td>" not in page


def test_values_that_differ_by_workload_are_listed_by_workload(tmp_path: Path) -> None:
    search = experiment("ospbench/throughput", "tumbling", purpose="capacity")
    rows = [row(tmp_path, INGEST), row(tmp_path, search)]
    page = page_of(write_reproduction(tmp_path, "ospbench", SMALL, rows))
    assert "<td>rate_per_s</td><td><div>latency: 400</div><div>throughput: searched</div></td>" in page


def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    hostile = "</script><img src=x onerror=alert(1)>"
    rows = [row(tmp_path, INGEST) | {"engine": hostile}, not_run(PARSE, hostile)]
    rows[0]["attempts"][0]["directory"] = "javascript:alert(1)//"
    page = page_of(write_reproduction(tmp_path, "ospbench", SMALL, rows))
    assert "<img" not in page.split("<script>", 1)[0]
    assert 'href="./javascript%3Aalert%281%29//' in page


def test_the_page_of_an_early_reproduction_is_the_same(tmp_path: Path) -> None:
    """Early files have the stage and the variant of an experiment as keys of their own."""
    page = page_of(write_study(tmp_path, "ospbench", OSPBENCH), OSPBENCH)
    path = tmp_path / "reproduction.json"
    content = json.loads(path.read_text())
    for one in content["experiments"]:
        one |= one.pop("dimensions")
        del one["settings"]
    path.write_text(json.dumps(content))
    assert page_of(tmp_path, OSPBENCH) == page


def test_the_same_reproduction_gives_the_same_page(tmp_path: Path) -> None:
    out = write_study(tmp_path, "ospbench", OSPBENCH)
    target = report.write_study(out, OSPBENCH)
    first = target.read_bytes()
    assert target == out / "report.html"
    assert report.write_study(out, OSPBENCH).read_bytes() == first
    assert not list(out.glob("*.part"))


@pytest.mark.parametrize(
    "word", [*registry.names("studies"), "stage_latency", *OSPBENCH.engines, "tumbling", "sliding"]
)
def test_the_report_knows_no_single_study(word: str) -> None:
    files = [file for file in Path(report.__file__).parent.iterdir() if file.is_file()]
    assert [file.name for file in files if re.search(rf"\b{word}\b", file.read_text())] == []


def test_the_page_is_made_without_spark() -> None:
    code = "import sys, streamgauge.report.study; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("study", [OSPBENCH, STAGE_LATENCY], ids=["ospbench", "stage-latency"])
def test_every_exhibit_of_a_real_study_is_drawn_for_two_engines(tmp_path: Path, study: Study) -> None:
    page = page_of(write_study(tmp_path, "x", study, ("spark", "other")), study)
    text = words(page)
    for exhibit in study.exhibits:
        assert exhibit.name in text
        assert all(mark.system in text for mark in exhibit.marks)
    assert "No result" not in text
    assert set(figures_of(page)) == set(re.findall(r'id="figure-([^"]+)"', page))
    figures = {name.rsplit("-", 1)[0] for name in figures_of(page)}
    drawn = {f"exhibit-{n}" for n, exhibit in enumerate(study.exhibits, start=1) if exhibit.name.startswith("Fig.")}
    assert drawn == {"-".join(name.split("-")[:2]) for name in figures}


@pytest.mark.parametrize("study", [OSPBENCH, STAGE_LATENCY], ids=["ospbench", "stage-latency"])
def test_every_figure_has_all_three_engines(tmp_path: Path, study: Study) -> None:
    rows = synthetic_study.three_engines(tmp_path, study)
    page = page_of(write_reproduction(tmp_path, "x", study, rows), study)
    for name, drawn in figures_of(page).items():
        names = [str(trace.get("name", "")) for trace in drawn["data"]]
        for engine, color in zip(THREE, ("--s1", "--s2", "--s3"), strict=True):
            mine = [t for t, of_trace in zip(drawn["data"], names, strict=True) if of_trace.startswith(engine)]
            assert mine, (name, engine)
            for trace in mine:
                used = {look["color"] for key in ("line", "marker") if "color" in (look := trace.get(key, {}))}
                assert used == {color}, (name, trace["name"])
    if study is OSPBENCH:
        assert is_gap("flink · ingest · real-time", "engine flink has no option realtime", page)
        assert page.count("<caption>Options of the engine</caption>") == 3
        assert page.count("<caption>Capacity of each engine</caption>") == 1


def test_the_median_run_is_shown_with_the_values_of_all(tmp_path: Path) -> None:
    experiment_row = row(tmp_path, INGEST)
    (attempt,) = experiment_row["attempts"]
    experiment_row["runs"] = 3
    experiment_row["attempts"] = [
        attempt | {"run": 1, "p50_ms": {"latest": 90.0}},
        attempt | {"run": 2, "p50_ms": {"latest": None}, "verdict": "INVALID", "directory": "runs/x/2"},
        attempt | {"run": 2, "p50_ms": {"latest": 120.5}, "directory": "runs/x/2-2"},
        attempt | {"run": 3, "p50_ms": {"latest": 100.0}, "directory": "runs/x/3"},
    ]
    page = page_of(write_reproduction(tmp_path, "ospbench", SMALL, [experiment_row]))
    assert "p50 of every run: 90.0 / 120.5 / 100.0 ms" in page
    assert '<td class="n">90.0 / 120.5 / 100.0</td>' in page
    assert 'run 2: <a href="./runs/x/2-2/report.html">VALID</a>' in page
    assert "1 experiments: 1 VALID." in page, "an INVALID run that was repeated does not count"
    experiment_row["attempts"][2] |= {"verdict": "INVALID", "reasons": ["why"]}
    experiment_row["verdict"] = "INVALID"
    bad = page_of(write_reproduction(tmp_path, "ospbench", SMALL, [experiment_row]))
    assert "1 experiments: 1 INVALID." in bad
    assert read_reproduction(tmp_path).experiments[0].why == "run 2: why"


@pytest.mark.parametrize("study", [OSPBENCH, STAGE_LATENCY], ids=["ospbench", "stage-latency"])
def test_a_study_of_which_nothing_ran_is_a_page_of_gaps(tmp_path: Path, study: Study) -> None:
    rows = [not_run(experiment, "no Java") for experiment in study.experiments]
    page = page_of(write_reproduction(tmp_path, "x", study, rows), study)
    assert figures_of(page) == {}
    for one in study.experiments:
        assert is_gap(" · ".join(one.dimensions.values()), "no Java", page)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (None, "not a reproduced study"),
        ("{", "is damaged"),
        ("[]", "is damaged"),
        ('{"format": 2}', "has a format that this version does not read"),
        ('{"format": 1}', "is damaged"),
        ('{"format": 1, "study": "x", "profile": "p", "state": "s", "experiments": [{"name": "n"}]}', "is damaged"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_clear_message(tmp_path: Path, content: str | None, says: str) -> None:
    if content is not None:
        (tmp_path / "reproduction.json").write_text(content)
    with pytest.raises(UsageError, match=says):
        report.write_study(tmp_path, SMALL)
