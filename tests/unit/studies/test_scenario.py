import pytest

from streamgauge.errors import UsageError
from streamgauge.studies import parsing
from streamgauge.studies import scenario as scenarios


def test_the_laptop_is_the_default() -> None:
    resolved = scenarios.resolve("ospbench/latency")
    assert (resolved.profile, resolved.engine, resolved.chosen) == ("laptop", "spark", "ingest")
    assert (resolved.load.rate_per_s, resolved.load.warmup_s, resolved.load.measured_s) == (400, 40.0, 30.0)
    assert resolved.load.tail_s == pytest.approx(0.5)
    assert resolved.scaled["measured_s"] == (30.0, 1500.0)
    assert "rate_per_s" not in resolved.scaled


def test_the_tail_is_long_enough_at_the_rate_with_which_the_load_ends() -> None:
    """A watermark follows the newest record of each of two streams."""
    steps = {"stage": "tumbling", "shape": "steps", "steps_per_s": "[400, 1]"}
    ramp = {"stage": "tumbling", "shape": "ramp", "to_per_s": "1"}
    constant = scenarios.resolve("ospbench/latency", changes={"stage": "tumbling"})
    for changes in (steps, ramp):
        changed = scenarios.resolve("ospbench/latency", changes=changes)
        assert changed.load.tail_s - constant.load.tail_s == pytest.approx(2 / 1 - 2 / 400)


def test_the_paper_keeps_its_parameters() -> None:
    resolved = scenarios.resolve("ospbench/latency", profile="paper")
    assert resolved.load.warmup_s + resolved.load.measured_s == 30 * 60
    assert resolved.partitions == 20
    assert scenarios.resolve("ospbench/latency", profile="paper", changes={"stage": "join"}).parameters == {
        "keys": "dataset",
        "out_of_order_ms": 50,
        "join_bound_ms": 1000,
    }
    assert resolved.engine_options["cores"] == 20
    assert resolved.scaled == {}


def test_every_value_can_be_set() -> None:
    changes = {
        "rate_per_s": "1000",
        "warmup_s": "3",
        "measured_s": "7.5",
        "partitions": "4",
        "drain_deadline_s": "20",
        "quiet_s": "2",
        "sustained": "none",
        "seed": "9",
        "broker_port": "12345",
        "shape": "periodic-burst",
        "arrivals": "poisson",
        "burst_records": "100",
        "burst_s": "0.5",
        "burst_every_s": "3",
        "generators": "2",
        "slice_s": "30",
        "transport": "kafka",
        "queue_s": "12.5",
    }
    others = {"steps_per_s": "[100, 200]", "to_per_s": "50", "rising_warmup": "true", "records": "5"}
    assert {*changes, *others, "engine"} == set(scenarios.Values.model_fields)
    of_workload = {"stage": "parse", "keys": "zipf"}
    resolved = scenarios.resolve("ospbench/latency", engine="echo", changes={**changes, **of_workload})
    assert (resolved.chosen, resolved.load.rate_per_s, resolved.load.warmup_s, resolved.load.measured_s) == (
        "parse",
        1000,
        3,
        7.5,
    )
    assert (resolved.partitions, resolved.seed, resolved.broker_port, resolved.sustained) == (4, 9, 12345, None)
    assert (resolved.load.shape, resolved.load.arrivals, resolved.load.burst_records) == (
        "periodic-burst",
        "poisson",
        100,
    )
    assert (resolved.load.burst_s, resolved.load.burst_every_s, resolved.load.seed) == (0.5, 3.0, 9)
    assert (resolved.parameters, resolved.generators, resolved.quiet_s) == ({"keys": "zipf"}, 2, 2.0)
    assert (resolved.transport, resolved.queue_s) == ("kafka", 12.5)
    for shape, key in (("steps", "steps_per_s"), ("fluctuating", "to_per_s")):
        load = scenarios.resolve("ospbench/latency", changes={"shape": shape, key: others[key]}).load
        assert getattr(load, key) == ((100, 200) if shape == "steps" else 50)
    assert scenarios.resolve("ospbench/latency", changes={"rising_warmup": "true"}).load.rising_warmup
    preloaded = {"shape": "preloaded", "records": "5", "rate_per_s": "0", "warmup_s": "0", "measured_s": "0"}
    load = scenarios.resolve("ospbench/latency", changes=preloaded).load
    assert (load.records, load.tail_s, load.scheduled) == (5, 0.0, False)


def test_a_parameter_belongs_to_the_workloads_that_have_it() -> None:
    with pytest.raises(UsageError, match="--set join_bound_ms=700 does not apply to stage parse") as problem:
        scenarios.resolve("ospbench/latency", changes={"stage": "parse", "join_bound_ms": "700"})
    assert "expected: stage join, tumbling, sliding" in problem.value.message()
    changes = {"stage": "join", "join_bound_ms": "-1", "out_of_order_ms": "soon"}
    with pytest.raises(UsageError) as problem:
        scenarios.resolve("ospbench/latency", changes=changes)
    assert "join_bound_ms" in problem.value.message() and "out_of_order_ms" in problem.value.message()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"shape": "ramp"}, "shape ramp needs --set to_per_s=…"),
        (
            {"shape": "periodic-burst", "burst_records": "5"},
            "shape periodic-burst needs --set burst_every_s=… --set burst_s=…",
        ),
        ({"burst_s": "1"}, "shape constant does not use burst_s; leave out burst_s"),
        (
            {"shape": "periodic-burst", "burst_records": "5", "burst_s": "2", "burst_every_s": "1"},
            "burst_s must be shorter than burst_every_s",
        ),
        (
            {"shape": "single-burst", "burst_records": "5", "burst_s": "71"},
            "burst_s must not exceed warm-up plus measured interval (70 s)",
        ),
        (
            {"shape": "periodic-burst", "burst_records": "5", "burst_s": "2", "burst_every_s": "71"},
            "burst_every_s must not exceed warm-up plus measured interval (70 s)",
        ),
        ({"conf": "a", "spark.ui.enabled": "true"}, "conf"),
        ({"shape": "unlimited", "arrivals": "poisson"}, "shape unlimited has no schedule, so arrivals must be even"),
        ({"shape": "unlimited", "rising_warmup": "true"}, "shape unlimited does not support rising_warmup"),
        ({"shape": "saw"}, "invalid --set shape=saw: expected one of constant, steps"),
        ({"shape": "preloaded"}, "shape preloaded needs --set records=…"),
        (
            {"shape": "preloaded", "records": "5", "rate_per_s": "7"},
            "shape preloaded does not use --for, --rate, --warmup; leave out --rate, and add --set measured_s=0 "
            "--set warmup_s=0",
        ),
    ],
)
def test_a_shape_requires_its_values_and_refuses_others(changes: dict[str, str], message: str) -> None:
    with pytest.raises(UsageError) as problem:
        scenarios.resolve("ospbench/latency", changes=changes)
    assert message in problem.value.message()


def test_engine_options_and_any_spark_setting() -> None:
    changes = {
        "realtime": "true",
        "cores": "3",
        "spark.sql.shuffle.partitions": "7",
        "spark.ui.enabled": "true",
    }
    resolved = scenarios.resolve("ospbench/latency", changes=changes)
    assert resolved.engine_options["realtime"] is True
    assert resolved.engine_options["cores"] == 3
    assert resolved.engine_options["conf"] == {"spark.sql.shuffle.partitions": "7", "spark.ui.enabled": "true"}


def test_all_problems_in_one_message() -> None:
    changes = {"stagee": "parse", "rate_per_s": "many", "realtime": "perhaps"}
    with pytest.raises(UsageError) as problem:
        scenarios.resolve("ospbench/latency", changes=changes)
    text = str(problem.value)
    assert "unknown setting: --set stagee=parse" in text
    assert "did you mean 'stage'" in text
    assert "invalid --set rate_per_s=many: expected a whole number of records per second" in text
    assert "invalid --set realtime=perhaps: expected true or false" in text
    assert problem.value.exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"name": "ospbench/latencies"}, "ospbench/latency"),
        ({"name": "ospbench/latency", "profile": "desktop"}, "laptop"),
        ({"name": "ospbench/latency", "engine": "sparkle"}, "spark"),
        ({"name": "ospbench/latency", "changes": {"stage": "pars"}}, "parse"),
        ({"name": "ospbench/latency", "changes": {"rate_per_s": "0"}}, "at least 1"),
        (
            {"name": "ospbench/latency", "changes": {"warmup_s": "-1"}},
            "invalid --set warmup_s=-1: expected a duration from 0s to 7 days",
        ),
    ],
)
def test_mistakes_are_reported(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        scenarios.resolve(**arguments)  # type: ignore[arg-type]


def test_a_scenario_file_is_strict() -> None:
    with pytest.raises(UsageError, match=r"unknown key 'titel'.*title"):
        scenarios.parse_file('titel = "x"', where="x.toml")
    with pytest.raises(UsageError, match="not valid TOML"):
        scenarios.parse_file("title = ", where="x.toml")


def test_names_of_scenario_values_and_engine_options_do_not_clash() -> None:
    from streamgauge import registry

    for name in registry.names("engines"):
        assert not set(registry.engine(name).options.model_fields) & set(scenarios.Values.model_fields)


@pytest.mark.parametrize(("text", "seconds"), [("30s", 30), ("500ms", 0.5), ("5m", 300), ("2h", 7200), ("7", 7)])
def test_durations(text: str, seconds: float) -> None:
    assert parsing.parse_duration_s(text, "--for") == seconds


@pytest.mark.parametrize(("text", "rate"), [("400", 400), ("400/s", 400), ("10k/s", 10_000), ("24000/min", 400)])
def test_rates(text: str, rate: int) -> None:
    assert parsing.parse_rate_per_s(text) == rate


@pytest.mark.parametrize("text", ["fast", "-3/s", "0/s", "1.5/s", "10/h", ""])
def test_bad_rates(text: str) -> None:
    with pytest.raises(UsageError):
        parsing.parse_rate_per_s(text)


@pytest.mark.parametrize("text", ["stage", "=x", ""])
def test_bad_settings(text: str) -> None:
    with pytest.raises(UsageError, match="expected KEY=VALUE"):
        parsing.parse_changes([text])


@pytest.mark.parametrize("rate_per_s", [2, 400])
def test_the_tail_lets_a_watermark_pass_the_last_window(rate_per_s: int) -> None:
    changes = {"stage": "tumbling", "rate_per_s": str(rate_per_s), "join_bound_ms": "2000", "out_of_order_ms": "300"}
    load = scenarios.resolve("ospbench/latency", changes=changes).load
    window_s, join_bound_s, out_of_order_s, load_may_be_late_s = 1.0, 2.0, 0.3, 0.2
    newest_of_each_stream_s = 2 / rate_per_s
    needed_s = window_s + join_bound_s + out_of_order_s + load_may_be_late_s + newest_of_each_stream_s
    assert needed_s < load.tail_s < needed_s + 1
