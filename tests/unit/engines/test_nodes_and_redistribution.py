"""Which processes are nodes, and the option ``redistribute``."""

from __future__ import annotations

from typing import Any

import pytest
from engine_jobs import make_job

from streamgauge import registry
from streamgauge.engines.spark.workloads import streambench
from streamgauge.errors import Unsupported, UsageError
from streamgauge.studies import scenario as scenarios

PROGRAMS = ("identity", "sample", "projection", "grep", "wordcount", "distinctcount", "statistics", "sink")


@pytest.mark.parametrize(
    ("engine", "options", "nodes"),
    [
        ("spark", {"cluster": "standalone", "workers": 3}, ["worker-1", "worker-2", "worker-3"]),
        ("spark", {}, ["engine-jvm"]),
        ("spark", {"master": "spark://h:7077"}, []),
        ("flink", {"taskmanagers": 2, "spare": 1}, ["taskmanager-1", "taskmanager-2"]),
        ("kafka-streams", {"instances": 2}, ["streams-1", "streams-2"]),
        ("echo", {}, ["engine"]),
    ],
)
def test_nodes(engine: str, options: dict[str, Any], nodes: list[str]) -> None:
    plan = registry.engine(engine).plan(make_job(engine, options, ports=(7077, 8080)))
    assert [spec.role for spec in plan if spec.node] == nodes


@pytest.mark.parametrize("engine", ["spark", "flink"])
def test_only_programs_that_redistribute_take_the_option(engine: str) -> None:
    changes = {"redistribute": "true"}
    scenarios.resolve("streambench/performance", engine=engine, changes={**changes, "program": "wordcount"})
    with pytest.raises(Unsupported, match="does not redistribute"):
        scenarios.resolve("ospbench/latency", engine=engine, changes={**changes, "stage": "ingest"})
    traits = registry.engine(engine).traits
    (limit,) = (limit for limit in traits.limits if limit.options == {"redistribute": True})
    assert traits.workloads - limit.workloads == {f"streambench/{program}" for program in PROGRAMS}


@pytest.mark.parametrize("program", PROGRAMS)
def test_not_in_real_time_mode(program: str) -> None:
    options = {"redistribute": True, "realtime": True}
    limits = registry.engine("spark").traits.limits
    assert any(limit.applies(f"streambench/{program}", options) for limit in limits if "redistribute" in limit.options)


def test_a_script_spreads_records_itself() -> None:
    job = make_job("spark", {"redistribute": True}, script={"path": "mine.py", "copy": "/run/script.py"}, ports=(1, 2))
    with pytest.raises(UsageError, match="redistribute=true and a script conflict"):
        registry.engine("spark").plan(job)


def test_only_flink_takes_records_out_of_their_order() -> None:
    """Spark publishes what whole batches add up to."""
    for redistribute in (True, False):
        flink, spark = (
            engine.keeps_order(engine.options.model_validate({"redistribute": redistribute}).model_dump())
            for engine in (registry.engine("flink"), registry.engine("spark"))
        )
        assert (flink, spark) == (not redistribute, True)


class Frame:
    """Notes what is called on it."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Frame:
            self.calls.append((name, arguments))
            return self

        return call


@pytest.mark.parametrize(
    ("options", "calls"),
    [
        ({}, [("select", ("key", "value"))]),
        ({"redistribute": True, "cores": 3}, [("select", ("key", "value")), ("repartition", (3,))]),
        (
            {"redistribute": True, "cluster": "standalone", "workers": 2, "worker_cores": 2},
            [("select", ("key", "value")), ("repartition", (4,))],
        ),
    ],
)
def test_records_are_spread_over_all_slots(
    options: dict[str, Any], calls: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = Frame()
    monkeypatch.setattr(streambench, "read", lambda spark, job: frame)
    spark: Any = None
    streambench.identity(spark, {"options": make_job("spark", options).options})
    assert frame.calls == calls
