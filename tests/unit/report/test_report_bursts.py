"""The part of a run's page that shows its bursts."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import section
from synthetic_run import write_bursts

from streamgauge import report
from streamgauge.report import figures
from streamgauge.report.source import read
from streamgauge.rundir import RunDir

SINGLE = {"kind": "single", "records": 60_000, "first_output_s": 7.25, "caught_up_s": 12.5}


def text_of(run: RunDir) -> str:
    """The section's words."""
    page = report.write(run).read_text(encoding="utf-8")
    return section(page, "burst")


def marks(run: RunDir, name: str) -> list[tuple[float, str, str]]:
    """Place, label and colour of the vertical lines of a figure."""
    drawn = figures.all_figures(read(run))[name]
    lines = [shape for shape in drawn["layout"]["shapes"] if shape["type"] == "line"]
    names = dict(trace["name"].split(" ", 1) for trace in drawn["data"] if trace["name"][0].isdigit())
    labels = {note["x"]: names.get(note["text"]) for note in drawn["layout"]["annotations"]}
    return [(line["x0"], labels[line["x0"]], line["line"]["color"]) for line in lines]


@pytest.mark.parametrize("name", ["burst-output", "burst-latency"])
def test_a_single_burst_is_marked_from_the_engines_start_on(tmp_path: Path, name: str) -> None:
    expected = [(11.0, "engine started", "--ink"), (18.25, "first output", "--ink"), (23.5, "caught up", "--ink")]
    assert marks(write_bursts(tmp_path / "run", SINGLE), name) == expected


def test_a_single_burst_in_words(tmp_path: Path) -> None:
    text = text_of(write_bursts(tmp_path / "run", SINGLE))
    assert "A backlog of 60,000 records was waiting before the engine was started." in text
    assert "first output after 7.25 s" in text and "caught up after 12.50 s" in text
    assert "not how fast the engine is" in text


def test_an_engine_that_did_not_catch_up(tmp_path: Path) -> None:
    run = write_bursts(tmp_path / "run", {**SINGLE, "caught_up_s": None})
    assert "caught up not in this run" in text_of(run)
    assert [label for _, label, _ in marks(run, "burst-output")] == ["engine started", "first output"]


def test_each_periodic_burst_is_marked_and_a_wide_one_in_another_colour(tmp_path: Path) -> None:
    run = write_bursts(tmp_path / "run")
    assert marks(run, "burst-latency") == [(19.825, "burst", "--ink"), (29.825, "wide burst", "--alarm")]
    text = text_of(run)
    assert "4,000 records within 0.175 s, every 10 s" in text
    assert "1 of 2 bursts took too long to send" in text
    assert "19.8 175 410 1,250 – 3" in text and "29.8 312 (wide) 410 1,250 – 3" in text


def test_the_figures_show_rates_and_latency_of_each_second(tmp_path: Path) -> None:
    loaded = read(write_bursts(tmp_path / "run"))
    drawn = figures.all_figures(loaded)
    assert [trace["y"] for trace in drawn["burst-output"]["data"][:2]] == [
        loaded.seconds["appended"],
        loaded.seconds["output"],
    ]
    assert [trace["y"] for trace in drawn["burst-latency"]["data"][:2]] == [
        loaded.seconds["total_p50"],
        loaded.seconds["total_p99"],
    ]


def test_other_loads_have_no_such_part(valid: RunDir) -> None:
    assert text_of(valid) == ""
    assert not [name for name in figures.all_figures(read(valid)) if name.startswith("burst")]
    assert 'href="#burst"' not in valid.report_path.read_text(encoding="utf-8")
