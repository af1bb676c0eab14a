"""Which values of a scenario can be searched, and in which direction they become harder."""

from __future__ import annotations

from typing import Any

import pytest

from streamgauge.errors import UsageError
from streamgauge.model import Scenario
from streamgauge.search_axis import SearchAxis
from streamgauge.studies import scenario as scenarios
from streamgauge.studies.search_axis import axis_of, bound_on, limits_on, value_on, with_value


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


@pytest.mark.parametrize("name", ["seed", "broker_port", "warmup_s", "quiet_s", "stage", "realtime", "nothing"])
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


def test_a_direction_that_was_asked_for_wins() -> None:
    assert axis_of("cores", resolved(), "more").more_is_harder
    assert not axis_of("rate_per_s", resolved(), "less").more_is_harder


@pytest.mark.parametrize(("short", "name"), [("heap", "heap_mb"), ("rate", "rate_per_s"), ("trigger", "trigger_ms")])
def test_the_unit_of_a_name_may_be_left_out(short: str, name: str) -> None:
    assert axis_of(short, resolved()) == axis_of(name, resolved())


def test_load_workers_cannot_be_searched_and_the_message_names_what_can() -> None:
    with pytest.raises(UsageError, match=r"number of load workers(.|\n)*--over rate_per_s"):
        axis_of("generators", resolved())


def test_fractions_can_be_searched_where_the_field_takes_them() -> None:
    scenario = scenarios.resolve("sustainable/join", engine="flink")
    axis = axis_of("selectivity_percent", scenario)
    assert (axis.whole, axis.harder) == (False, "more")
    assert limits_on(axis, scenario) == (0, 100)
    assert value_on(axis, with_value(axis, scenario, 2.5)) == 2.5
    assert axis_of("slide", scenario).harder == "less"
    assert value_on(axis_of("slide_s", scenario), scenario) == 4


@pytest.mark.parametrize(
    ("name", "text", "value"), [("rate_per_s", "10k/s", 10_000), ("heap_mb", "2g", 2048), ("partitions", "7", 7)]
)
def test_a_bound_is_typed_as_any_setting(name: str, text: str, value: int) -> None:
    assert bound_on(axis_of(name, resolved()), resolved(), text, "--to") == value


@pytest.mark.parametrize(
    ("name", "text"),
    [("partitions", "1001"), ("partitions", "1.5"), ("partitions", "many"), ("rate_per_s", "0"), ("heap_mb", "1")],
)
def test_a_bound_that_is_refused_is_named_as_it_was_typed(name: str, text: str) -> None:
    with pytest.raises(UsageError, match=f"--to {text}"):
        bound_on(axis_of(name, resolved()), resolved(), text, "--to")
