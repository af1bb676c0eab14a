"""What the Spark engine plans and refuses, before anything is started."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from engine_jobs import make_job
from user_scenarios import published

from streamgauge import registry
from streamgauge.engines.spark.program import Progress, consumed, has_begun, summarised
from streamgauge.engines.spark.sinks import output_mode, write
from streamgauge.engines.spark.sources import read
from streamgauge.errors import Unsupported
from streamgauge.studies import scenario as scenarios


def test_a_query_that_continues_has_consumed_something(tmp_path: Path) -> None:
    job = {"checkpoint_dir": str(tmp_path / "checkpoint")}
    assert not has_begun(job)
    (tmp_path / "checkpoint" / "offsets").mkdir(parents=True)
    assert has_begun(job)


def settings(script: dict[str, str] | None = None, **options: Any) -> dict[str, str]:
    """The Spark settings on the command line of the engine's JVM."""
    argv = registry.engine("spark").plan(make_job("spark", options, script=script))[0].argv
    return dict(argv[at + 1].split("=", 1) for at, word in enumerate(argv) if word == "--conf")


@pytest.mark.parametrize(
    ("options", "setting", "value"),
    [
        ({"state_store": "memory"}, "stateStore.providerClass", "HDFSBackedStateStoreProvider"),
        ({"state_store": "rocksdb"}, "stateStore.providerClass", "RocksDBStateStoreProvider"),
        ({"state_store": "rocksdb"}, "join.stateFormatVersion", "3"),
        ({"changelog": False}, "stateStore.rocksdb.changelogCheckpointing.enabled", "false"),
        ({"retained_batches": 7}, "minBatchesToRetain", "7"),
        ({}, "checkpointFileManagerClass", ".FileSystemBasedCheckpointFileManager"),
        ({"checkpoint_log": "file-context"}, "checkpointFileManagerClass", ".FileContextBasedCheckpointFileManager"),
        ({"join_state_format": 2}, "join.stateFormatVersion", "2"),
    ],
)
def test_options_become_settings(options: dict[str, Any], setting: str, value: str) -> None:
    assert settings(**options)[f"spark.sql.streaming.{setting}"].endswith(value)


def test_tuned_settings_are_in_every_scenario_file_and_can_be_changed() -> None:
    tuned = {"serializer", "locality_wait_ms", "gc", "checkpoint_log", "constraint_propagation", "retained_batches"}
    for name in published():
        assert tuned <= set(scenarios.describe(name).common.engines["spark"])
    changed = settings(serializer="java", locality_wait_ms=0, constraint_propagation=True)
    assert changed["spark.serializer"] == "org.apache.spark.serializer.JavaSerializer"
    assert changed["spark.locality.wait"] == "0ms"
    assert changed["spark.sql.constraintPropagation.enabled"] == "true"


@pytest.mark.parametrize("options", [{"state_store": "memory"}, {"realtime": True}])
def test_the_newer_join_state_format_is_not_used_where_it_fails(options: dict[str, Any]) -> None:
    assert "spark.sql.streaming.join.stateFormatVersion" not in settings(**options)


def test_a_script_gets_sparks_defaults() -> None:
    ours, theirs = settings(), settings(script={"copy": "script.py", "path": "my.py"})
    assert set(ours) - set(theirs) == {
        "spark.sql.constraintPropagation.enabled",
        "spark.sql.streaming.join.stateFormatVersion",
    }


def test_user_settings_take_precedence() -> None:
    assert settings(**{"spark.sql.streaming.minBatchesToRetain": 5})["spark.sql.streaming.minBatchesToRetain"] == "5"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"stage": "parse", "implementation": "customised"}, "stateless"),
        ({"stage": "tumbling", "realtime": "true"}, "ALLOWLIST"),
        ({"stage": "join", "realtime": "true", "implementation": "customised"}, "STDS_FAILED"),
        ({"stage": "sliding", "output_mode": "update"}, "correctness"),
        ({"stage": "join", "implementation": "customised", "state_store": "memory"}, "STORE_BACKEND"),
    ],
)
def test_combinations_that_spark_refuses_are_refused_before_anything_starts(
    changes: dict[str, str], reason: str
) -> None:
    with pytest.raises(Unsupported, match=reason):
        scenarios.resolve("ospbench/latency", engine="spark", changes=changes)


@pytest.mark.parametrize("changes", [{"output_mode": "update"}, {"implementation": "customised"}])
def test_combinations_that_spark_accepts_are_accepted(changes: dict[str, str]) -> None:
    resolved = scenarios.resolve("ospbench/latency", engine="spark", changes={"stage": "tumbling", **changes})
    assert changes.items() <= dict(resolved.engine_options).items()


@pytest.mark.parametrize("workload", ["wordcount", "distinctcount", "statistics"])
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"output_mode": "append"}, "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION"),
        ({"realtime": True}, "ALLOWLIST"),
        ({"implementation": "customised"}, "only a built-in implementation"),
    ],
)
def test_limits_of_running_results(workload: str, options: dict[str, Any], reason: str) -> None:
    (refused,) = refusals(f"streambench/{workload}", options)
    assert reason in refused


@pytest.mark.parametrize("workload", ["identity", "sample", "projection", "grep", "sink"])
def test_limits_of_stateless_workloads(workload: str) -> None:
    assert (
        refusals(f"streambench/{workload}", {}) == refusals(f"streambench/{workload}", {"output_mode": "update"}) == []
    )
    assert len(refusals(f"streambench/{workload}", {"realtime": True})) == (workload == "sink")
    (reason,) = refusals(f"streambench/{workload}", {"implementation": "customised"})
    assert "stateless" in reason


def refusals(workload: str, options: dict[str, Any]) -> list[str]:
    engine = registry.engine("spark")
    resolved = engine.options.model_validate(options).model_dump()
    return [limit.reason for limit in engine.traits.limits if limit.applies(workload, resolved)]


@pytest.mark.parametrize(
    ("workload", "options", "mode"),
    [
        ("traffic/ingest", {}, "append"),
        ("traffic/sliding", {}, "append"),
        ("traffic/tumbling", {"output_mode": "update"}, "update"),
        ("streambench/sink", {}, "append"),
        ("streambench/wordcount", {}, "update"),
        ("streambench/statistics", {"output_mode": "append"}, "append"),
        ("traffic/ingest", {"realtime": True}, "update"),
        ("traffic/ingest", {"realtime": True, "output_mode": "append"}, "update"),
    ],
)
def test_the_output_mode_suits_the_results_unless_one_is_set(workload: str, options: dict[str, Any], mode: str) -> None:
    assert output_mode(make_job("spark", options, workload=workload).as_json()) == mode


def test_a_script_gets_the_output_mode_of_a_final_result() -> None:
    script = {"copy": "script.py", "path": "my.py"}
    job = make_job("spark", {}, workload="streambench/wordcount", script=script)
    assert output_mode(job.as_json()) == "append"


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ({}, {"format": "noop"}),
        ({"output": "o"}, {"format": "kafka", "topic": "o", "kafka.bootstrap.servers": "127.0.0.1:9"}),
    ],
)
def test_results_are_published_or_discarded(outputs: dict[str, str], expected: dict[str, str]) -> None:
    made: dict[str, Any] = {}

    class Writer:
        def format(self, name: str) -> Writer:
            made["format"] = name
            return self

        def option(self, key: str, value: Any) -> Writer:
            made[key] = value
            return self

        def options(self, **given: Any) -> Writer:
            made.update(given)
            return self

        def outputMode(self, mode: str) -> Writer:
            return self

        def trigger(self, **_: str) -> Writer:
            return self

    results: Any = SimpleNamespace(writeStream=Writer())
    write(results, make_job("spark", {}, workload="streambench/sink", outputs=outputs).as_json())
    assert made == {"checkpointLocation": "/run/checkpoint", **expected}


@pytest.mark.parametrize(
    ("options", "limit"),
    [({}, None), ({"batch_records": 500}, 500), ({"batch_records": 500, "realtime": True}, None)],
)
def test_only_micro_batches_are_limited(options: dict[str, Any], limit: int | None) -> None:
    made: dict[str, Any] = {}

    class Reader:
        def format(self, _: str) -> Reader:
            return self

        def option(self, key: str, value: Any) -> Reader:
            made[key] = value
            return self

        def options(self, **given: Any) -> Reader:
            made.update(given)
            return self

        def load(self) -> None:
            pass

    spark: Any = SimpleNamespace(readStream=Reader())
    read(spark, make_job("spark", options).as_json(), "speed")
    assert (made["subscribe"], made.get("maxOffsetsPerTrigger")) == ("s", limit)


@pytest.mark.parametrize(
    ("options", "interval_s", "batches"),
    [({}, 0.0, True), ({"trigger_ms": 1500}, 1.5, True), ({"realtime": True, "trigger_ms": 1500}, 0.0, False)],
)
def test_micro_batches_are_declared(options: dict[str, Any], interval_s: float, batches: bool) -> None:
    spark, resolved = registry.engine("spark"), make_job("spark", options).options
    assert (spark.batch_interval_s(resolved), spark.micro_batches(resolved)) == (interval_s, batches)
    echo = registry.engine("echo")
    assert (echo.batch_interval_s({}), echo.micro_batches({})) == (0.0, False)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (['{"flow":{"0":3,"1":4}}', {"speed": {"0": 5}}], {"flow": {"0": 3, "1": 4}, "speed": {"0": 5}}),
        # A self-join reads its source twice: a record counts once both readers have it.
        (
            [{"flow": {"0": 3}, "speed": {"0": 9}}, {"flow": {"0": 7}, "speed": {"0": 2}}],
            {"flow": {"0": 3}, "speed": {"0": 2}},
        ),
        # It may also read other sources.
        ([{"flow": {"0": 3}}, 17, {"logOffset": 3}, {"another": {"0": 50}}, None], {"flow": {"0": 3}}),
        ([None], {}),
        ([], {}),
    ],
)
def test_consumed_counts_records_that_every_source_has_read(ends: list[Any], expected: Any) -> None:
    report = {"sources": [{"endOffset": end} for end in ends]}
    assert consumed(report, ["flow", "speed"]) == expected


def test_each_report_of_a_query_is_passed_on_once(capsys: pytest.CaptureFixture[str]) -> None:
    def report(second: int, batch: int, rows: int, **durations: int) -> Any:
        source = {"endOffset": {"flow": {"0": 10 * second}}}
        content = {"timestamp": f"2026-01-01T00:00:{second:02}.000Z", "batchId": batch, "numInputRows": rows}
        content |= {"durationMs": {"triggerExecution": 5, **durations}, "sources": [source]}
        return SimpleNamespace(json=lambda: json.dumps(content))

    reports = [report(1, 0, 10, addBatch=3), report(2, 1, 10, addBatch=3)]
    query: Any = SimpleNamespace(_jsq=SimpleNamespace(recentProgress=lambda: reports))
    progress = Progress(query, ["flow"])

    def passed_on() -> list[Any]:
        progress.emit()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    def batch(number: int, second: int) -> dict[str, Any]:
        began_ms = 1_767_225_600_000 + 1000 * second  # in 2026
        return {"event": "batch", "batch": number, "began_ms": began_ms, "duration_ms": 5, "rows": 10}

    def consumed_by(second: int) -> dict[str, Any]:
        return {"event": "progress", "consumed": 10 * second, "offsets": {"flow": {"0": 10 * second}}}

    assert passed_on() == [batch(0, 1), batch(1, 2), consumed_by(2)]
    assert passed_on() == []
    reports.append(report(3, 2, 0))
    assert passed_on() == [consumed_by(3)], "a report without a batch"
    reports[:] = [report(4, 2, 10, addBatch=3)]
    assert passed_on() == [batch(2, 4), consumed_by(4)], "older ones are gone"


@pytest.mark.parametrize(
    ("master", "here"),
    [("", True), ("local[4]", True), ("spark://127.0.0.1:7077", False), ("yarn", False), ("k8s://h:1", False)],
)
def test_only_a_local_master_runs_here(master: str, here: bool) -> None:
    assert registry.engine("spark").runs_here({"master": master}) is here


def test_the_innermost_cause_is_part_of_the_message() -> None:
    text = """Error while instantiating 'Builder':

JVM stacktrace:
java.lang.IllegalArgumentException: Error while instantiating 'Builder':
\tat org.apache.Builder(Builder.scala:1)
Caused by: java.lang.RuntimeException: outer
\tat org.apache.Outer(Outer.scala:1)
Caused by: IllegalArgument: The value 'four' is invalid.
\tat org.apache.Inner(Inner.scala:1)
\t... 19 more"""
    assert summarised(text) == "Error while instantiating 'Builder': IllegalArgument: The value 'four' is invalid."
    assert summarised("[TABLE] not found\n\tat somewhere") == "[TABLE] not found"


def test_the_driver_is_both_processes_and_can_be_started_again() -> None:
    jvm, program = registry.engine("spark").plan(make_job("spark", {}))
    assert (jvm.roles, program.roles) == (("engine-jvm", "driver"), ("engine", "driver"))
    connection = program.argv[-2]
    assert {str(path): text for path, text in jvm.files.items()}[connection] == "", "not that of the killed JVM"
