"""The command of a run recreates its scenario, even if defaults change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from parsed_commands import request_of_command
from user_scenarios import needed

from streamgauge import registry
from streamgauge.engines.spark import Spark, SparkOptions
from streamgauge.errors import Unsupported
from streamgauge.measure.faults import parse as parse_fault
from streamgauge.measure.plan import Request
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.pinned import pinned
from streamgauge.studies.scenario import PROFILES, Values

OUT = Path("runs/again")


def every_scenario() -> list[tuple[str, str, str]]:
    return [
        (name, profile, engine)
        for name in scenarios.names()
        for profile in PROFILES
        for engine in registry.names("engines")
    ]


@pytest.mark.parametrize(("name", "profile", "engine"), every_scenario())
def test_the_command_of_every_scenario_recreates_it(name: str, profile: str, engine: str) -> None:
    described = scenarios.describe(name)
    for chosen, workload in described.workloads.items():
        changes = {described.choice: chosen, "seed": "7", **needed(workload)}
        try:
            resolved = scenarios.resolve(name, profile=profile, engine=engine, changes=changes)
        except Unsupported:
            continue
        settings = pinned(resolved)
        options = registry.engine(engine).options.model_fields
        parameters = registry.workload(workload).parameters.model_fields
        assert set(settings) == {described.choice, *Values.model_fields, *parameters, *options} - {"engine"}
        assert request_of_command(Request(resolved, OUT).command, OUT).scenario == resolved


@pytest.mark.parametrize(
    ("engine", "changes"),
    [
        ("echo", {"shape": "steps", "steps_per_s": "[100, 200]", "delay_ms": "0.1", "arrivals": "poisson"}),
        ("echo", {"shape": "periodic-burst", "burst_records": "50", "burst_s": "0.05", "burst_every_s": "10"}),
        ("echo", {"sustained": "none", "keys": "zipf", "generators": "3", "warmup_s": "1e-05", "broker_port": "4242"}),
        ("spark", {"spark.sql.x": "1e3", "spark.y": "true", "spark.z": "  two  words ", "realtime": "true"}),
        ("spark", {"spark.a": '"quo\\"te \\u007f ü"', "spark.b": "2020-01-01", "master": "spark://127.0.0.1:7077"}),
        ("spark", {"conf": '{"spark.c" = "", "spark.d" = "{e}"}', "trigger_ms": "500"}),
        ("flink", {"state.backend.incremental": "true", "checkpoint_ms": "200"}),
        ("kafka-streams", {"max.poll.records": "10"}),
        ("command", {"delivery": "exactly-once", "ready_timeout_s": "12.5"}),
    ],
)
def test_unusual_values_survive_a_round_trip(engine: str, changes: dict[str, str]) -> None:
    resolved = scenarios.resolve("ospbench/latency", engine=engine, changes=changes, slo=["latency.p99 < 2s"])
    resolved = replace(resolved, faults=(parse_fault("kill load at 50%"),))
    request = Request(resolved, OUT, program=("cat", "two words", "--out") if engine == "command" else ())
    again = request_of_command(request.command, OUT)
    assert again.scenario == resolved
    assert again == request


def test_a_change_of_defaults_does_not_change_the_repeated_run(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = Request(scenarios.resolve("ospbench/latency", engine="spark"), OUT)
    before = scenarios.profile_values

    def changed(name: str, profile: str) -> dict[str, Any]:
        values = before(name, profile)
        if profile == "paper":
            return values
        other = {"rate_per_s": 1, "warmup_s": 99.0, "partitions": 7, "keys": "one", "seed": 99, "sustained": "none"}
        return {**values, **other, "stage": "parse", "drain_deadline_s": 1.0, "generators": 5}

    class OtherOptions(SparkOptions):
        realtime_batch_ms: int = 6000

    monkeypatch.setattr(scenarios, "profile_values", changed)
    monkeypatch.setattr(Spark, "options", OtherOptions)
    resolved = scenarios.resolve("ospbench/latency")
    assert (resolved.engine_options["realtime_batch_ms"], resolved.partitions) == (6000, 7)
    assert request_of_command(wanted.command, OUT).scenario == wanted.scenario
