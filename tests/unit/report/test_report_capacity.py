"""The page of a capacity search."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pages import unlinked

from streamgauge.model.capacity import Capacity
from streamgauge.report.capacity import headline, latency_against_value, render, write_capacity


def probe(value: int, verdict: str, p50: float | None, **changes: Any) -> dict[str, Any]:
    return {
        "value": value,
        "rate": value,
        "purpose": "bracket",
        "verdict": verdict,
        "reason": "",
        "weak": False,
        "seconds": 60.0,
        "seconds_saved": 0.0,
        "directory": f"probes/01-{value}",
        "total_p50": p50,
        "total_p99": None if p50 is None else 3 * p50,
        **changes,
    }


def content(**changes: Any) -> dict[str, Any]:
    return {
        "format": 1,
        "scenario": "ospbench/throughput",
        "engine": "echo",
        "rule": "slope",
        "slo": ["latency.p99 < 2s"],
        "resolution": 0.1,
        "over": "rate_per_s",
        "unit": "records/s",
        "outcome": "found",
        "interval": [1000, 1100],
        "confirmed": True,
        "note": "",
        "best_latency_ms": {"p50": 12.0, "p99": 40.0},
        "guess": 1010,
        "probes": [
            probe(918, "sustained", 10.0),
            probe(1111, "not sustained", 900.0, reason="overloaded: <b>the backlog grew</b>"),
            probe(2000, "not sustained", None, seconds_saved=21.0),
            probe(1000, "sustained", 12.0, weak=True),
        ],
        "seconds": 240.0,
        "seconds_saved": 21.0,
        "settings": {"stage": "parse", "profile": "laptop"},
        **changes,
    }


def capacity(**changes: Any) -> Capacity:
    return Capacity.model_validate(content(**changes))


def test_the_answer_comes_first_and_every_probe_is_there() -> None:
    page = unlinked(render(capacity()))
    assert page.index("1,000 records/s sustained, 1,100 not (confirmed)") < page.index(
        "End-to-end latency of each probe"
    )
    for text in ("918", "1,111", "2,000", "sustained (weak)", "saved 21 s of load", "p50 12.0 ms"):
        assert text in page
    assert "<b>the backlog grew</b>" not in page
    assert "https://" not in page.split("<script", 1)[0]


@pytest.mark.parametrize(("settings", "words"), [({}, "stage parse"), ({"choice": "program"}, "program parse")])
def test_the_choice_is_called_as_the_scenario_calls_it(settings: dict[str, str], words: str) -> None:
    page = unlinked(render(capacity(settings={"stage": "parse", "profile": "laptop", **settings})))
    assert f"ospbench/throughput, {words} · profile laptop" in page


def test_the_page_says_where_another_rule_decided() -> None:
    assert "in the place of" not in unlinked(render(capacity()))
    probes = [probe(918, "sustained", 10.0, rule="slope"), probe(1000, "sustained", 10.0)]
    page = unlinked(render(capacity(rule="scalability", probes=probes)))
    assert "The rule slope decided 1 of 2 probes in the place of scalability" in page


def test_an_invalid_probe_is_listed_with_reason_and_figures() -> None:
    spoilt = probe(950, "invalid", 77.7, reason="generator: a record was 327 ms late", directory="probes/02-950")
    page = unlinked(render(capacity(probes=[spoilt, probe(950, "sustained", 10.0)])))
    (listed,) = [part for part in page.split("<tr>") if "probes/02-950" in part]
    for text in ("invalid", "77.7", "233.1", "generator: a record was 327 ms late"):
        assert text in listed


def test_the_figure_shows_probes_in_order_and_shades_what_is_not_sustained() -> None:
    drawn = latency_against_value(capacity())
    assert drawn is not None
    p50, p99, zone_name = drawn["data"]
    assert zone_name["name"] == "not sustained"
    assert p50["x"] == [918, 1000, 1111]
    assert p50["y"] == [10.0, 12.0, 900.0]
    assert p99["y"] == [30.0, 36.0, 2700.0]
    assert p50["marker"]["symbol"] == ["circle", "circle", "x"]
    (zone,) = drawn["layout"]["shapes"]
    assert zone["x0"] == 1100
    assert zone["x1"] > 2000
    assert drawn["layout"]["xaxis"]["type"] == drawn["layout"]["yaxis"]["type"] == "log"


def test_less_of_a_resource_is_shaded_on_the_other_side() -> None:
    probes = [probe(4, "sustained", 10.0), probe(2, "not sustained", 500.0)]
    drawn = latency_against_value(capacity(over="cores", unit="cores", interval=[4, 2], probes=probes))
    assert drawn is not None
    (zone,) = drawn["layout"]["shapes"]
    assert zone["x0"] < 2 == zone["x1"]


def test_without_a_probe_that_came_to_its_end_there_is_no_figure() -> None:
    assert latency_against_value(capacity(probes=[probe(5, "not sustained", None)])) is None
    assert "no probe came to its end" in unlinked(render(capacity(probes=[])))


@pytest.mark.parametrize(
    ("changes", "word", "says"),
    [
        ({"outcome": "ceiling", "interval": [900, None]}, "FOUND", "at least 900 records/s"),
        ({"outcome": "missed", "interval": [None, 1], "best_latency_ms": None}, "MISSED", "not even 1 records/s"),
        ({"outcome": "invalid", "interval": [None, None], "best_latency_ms": None}, "INVALID", "cannot be trusted"),
        ({"outcome": None, "interval": [None, None], "best_latency_ms": None}, "UNFINISHED", "not come to its end"),
        (
            {"outcome": None, "interval": [None, None], "note": "9 results were lost"},
            "FAILED",
            "system under test failed",
        ),
        ({"confirmed": False}, "FOUND", "not confirmed"),
        ({"validated": True}, "FOUND", "1,100 not (confirmed, validated)"),
        ({"validated": False}, "FOUND", "1,100 not (confirmed, unvalidated: no reference)"),
    ],
)
def test_every_way_to_end_has_its_words(changes: dict[str, Any], word: str, says: str) -> None:
    words = headline(capacity(**changes))
    assert words[0] == word
    assert says in words[1]
    assert word in render(capacity(**changes))


def test_the_page_is_written_beside_the_file(tmp_path: Path) -> None:
    (tmp_path / "capacity.json").write_text(json.dumps(content()))
    assert write_capacity(tmp_path) == tmp_path / "report.html"
    first = (tmp_path / "report.html").read_bytes()
    write_capacity(tmp_path)
    assert (tmp_path / "report.html").read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["capacity.json", "report.html"]
