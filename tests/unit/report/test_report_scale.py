"""The page of a scale."""

from __future__ import annotations

from typing import Any

import pytest
from pages import section, unlinked

from streamgauge.model.scale import Scale
from streamgauge.report.scale import capacity_against_option, headline, render


def point(value: float, best: int | None, beyond: int | None, **changes: Any) -> dict[str, Any]:
    return {
        "directory": f"instances-{value:g}",
        "outcome": "found",
        "interval": [best, beyond],
        "confirmed": True,
        "validated": True,
        "note": "",
        "best_latency_ms": {"p50": 12.0, "p99": 40.0},
        "guess": 1010,
        "seconds": 60.0,
        "value": value,
        "limited_by": "engine",
        "efficiency": 1.0,
        **changes,
    }


CEILING = point(
    8,
    60,
    None,
    outcome="ceiling",
    limited_by="generator",
    efficiency=0.75,
    note="at least 60 (the generator's ceiling)",
)
REGRESSION = {
    "points": 3,
    "slope": 73 / 7,
    "intercept": -1.0,
    "slope_interval": [4.14, 16.72],
    "intercept_interval": [-17.6, 15.6],
    "r_squared": 0.998,
}


def scale(**changes: Any) -> Scale:
    content = {
        "format": 1,
        "scenario": "ospbench/throughput",
        "engine": "kafka-streams",
        "rule": "slope",
        "slo": [],
        "resolution": 0.1,
        "over": "rate_per_s",
        "harder": "more",
        "unit": "records/s",
        "against": "instances",
        "values": [1, 2, 4, 8],
        "state": "finished",
        "points": [point(1, 10, 11), point(2, 19, 20, efficiency=0.95), point(4, 41, 45, efficiency=1.025), CEILING],
        "regression": REGRESSION,
        "notes": ["instances 8: the generator was the limit, not the engine: the capacity is at least 60 records/s"],
        "seconds": 240.0,
        "settings": {"stage": "parse", "profile": "laptop", "options": {"heap_mb": 512}},
    }
    return Scale.model_validate({**content, **changes})


def test_the_answer_comes_first_then_points_line_and_searches() -> None:
    page = unlinked(render(scale()))
    words = "each further unit of instances adds 10.4 records/s (95 % interval 4.14 to 16.7, 3 points)"
    assert page.index(words) < page.index("the generator was the limit, not the engine") < page.index("<figure")
    table = section(page, "searches")
    for text in (
        "19 records/s sustained, 20 not (confirmed, validated)",
        "95 %",
        "≥ 75 %",
        "generator, not the engine",
    ):
        assert text in table
    assert "./instances-8/report.html" in page
    assert "heap 512 MB" in page
    assert "https://" not in page.split("<script", 1)[0]
    assert render(scale()) == render(scale())


@pytest.mark.parametrize(
    ("against", "options", "shown"),
    [
        ("instances", {"heap_mb": 512, "instance_memory_mb": 0}, "heap 512 MB"),
        ("instances", {"heap_mb": 512, "instance_memory_mb": 1024}, "heap 512 MB · memory limit 1,024 MB"),
        ("workers", {"heap_mb": 2048, "worker_memory_mb": 1536}, "heap 1,536 MB"),
        ("worker_memory_mb", {"heap_mb": 2048, "workers": 2, "instance_memory_mb": 4096}, "memory limit 4,096 MB"),
        ("cores", {"heap_mb": 1024, "worker_memory_mb": 0}, "heap 1,024 MB"),
        ("cores", {}, ""),
    ],
)
def test_the_page_shows_the_memory_of_an_instance(against: str, options: dict[str, int], shown: str) -> None:
    """On Spark, ``heap_mb`` is the heap of the driver."""
    settings = {"stage": "parse", "profile": "laptop", "options": options}
    page = " ".join(unlinked(render(scale(against=against, settings=settings))).split())
    assert f"resolution 10 %{' · ' if shown else ''}{shown}</p>" in page


def test_the_figure_has_the_interval_the_line_the_points_and_bounds_apart() -> None:
    drawn = capacity_against_option(scale())
    assert drawn is not None
    band, line, edges, bounds = drawn["data"]
    assert (edges["x"], edges["y"]) == ([1, 2, 4], [10, 19, 41])
    assert (bounds["x"], bounds["y"], bounds["marker"]["symbol"]) == ([8], [60], "triangle-up-open")
    assert line["y"] == pytest.approx([73 / 7 - 1, 8 * 73 / 7 - 1]), "the bound has not moved it"
    assert band["x"][0] == band["x"][-1] == 1
    # By hand: 73/7 - 1 ± 12.7062 × sqrt(8/7 × (1/3 + (1 - 7/3)² / (14/3))).
    assert (band["y"][0], band["y"][-1]) == pytest.approx((20.909, -2.052), abs=0.001)


def test_without_a_point_there_is_no_figure() -> None:
    empty = scale(points=[], regression=None, state="unfinished", notes=[])
    assert capacity_against_option(empty) is None
    assert "no search has found a sustained value" in unlinked(render(empty))


@pytest.mark.parametrize(
    ("changes", "word", "says"),
    [
        ({"state": "unfinished"}, "UNFINISHED", "4 of 4 searches"),
        ({"points": [point(1, None, 1, outcome="missed")]}, "MISSED", "nothing is sustained at instances 1"),
        ({"points": [point(1, None, None, outcome="invalid")]}, "INVALID", "cannot be trusted at instances 1"),
        ({"points": [point(2, None, None, outcome=None, note="it died")]}, "FAILED", "failed at instances 2"),
        ({"regression": None}, "FOUND", "no line: the engine was the limit at fewer than two values"),
        ({"regression": {**REGRESSION, "slope_interval": None}}, "FOUND", "two points: no interval"),
    ],
)
def test_every_way_to_end_has_its_words(changes: dict[str, Any], word: str, says: str) -> None:
    assert headline(scale(**changes))[0] == word
    assert says in headline(scale(**changes))[1]
    assert word in render(scale(**changes))
