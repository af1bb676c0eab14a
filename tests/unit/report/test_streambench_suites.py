"""Figs. 4 to 7 of StreamBench: several recipients, the failure of a node, two configurations; worked out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from synthetic_streambench import EXPERIMENTS, at_a_rate, cells, panels, plotted, preloaded, row, traffic
from synthetic_study import not_run, write_reproduction

from run_files import change
from streamgauge import report
from streamgauge.report.exhibit import Panel
from streamgauge.report.legend import entries
from streamgauge.studies.streambench import STUDY

ENGINES = ("spark", "flink")
FAULT = {
    "fault": "kill non-recipient at 5s",
    "verb": "kill",
    "role": "worker-3",
    "acted_s": 5.02,
    "took_effect": True,
    "why_not": None,
    "latency": "latest",
}


def by_ability(out: Path, program: str, engine: str, **per_s: float | None) -> list[dict[str, Any]]:
    return [
        row(out, f"multi-recipient-{program}-{ability}", engine, preloaded(value)) for ability, value in per_s.items()
    ]


def test_throughput_stands_by_reception_ability_and_grows(tmp_path: Path) -> None:
    rows = [
        *by_ability(tmp_path, "identity", "spark", one=10_000.0, half=20_000.0, all=30_000.0),
        *by_ability(tmp_path, "grep", "spark", one=10_000.0, half=16_000.0, all=16_000.0),
        *by_ability(tmp_path, "identity", "flink", one=50_000.0),
    ]
    drawn = panels(tmp_path, "Fig. 4", rows)
    figures = plotted(drawn)
    assert list(figures) == ["e-spark", "e-flink"]
    assert figures["e-spark"] == {
        "spark, one node": {"identity": 0.6, "grep": 0.6},
        "spark, 0.5": {"identity": 1.2, "grep": 0.96},
        "spark, 1.0": {"identity": 1.8, "grep": 0.96},
    }
    # (2 + 1.6) / 2, (1.5 + 1) / 2
    assert cells(drawn, "Growth with the reception ability") == [
        ["spark", "1.80 ×", "2", "1.25 ×", "2"],
        ["flink", "–", "0", "–", "0"],
    ]
    assert cells(drawn, "Throughput of each run")[0] == [
        *("identity", "one node", "spark", "10,000", "0.60", "4", "2,500", "0.15", "–", "–", "VALID")
    ]
    assert ["2 recipients against 1, about (×)", "1.80", "1.80"] in cells(drawn, "The paper's numbers")


def test_a_run_that_is_not_valid_does_not_count(tmp_path: Path) -> None:
    rows = [
        *by_ability(tmp_path, "identity", "spark", one=10_000.0, all=30_000.0),
        row(tmp_path, "multi-recipient-identity-half", "spark", preloaded(20_000.0), "INVALID"),
        row(tmp_path, "multi-recipient-statistics-all", "spark", preloaded(None), "FAILED"),
    ]
    drawn = panels(tmp_path, "Fig. 4", rows)
    assert cells(drawn, "Growth with the reception ability") == [["spark", "–", "0", "–", "0"]]
    invalid, main, _ = drawn
    assert (invalid.title, invalid.verdict) == ("spark · identity · 0.5", "INVALID")
    assert main.finding == "Beyond the saturate volume: spark · statistics · 1.0 (it stopped)."
    (half,) = (one for one in main.plots[0].figure["data"] if one["name"] == "spark, 0.5")
    assert half["marker"]["color"] == ["--muted"]


def failed(out: Path, results: dict[str, int], per_s: float | None = 20_000.0, *, ended: bool = False) -> list[Panel]:
    """Fig. 4 with a run that FAILED with these counts of results."""
    name = "multi-recipient-wordcount-half"
    one = row(out, name, "spark", preloaded(per_s) | {"results": {"expected": 500_000, **results}}, "FAILED")
    if ended:
        process = {"role": "worker-1", "group": "engine", "exit_code": 1, "log_tail": ""}
        change(out / f"runs/{name}-spark" / "outcome.json", ended=[process])
    return panels(out, "Fig. 4", [one])


@pytest.mark.parametrize(
    ("results", "per_s", "ended"),
    [
        ({}, None, False),
        ({"unfinished": 7}, 20_000.0, False),
        ({"unfinished": 7, "lost": 2}, None, False),
        ({}, 20_000.0, True),
        ({"lost": 7}, None, True),
    ],
)
def test_an_engine_that_stopped_coping_is_saturated(
    tmp_path: Path, results: dict[str, int], per_s: float | None, ended: bool
) -> None:
    drawn = failed(tmp_path, results, per_s, ended=ended)
    assert drawn[0].finding == "Beyond the saturate volume: spark · wordcount · 0.5 (it stopped)."
    assert cells(drawn, "Throughput of each run")[0][3] == "saturated"
    assert [panel.verdict for panel in drawn if panel.verdict] == []


def test_a_valid_run_whose_throughput_is_unknown_is_not_saturated(tmp_path: Path) -> None:
    one = row(tmp_path, "multi-recipient-wordcount-half", "spark", preloaded(None), "VALID")
    assert [panel.finding for panel in panels(tmp_path, "Fig. 4", [one]) if panel.finding] == []


def test_an_engine_that_did_not_start_says_nothing_of_a_volume(tmp_path: Path) -> None:
    name = "multi-recipient-wordcount-half"
    one = row(tmp_path, name, "spark", preloaded(None) | {"results": {}}, "FAILED")
    change(tmp_path / f"runs/{name}-spark" / "outcome.json", engine_ready_ns=None)
    drawn = panels(tmp_path, "Fig. 4", [one])
    assert [panel.finding for panel in drawn if panel.finding] == []
    assert [(panel.title, panel.verdict) for panel in drawn if panel.verdict] == [("spark · wordcount · 0.5", "FAILED")]


@pytest.mark.parametrize(
    ("results", "per_s"),
    [
        ({"wrong": 7}, 20_000.0),
        ({"wrong": 7}, None),
        ({"wrong": 7, "lost": 7}, 20_000.0),
        ({"unexpected": 7}, 20_000.0),
        ({"lost": 7}, 20_000.0),
        ({"lost": 7}, None),
    ],
)
def test_wrong_or_lost_results_do_not_count_as_saturated(
    tmp_path: Path, results: dict[str, int], per_s: float | None
) -> None:
    drawn = failed(tmp_path, results, per_s)
    assert [panel.finding for panel in drawn if panel.finding] == []
    assert cells(drawn, "Throughput of each run")[0][3] == ("–" if per_s is None else "20,000")
    banners = [(panel.title, panel.verdict, panel.why) for panel in drawn if panel.verdict]
    assert banners == [("spark · wordcount · 0.5", "FAILED", "it stopped")]


def test_the_legend_shows_the_series_as_the_figure_does(tmp_path: Path) -> None:
    rows = by_ability(tmp_path, "identity", "spark", one=10_000.0, half=20_000.0)
    rows.append(row(tmp_path, "multi-recipient-identity-all", "spark", preloaded(30_000.0), "INVALID"))
    (plot,) = (plot for panel in panels(tmp_path, "Fig. 4", rows) for plot in panel.plots)
    shown = [(entry.name, entry.opacity, entry.color) for entry in entries(plot.figure)]
    colour = shown[0][2]
    assert shown == [("spark, one node", 0.3, colour), ("spark, 0.5", 0.6, colour), ("spark, 1.0", 0.95, "--muted")]
    rows.append(row(tmp_path, "multi-recipient-grep-all", "spark", preloaded(30_000.0)))
    (plot,) = (plot for panel in panels(tmp_path, "Fig. 4", rows) for plot in panel.plots)
    assert plot.figure["data"][2]["marker"]["color"] == ["--muted", colour]
    assert entries(plot.figure)[2].color == colour, "one of its bars may be used"


def test_which_nodes_read_is_shown_and_marked_where_it_differs(tmp_path: Path) -> None:
    def figures(mb: list[float], reading: int) -> dict[str, Any]:
        return {**preloaded(10_000.0), "nodes": traffic("spark", mb, reading)}

    unknown = {**preloaded(10_000.0), "nodes": [{"role": "worker-1", "reads": None}]}
    rows = [
        row(tmp_path, "multi-recipient-identity-one", "spark", figures([31.5, 0.1, 0.1, 0.2], 1)),
        row(tmp_path, "multi-recipient-identity-half", "spark", figures([31.5, 0.1, 0.1, 0.2], 1)),
        row(tmp_path, "multi-recipient-identity-all", "spark", preloaded(10_000.0)),
        row(tmp_path, "multi-recipient-sample-all", "spark", unknown),
    ]
    drawn = panels(tmp_path, "Fig. 4", rows)
    one, half, *unrecorded = cells(drawn, "Which nodes read")
    each = ["worker-1 31.5", "0.10, 0.10, 0.20"]
    assert one == ["identity", "one node", "spark", "1", "1 of 4", *each, "VALID"]
    assert half == ["identity", "0.5", "spark", "2", "1 of 4 ≠", *each, "VALID"]
    assert [cell[3:7] for cell in unrecorded] == 2 * [["4", "–", "–", "–"]]
    assert drawn[-1].finding == "Not as many nodes read as were asked for: spark · identity · 0.5: 1 instead of 2."


def test_latency_stands_by_reception_ability(tmp_path: Path) -> None:
    rows = [
        row(tmp_path, "multi-recipient-latency-grep-one", "flink", at_a_rate(40.0)),
        row(tmp_path, "multi-recipient-latency-grep-half", "flink", at_a_rate(60.0)),
        row(tmp_path, "multi-recipient-latency-grep-all", "flink", at_a_rate(90.0), "INVALID"),
    ]
    drawn = panels(tmp_path, "Fig. 5", rows)
    assert (drawn[0].title, drawn[0].verdict, drawn[0].why) == ("flink · grep · 1.0", "INVALID", "it stopped")
    assert plotted(drawn)["e-flink"]["flink, 0.5"] == {"grep": 60.0}
    assert cells(drawn, "Growth with the reception ability") == [["flink", "1.50 ×", "1", "–", "0"]]
    assert cells(drawn, "Latency of each run")[0][3:] == ["5,000", "40.0", "40.0", "80.0", "VALID"]
    assert ["wordcount", "one node", "mean latency (ms)", "12,019.26"] in cells(drawn, "The paper's numbers")


def throughputs(
    out: Path, engine: str, values: dict[str, float], verdicts: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """Of identity: with all nodes, with one fewer, with one that fails; each if it is there."""
    names = {
        "all": "multi-recipient-identity-half",
        "fewer": "fault-tolerance-identity-fewer",
        "failure": "fault-tolerance-identity-failure",
    }
    return [
        row(
            out,
            names[case],
            engine,
            preloaded(value) | ({"faults": [FAULT]} if case == "failure" else {}),
            (verdicts or {}).get(case, "VALID"),
        )
        for case, value in values.items()
    ]


def test_the_throughput_penalty_factor(tmp_path: Path) -> None:
    rows = throughputs(tmp_path, "spark", {"all": 1000.0, "fewer": 800.0, "failure": 720.0})
    drawn = panels(tmp_path, "Fig. 6", rows)
    # 720 / ((1000 + 800) / 2)
    assert cells(drawn, "Throughput with and without a failure") == [
        ["identity", "spark", "1,000", "800", "720", "0.80", "worker-3 at 5.0 s", "–"]
    ]
    figures = plotted(drawn)["e-tpf"]
    assert figures["spark"] == {"identity": 0.8, "mean": 0.8}
    assert figures["paper: Storm 0.9.1"] == {"mean": 0.66}
    assert "paper: Spark Streaming 0.9.0" not in figures, "the paper gives a range only"
    assert figures["no penalty"] == {"identity": 1, "mean": 1}
    assert {"0.90", "1.17", "0.66", "5.30", "2.30", "10", "50"} <= {
        one for cell in cells(drawn, "The paper's numbers") for one in cell
    }


def test_the_latency_penalty_factor(tmp_path: Path) -> None:
    rows = [
        row(tmp_path, "multi-recipient-latency-distinctcount-half", "flink", at_a_rate(30.0)),
        row(tmp_path, "fault-tolerance-latency-distinctcount-fewer", "flink", at_a_rate(50.0)),
        row(tmp_path, "fault-tolerance-latency-distinctcount-failure", "flink", at_a_rate(100.0)),
        row(tmp_path, "multi-recipient-latency-grep-half", "flink", at_a_rate(10.0)),
        row(tmp_path, "fault-tolerance-latency-grep-fewer", "flink", at_a_rate(10.0)),
        row(tmp_path, "fault-tolerance-latency-grep-failure", "flink", at_a_rate(15.0)),
    ]
    drawn = panels(tmp_path, "Fig. 6", rows)
    # 100 / ((30 + 50) / 2), 15 / 10
    assert [one[5] for one in cells(drawn, "Mean latency with and without a failure")] == ["1.50", "2.50"]
    figures = plotted(drawn)
    assert list(figures) == ["e-lpf"], "no throughput was measured"
    assert figures["e-lpf"]["flink"] == {"grep": 1.5, "distinctcount": 2.5, "mean": 2.0}
    assert figures["e-lpf"]["paper: Storm 0.9.1"] == {"mean": 5.3, "distinctcount": 2.3}
    assert figures["e-lpf"]["paper: Spark Streaming 0.9.0"] == {"mean": 1}
    (plot,) = (plot for panel in drawn for plot in panel.plots)
    assert plot.caption == "flink: grep 1.50, distinctcount 2.50; mean over 2 programs 2.00."


@pytest.mark.parametrize(
    ("values", "verdicts", "lacking"),
    [
        ({"all": 1000.0, "failure": 720.0}, {}, "N − 1 nodes: not part of this reproduction"),
        ({"fewer": 800.0, "failure": 720.0}, {}, "N nodes: not part of this reproduction"),
        ({"all": 1000.0, "fewer": 800.0, "failure": 720.0}, {"failure": "INVALID"}, "a node fails: INVALID"),
        ({"all": 1000.0, "fewer": 800.0, "failure": 720.0}, {"all": "FAILED"}, "N nodes: FAILED"),
        ({"all": 1000.0, "fewer": 800.0}, {}, "a node fails: not part of this reproduction"),
    ],
)
def test_without_three_valid_runs_there_is_no_factor(
    tmp_path: Path, values: dict[str, float], verdicts: dict[str, str], lacking: str
) -> None:
    drawn = panels(tmp_path, "Fig. 6", throughputs(tmp_path, "spark", values, verdicts))
    ((*_, factor, _, reason),) = cells(drawn, "Throughput with and without a failure")
    assert (factor, reason) == ("–", lacking)
    assert plotted(drawn) == {}
    assert [panel.verdict for panel in drawn if panel.verdict] == [
        verdict for case, verdict in verdicts.items() if case != "all"
    ], "Fig. 4 has a banner for the run with all nodes"


def test_a_latency_that_had_not_settled_is_remarked(tmp_path: Path) -> None:
    drifting = {**at_a_rate(50.0), "state": "drifting"}
    rows = [
        row(tmp_path, "multi-recipient-latency-grep-half", "spark", at_a_rate(50.0)),
        row(tmp_path, "fault-tolerance-latency-grep-fewer", "spark", drifting),
        row(tmp_path, "fault-tolerance-latency-grep-failure", "spark", drifting),
    ]
    ((*_, factor, _, remark),) = cells(panels(tmp_path, "Fig. 6", rows), "Mean latency with and without a failure")
    assert (factor, remark) == ("1.00", "not settled: N − 1 nodes"), "with a failure it must move"
    drawn = panels(tmp_path, "Fig. 5", [row(tmp_path, "multi-recipient-latency-sample-all", "spark", drifting)])
    assert cells(drawn, "Latency of each run")[0][-1] == "VALID, drifting"


def test_a_run_without_a_throughput_gives_no_factor(tmp_path: Path) -> None:
    rows = throughputs(tmp_path, "spark", {"all": 1000.0, "fewer": 800.0})
    rows.append(row(tmp_path, "fault-tolerance-identity-failure", "spark", preloaded(None)))
    ((*_, factor, _, reason),) = cells(panels(tmp_path, "Fig. 6", rows), "Throughput with and without a failure")
    assert (factor, reason) == ("–", "a node fails: no value")


def test_a_throughput_within_bounds_counts_by_the_lower_one_and_says_so(tmp_path: Path) -> None:
    rows = throughputs(tmp_path, "spark", {"all": 1000.0, "fewer": 800.0})
    wide = preloaded(720.0)["processing"] | {"records_per_s_at_most": 900.0}
    rows.append(row(tmp_path, "fault-tolerance-identity-failure", "spark", {"processing": wide}))
    ((*_, factor, _, remark),) = cells(panels(tmp_path, "Fig. 6", rows), "Throughput with and without a failure")
    assert (factor, remark) == ("0.80", "known only within bounds, a node fails: 720 to 900 records/s")


def test_two_configurations_of_spark(tmp_path: Path) -> None:
    defaults, tuned = {"serializer": "java", "gc": "G1"}, {"serializer": "kryo", "gc": "G1"}
    rows = [
        row(tmp_path, "performance-identity-4x", "spark", preloaded(60_000.0), options=tuned),
        row(tmp_path, "performance-identity-4x", "flink", preloaded(90_000.0)),
        row(tmp_path, "defaults-identity", "spark", preloaded(40_000.0), options=defaults),
        row(tmp_path, "performance-grep-4x", "spark", preloaded(70_000.0), "INVALID", options=tuned),
        row(tmp_path, "defaults-grep", "spark", preloaded(40_000.0), options=defaults),
        row(tmp_path, "latency-identity", "spark", at_a_rate(90.0, 30_000)),
        row(tmp_path, "defaults-latency-identity", "spark", at_a_rate(120.0, 20_000)),
    ]
    drawn = panels(tmp_path, "Fig. 7", rows)
    assert cells(drawn, "Throughput") == [
        ["identity", "40,000", "60,000", "+50.0 %", "VALID", "VALID"],
        ["grep", "40,000", "70,000", "–", "VALID", "INVALID"],
        ["mean over 1 program", "–", "–", "+50.0 %", "–", "–"],
    ]
    assert cells(drawn, "Mean latency at half of the throughput")[0] == [
        *("identity", ["120", "at 20,000/s"], ["90", "at 30,000/s"], "−25.0 %", "VALID", "VALID")
    ]
    assert cells(drawn, "What differs") == [["serializer", "java", "kryo"]]
    assert plotted(drawn)["e-throughput"] == {
        "spark, defaults": {"identity": 2.4, "grep": 2.4},
        "spark, tuned": {"identity": 3.6, "grep": 4.2},
    }
    assert ["wordcount", "mean latency against 0.9.1 (%)", "−66"] in cells(drawn, "The paper's numbers")


@pytest.mark.parametrize("name", ["Fig. 4", "Fig. 5", "Fig. 6", "Fig. 7"])
def test_without_results_the_papers_numbers_are_left(tmp_path: Path, name: str) -> None:
    drawn = panels(tmp_path, name, [not_run(EXPERIMENTS["performance-identity-1x"], "why")])
    assert cells(drawn, "The paper's numbers")
    assert plotted(drawn) == {}


def test_the_page_has_one_line_for_what_an_engine_cannot_run(tmp_path: Path) -> None:
    reason = "the study defines this experiment for spark, flink only, not for kafka-streams"
    rows = [
        row(tmp_path, "multi-recipient-identity-half", "kafka-streams", preloaded(10_000.0), whole=True),
        *(not_run(one, reason, "kafka-streams") for one in STUDY.experiments if one.name.startswith("fault-")),
    ]
    write_reproduction(tmp_path, "streambench", STUDY, rows)
    page = report.write_study(tmp_path, STUDY).read_text()
    fig_6 = page[page.index("<h2>Fig. 6") : page.index("</section>", page.index("<h2>Fig. 6"))]
    assert fig_6.count(reason) == 1
    assert f"No result: kafka-streams, 28 experiments: not run ({reason})" in fig_6
