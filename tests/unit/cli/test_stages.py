"""``--set stage=all``: which runs it becomes, and how they end together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from written_runs import summary

from streamgauge.cli.stages import Stages, build_stages, first_that_applies, line
from streamgauge.engines.echo import Echo
from streamgauge.errors import UsageError


def stages(scenario: str = "ospbench/latency", *settings: str, **given: Any) -> Stages:
    return build_stages(**{"scenario": scenario, "settings": list(settings), "engine": "spark", "out": None, **given})


def test_one_request_for_each_stage(tmp_path: Path) -> None:
    requests = stages("ospbench/latency", "stage=all", "cores=1", out=tmp_path)
    assert list(requests.requests) == ["ingest", "parse", "join", "tumbling", "sliding"]
    assert requests.lacking == {}
    for stage, request in requests.requests.items():
        assert request.scenario.chosen == stage
        assert request.scenario.engine_options["cores"] == 1
        assert request.out == tmp_path / stage
        assert f"--set stage={stage}" in request.command


def test_stages_that_the_engine_lacks_are_named() -> None:
    requests = stages("ospbench/latency", "stage=all", engine="echo")
    assert list(requests.requests) == ["ingest", "parse"]
    assert set(requests.lacking) == {"join", "tumbling", "sliding"}
    assert all(requests.lacking.values())
    assert requests.choice == "stage"
    (out,) = {request.out.parent for request in requests.requests.values()}
    assert out == requests.out


def test_they_are_called_as_the_scenario_calls_them() -> None:
    requests = stages("streambench/performance", "program=all", engine="echo")
    assert (requests.choice, list(requests.requests)) == ("program", ["identity", "sink"])
    with pytest.raises(UsageError, match="--set program=all conflict"):
        stages("streambench/performance", "program=all", script=Path("my.py"))


def test_a_single_stage_is_an_ordinary_run(tmp_path: Path) -> None:
    requests = stages("ospbench/latency", "stage=parse", out=tmp_path)
    assert requests.out is None
    assert requests.requests["parse"].out == tmp_path


def test_ways_to_ask_wrongly(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="--set stage=all conflict"):
        stages("ospbench/latency", "stage=all", script=Path("my.py"))
    with pytest.raises(UsageError, match="unknown setting: --set corse=1; did you mean 'cores'"):
        stages("ospbench/latency", "stage=all", "corse=1")
    monkeypatch.setattr(Echo, "traits", replace(Echo.traits, workloads=frozenset()))
    with pytest.raises(UsageError, match="runs no stage"):
        stages("ospbench/latency", "stage=all", engine="echo")


def test_the_first_exit_code_that_applies() -> None:
    assert first_that_applies([0, 0]) == 0
    assert first_that_applies([0, 1]) == 1
    assert first_that_applies([1, 4, 0]) == 4
    assert first_that_applies([1, 4, 3]) == 3


def test_a_line_for_each_stage() -> None:
    latencies = {"total": {"p50": 12.34, "p99": 1234.5}, "latest": {"p50": 9, "p99": None}}
    text = line(summary(latency_ms=latencies))
    assert text == "VALID, end-to-end latency p50 12.3, p99 1,234.5; processing latency p50 9.0, p99 – ms"
