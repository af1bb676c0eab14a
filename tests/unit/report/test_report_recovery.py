"""The part of a run's page that shows its faults, and their marks in every figure over time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pages import unlinked
from synthetic_run import write_bursts, write_faults

from run_files import change, content
from streamgauge import report
from streamgauge.report import figures
from streamgauge.report.source import read
from streamgauge.rundir import RunDir

NOT_OVER_TIME = {"distribution"}


def text_of(run: RunDir) -> str:
    """The section's words."""
    page = report.write(run).read_text(encoding="utf-8")
    section = unlinked(page).partition('<section class="faults"')[2].partition("</section>")[0]
    return " ".join(re.sub(r"<[^>]+>", " ", section).split())


def test_every_fault_is_marked_in_every_figure_over_time(tmp_path: Path) -> None:
    drawn = figures.all_figures(read(write_faults(tmp_path / "run")))
    assert len(drawn) > 10
    for name in drawn.keys() - NOT_OVER_TIME:
        layout = drawn[name]["layout"]
        lines = {shape["x0"] for shape in layout["shapes"] if shape["line"].get("color") == "--alarm"}
        names = dict(trace["name"].split(" ", 1) for trace in drawn[name]["data"] if trace["name"][0].isdigit())
        labels = {names.get(note["text"]): note["x"] for note in layout["annotations"]}
        assert {20.0, 25.0, 35.0} <= lines, name
        assert labels["pause engine"] == 20.0 and labels["kill worker-2"] == 25.0, name
        assert labels["kill worker-2: no effect"] == 35.0, name
        bands = [(shape["x0"], shape["x1"]) for shape in layout["shapes"] if shape.get("fillcolor") == "--band"]
        assert bands == [(20.0, 22.0), (25.0, 25.1)], name


def test_bursts_and_faults_in_one_figure(tmp_path: Path) -> None:
    run = write_bursts(tmp_path / "run")
    change(run.outcome_path, faults=content(write_faults(tmp_path / "other").outcome_path)["faults"])
    labels = {trace["name"] for trace in figures.all_figures(read(run))["burst-latency"]["data"]}
    assert {"1 burst", "2 pause engine", "3 kill worker-2", "4 wide burst"} <= labels


def test_the_table(tmp_path: Path) -> None:
    text = text_of(write_faults(tmp_path / "run"))
    assert "3 faults" in text
    assert (
        "pause engine for 2s at 10s from 10.00 s to 12.00 s 2.31 0.470 3.40 (0.900) 2 of 3, "
        "1 silent to the end, 1 not judged 2.12 3.00 4.00" in text
    )
    assert (
        "kill worker-2 at 50% from 15.00 s to 15.10 s 0.47 0.470 unknown unknown 0.21 not in this run unknown" in text
    )
    assert "kill worker-2 at 25s none: worker-2 was not running" in text
    assert "0 lost, 0 duplicates" in text


def test_numbers_and_the_guarantee(tmp_path: Path) -> None:
    run = write_faults(tmp_path / "run")
    for path in (run.outcome_path, run.summary_path):
        numbered = [{**fault, "number": place} for place, fault in enumerate(content(path)["faults"], start=1)]
        change(path, faults=numbered)
    change(run.summary_path, guarantee="nothing lost, 3 of 9 results duplicated")
    assert "3. kill worker-2 at 25s none: worker-2 was not running" in text_of(run)
    page = run.report_path.read_text(encoding="utf-8")
    meaning = page.partition('<p class="meaning">')[2].partition("</p>")[0]
    assert meaning.startswith("nothing lost, 3 of 9 results duplicated; the measurement")
    labels = {trace["name"] for trace in figures.all_figures(read(run))["backlog"]["data"]}
    assert {"1 pause engine", "2 kill worker-2 (fault 2)", "3 kill worker-2 (fault 3): no effect"} <= labels


@pytest.mark.parametrize("kind", ["valid", "failed"])
def test_other_runs_have_no_such_part(kind: str, request: pytest.FixtureRequest) -> None:
    run: RunDir = request.getfixturevalue(kind)
    assert text_of(run) == ""
    alarms = [
        shape
        for name, drawn in figures.all_figures(read(run)).items()
        for shape in drawn["layout"].get("shapes", ())
        if shape.get("yref") == "paper" and shape["line"].get("color") == "--alarm" and name != "clock"
    ]
    assert alarms == []


def test_the_node_that_was_chosen_is_named(tmp_path: Path) -> None:
    run = write_faults(tmp_path / "run")
    asked = content(run.summary_path)["faults"]
    asked[1] |= {"fault": "kill non-recipient at 50%", "role": "worker-2"}
    change(run.summary_path, faults=asked)
    text = text_of(run)
    assert "kill non-recipient at 50% (worker-2)" in text and "(engine)" not in text


def test_nodes_and_what_they_received(tmp_path: Path) -> None:
    run = write_faults(tmp_path / "run")

    def resources() -> str:
        page = unlinked(report.write(run).read_text(encoding="utf-8"))
        section = page.partition('id="resources"')[2].partition("</section>")[0]
        return " ".join(re.sub(r"<[^>]+>", " ", section).split())

    nodes = [
        {"role": "worker-1", "received_mb": 36.286, "from_transport_mb": 26.135, "reads": True},
        {"role": "worker-2", "received_mb": 10.125, "from_transport_mb": 0.001, "reads": False},
        {"role": "worker-3", "received_mb": None, "from_transport_mb": None, "reads": None},
    ]
    change(run.summary_path, nodes=nodes[:1])
    assert "Nodes of the engine" not in resources(), "there is nothing to tell apart"
    change(run.summary_path, nodes=nodes)
    assert "worker-1 36.3 26.1 yes worker-2 10.1 0.0 no worker-3 – – not known" in resources()
    assert "received (MB) sent (MB)" in resources()
