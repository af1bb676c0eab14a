"""Which values of a scenario can be searched, and in which direction they become harder."""

from __future__ import annotations

from typing import Any

import pytest

from streamgauge.errors import UsageError
from streamgauge.model import Scenario
from streamgauge.search_axis import SearchAxis
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.search_axis import axis_of, value_on, with_value


def resolved(engine: str = "spark", stage: str = "parse") -> Scenario:
    return scenarios.resolve("ospbench/throughput", engine=engine, changes={"stage": stage}, slo=["latency.p99 < 2s"])


@pytest.mark.parametrize(
    ("name", "stage", "harder", "unit"),
    [
        ("rate_per_s", "parse", "more", "records/s"),
        ("out_of_order_ms", "join", "more", "out_of_order_ms"),
        ("join_bound_ms", "join", "more", "join_bound_ms"),
        ("partitions", "parse", "less", "partitions"),
        ("cores", "parse", "less", "cores"),
    ],
)
def test_the_direction_is_declared_with_the_value(name: str, stage: str, harder: str, unit: str) -> None:
    axis = axis_of(name, resolved(stage=stage))
    assert (axis.harder, axis.unit, axis.more_is_harder) == (harder, unit, harder == "more")


@pytest.mark.parametrize("name", ["seed", "broker_port", "generators", "warmup_s", "stage", "realtime", "nothing"])
def test_values_that_cannot_be_searched(name: str) -> None:
    with pytest.raises(UsageError, match="unknown --over"):
        axis_of(name, resolved())


@pytest.mark.parametrize(
    ("name", "stage"), [("rate_per_s", "join"), ("join_bound_ms", "join"), ("partitions", "parse"), ("cores", "parse")]
)
def test_a_value_is_set_as_on_the_command_line(name: str, stage: str) -> None:
    scenario = resolved(stage=stage)
    axis = axis_of(name, scenario)
    changed = with_value(axis, scenario, 7)
    assert value_on(axis, changed) == 7
    asked: dict[str, Any] = {"engine": "spark", "slo": scenario.slo}
    assert changed == scenarios.resolve("ospbench/throughput", changes={"stage": stage, name: "7"}, **asked)


def test_a_value_out_of_bounds_is_refused() -> None:
    with pytest.raises(UsageError, match="partitions"):
        with_value(axis_of("partitions", resolved()), resolved(), 1001)


@pytest.mark.parametrize(
    ("content", "harder"),
    [
        ({"over": "rate_per_s"}, "more"),
        ({"over": "cores"}, "less"),
        ({}, "more"),
        ({"over": "out_of_order_ms", "harder": "more"}, "more"),
    ],
)
def test_the_direction_comes_from_the_file_or_an_early_default(content: dict[str, Any], harder: str) -> None:
    assert SearchAxis.of_settings(content).harder == harder
