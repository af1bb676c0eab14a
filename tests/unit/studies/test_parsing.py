"""Values as people write them, read by the field that they belong to."""

from __future__ import annotations

from typing import Any

import pytest

from streamgauge.errors import UsageError
from streamgauge.studies import parsing
from streamgauge.studies import scenario as scenarios


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1m30s", 90), ("1h 5m", 3900), ("2 min", 120), ("1.5m", 90), ("1_000", 1000), ("1d", 86_400), ("1s500ms", 1.5)],
)
def test_durations(text: str, seconds: float) -> None:
    assert parsing.parse_duration_s(text, "--for") == seconds


@pytest.mark.parametrize("text", ["", "s", "1x", "30s1m", "1s2s", "-1s", "1m30", "1,5s"])
def test_what_is_not_a_duration(text: str) -> None:
    with pytest.raises(UsageError, match=r"invalid --for .*: expected a duration, such as 30s, 1m30s or 500ms"):
        parsing.parse_duration_s(text, "--for")


@pytest.mark.parametrize(
    ("text", "rate"), [("10k", 10_000), ("1.5k/s", 1500), ("1_000", 1000), ("400/min", 7), ("2M", 2_000_000)]
)
def test_rates(text: str, rate: int) -> None:
    assert parsing.parse_rate_per_s(text) == rate
    scenario = scenarios.resolve("ospbench/latency", engine="echo", changes={"rate_per_s": text})
    assert scenario.load.rate_per_s == rate, "with --set too"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        *(("realtime", text, True) for text in ("true", "True", "YES", "on", "1")),
        *(("realtime", text, False) for text in ("false", "False", "no", "OFF", "0")),
        ("cores", "1_0", 10),
        ("heap_mb", "2g", 2048),
        ("heap_mb", "512MB", 512),
        ("trigger_ms", "1.5s", 1500),
        ("trigger_ms", "200", 200),
        ("batch_records", "10k", 10_000),
        ("gc", "'G1'", "G1"),
        ("spark.sql.shuffle.partitions", "1_0", "1_0"),
        ("spark.ui.enabled", "True", "True"),
    ],
)
def test_options_of_an_engine(key: str, text: str, value: Any) -> None:
    options = scenarios.resolve("ospbench/latency", changes={key: text}).engine_options
    assert (options | options["conf"])[key] == value


def test_values_of_a_scenario() -> None:
    changes = {"rate_per_s": "600/min", "measured_s": "1m30s", "warmup_s": "500ms", "rising_warmup": "yes"}
    load = scenarios.resolve("ospbench/latency", changes=changes).load
    assert (load.rate_per_s, load.measured_s, load.warmup_s, load.rising_warmup) == (10, 90.0, 0.5, True)
    for steps in ("[400, 800]", "400,800", "400/s, 0.8k"):
        changed = scenarios.resolve("ospbench/latency", changes={"shape": "steps", "steps_per_s": steps})
        assert changed.load.steps_per_s == (400, 800)


def test_a_text_that_looks_like_a_number_stays_a_text() -> None:
    changes = {"program": "grep", "pattern": "2006"}
    assert scenarios.resolve("streambench/performance", changes=changes).parameters["pattern"] == "2006"


def test_the_same_value_twice_is_no_conflict() -> None:
    assert parsing.parse_changes(["cores=2", "cores=2"]) == {"cores": "2"}
    given = [parsing.Setting("rate_per_s", "400", "--rate 24000/min"), parsing.parse_setting("rate_per_s=0.4k/s")]
    assert parsing.gather(given)["rate_per_s"].text == "400"
    assert parsing.parse_changes(["realtime=yes", "realtime=true"]) == {"realtime": "yes"}


def test_two_values_are_refused_with_both_named() -> None:
    with pytest.raises(UsageError, match="--set cores=2 and --set cores=4 conflict"):
        parsing.parse_changes(["cores=2", "cores=4"])
    with pytest.raises(UsageError, match="--set realtime=yes and --set realtime=off conflict"):
        parsing.parse_changes(["realtime=yes", "realtime=off"])


@pytest.mark.parametrize("text", [str(10**400), "9" * 5000, "nan", "inf"])
def test_numbers_that_no_field_can_hold(text: str) -> None:
    with pytest.raises(UsageError, match="invalid --set seed="):
        scenarios.resolve("ospbench/latency", engine="echo", changes={"seed": text})


def test_a_value_given_twice_is_no_conflict() -> None:
    assert parsing.parse_changes(["quiet_s=nan", "quiet_s=nan"]) == {"quiet_s": "nan"}
