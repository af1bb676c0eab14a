"""``list``: one line each, then everything that can be set of one of them; ``--json`` says the same to programs."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from streamgauge import registry
from streamgauge.cli.main import app
from streamgauge.errors import UsageError
from streamgauge.studies import scenario as scenarios


def listed(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["list", *arguments], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def described(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(listed(name, "--json"))
    return content


def test_one_line_for_each_scenario_engine_and_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    lines = listed().splitlines()
    for name in (*scenarios.names(), *registry.names("engines"), *registry.names("studies")):
        assert sum(line.startswith(f"  {name} ") for line in lines) == 1, name
    assert (
        len(lines) == 3 + len(scenarios.names()) + len(registry.names("engines")) + len(registry.names("studies")) + 2
    )
    assert max(map(len, lines)) <= 80


def test_everything_can_be_described() -> None:
    kinds = {"scenario": scenarios.names()} | {
        kind: registry.names(plural)
        for kind, plural in (("engine", "engines"), ("study", "studies"), ("workload", "workloads"))
    }
    for kind, names in kinds.items():
        for name in names:
            content = described(name)
            assert (content["format"], content["kind"], content["name"]) == (1, kind, name)
            assert content["title"] in " ".join(listed(name).split())


def test_a_scenario_shows_only_what_matters_for_it() -> None:
    constant = {value["key"] for value in described("ospbench/latency")["values"]}
    assert "rate_per_s" in constant and not {"burst_s", "records", "steps_per_s"} & constant
    burst = {value["key"] for value in described("ospbench/periodic-burst")["values"]}
    assert {"burst_s", "burst_records", "burst_every_s"} <= burst
    preloaded = {value["key"] for value in described("streambench/performance")["values"]}
    assert "records" in preloaded and not {"rate_per_s", "warmup_s", "measured_s"} & preloaded


def test_a_scenario_shows_what_it_sets_of_an_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    shown = " ".join(listed("ospbench/throughput").split())
    assert "spark trigger_ms = 2000 (paper: default), state_store = memory, gc = Parallel (paper: default)," in shown
    assert "heap_mb = 3072 (paper: 6144)" in shown
    assert "options of the engines" not in listed("yours/program")


def test_a_key_that_differs_between_programs_is_shown_for_each() -> None:
    content = described("streambench/performance")
    fields = {tuple(value["applies_to"]): value["laptop"] for value in content["parameters"] if value["key"] == "field"}
    assert fields == {("projection", "wordcount"): 1, ("distinctcount",): 0, ("statistics",): 1}
    assert "field = 0 (distinctcount): field to use: 0 = user id" in " ".join(listed("streambench/performance").split())


def test_an_engine_shows_what_it_does_not_run() -> None:
    assert described("echo")["does_not_run"]["traffic/join"] == "it copies records and keeps no state"
    assert "traffic/join, traffic/tumbling, traffic/sliding" in " ".join(listed("echo").split())
    assert "traffic/join" in described("spark")["runs"]


def test_a_study_says_whether_it_can_be_reproduced() -> None:
    states = {row["name"]: row["state"] for row in json.loads(listed("--json"))["studies"]}
    assert states["ospbench"] == "reproducible" and states["streambench"] == "reproducible"


def test_an_unknown_name_gets_the_nearest_ones() -> None:
    done = CliRunner().invoke(app, ["list", "ospbench/latancy"])
    assert isinstance(done.exception, UsageError)
    assert "did you mean ospbench/latency" in done.exception.message()
