"""The page of a comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import synthetic_run
from pages import unlinked

from streamgauge.errors import UsageError
from streamgauge.model.comparison import Comparison
from streamgauge.report.comparison import distributions_figure, render, values_figure, write_comparison
from streamgauge.report.source import read


def comparison(**changes: Any) -> Comparison:
    engine = {"name": "spark", "version": "4.2.0", "options": {}}
    a = {"path": "runs/a", "engine": engine, "runs": ["a1", "a2", "a3"], "values": [250, 252, 255], "median": 252}
    b = {**a, "path": "runs/<b>", "runs": ["b1", "b2", "b3"], "values": [300, 302, 301], "median": 301}
    about = {"format": 1, "measure": "total_p50_ms", "word": "slower", "ratio": 1.194, "interval": [1.18, 1.21]}
    return Comparison.model_validate({**about, "seed": 1, "runs_needed": None, "notes": [], "a": a, "b": b, **changes})


def test_the_answer_comes_first_with_its_interval_and_every_value() -> None:
    page = unlinked(render(comparison()))
    for words in (
        "slower",
        "B : A = 1.194, 95 % interval 1.180 to 1.210 (end-to-end latency, p50 (ms); above 1, B is worse).",
        "median 252 of 3 · runs/a",
        '<td>a2</td><td class="n">252.0</td>',
        "runs/&lt;b&gt;",
    ):
        assert words in page, words
    assert "<b>" not in page.split("<main>")[0].split("</style>")[1]


def test_what_cannot_be_told_says_how_many_runs_would() -> None:
    page = unlinked(render(comparison(word="cannot tell", runs_needed=7, notes=["they overlap"])))
    assert "About 7 a side would decide it." in page and "they overlap" in page


def test_the_figures_show_every_run_of_both_sides(tmp_path: Path) -> None:
    points_a, median_a, points_b, median_b = values_figure(comparison())["data"]
    assert (points_a["y"], points_b["y"]) == ([250, 252, 255], [300, 302, 301])
    assert (median_a["y"], median_b["name"]) == ([252, 252], "median of B: 301")
    source = read(synthetic_run.write_valid(tmp_path / "run"))
    drawn = distributions_figure(comparison(), [source, source], [source])
    assert drawn is not None
    assert [(trace["name"], trace["showlegend"]) for trace in drawn["data"]] == [
        *(("A: spark 4.2.0", True), ("A: spark 4.2.0", False), ("B: spark 4.2.0", True)),
    ]
    assert distributions_figure(comparison(), [], []) is None


def test_capacities_have_no_distribution_and_no_kind_of_latency() -> None:
    side = {
        "path": "x",
        "engine": None,
        "searches": ["1"],
        "values": [1000],
        "median": 1000,
        "brackets": [[1000, 1100]],
    }
    page = unlinked(render(comparison(measure="capacity, records/s", a=side, b=side, interval=[None, None])))
    assert "B : A = 1.194 (capacity, records/s; above 1, B is worse)." in page
    assert "Latency distribution" not in page


def test_a_directory_in_the_pages_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the page cannot be written"):
        write_comparison(comparison(), tmp_path)
    target = write_comparison(comparison(), tmp_path / "new" / "page.html")
    assert target.read_text(encoding="utf-8") == render(comparison())
