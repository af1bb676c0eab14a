"""What the Flink engine plans and refuses, before anything is started."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from engine_jobs import make_job
from pydantic import ValidationError

from streamgauge import registry
from streamgauge.engines.flink import Flink, cluster
from streamgauge.engines.flink.options import FlinkOptions
from streamgauge.errors import EnvironmentProblem, Unsupported, UsageError
from streamgauge.model import Job, ProcessSpec
from streamgauge.studies import scenario as scenarios


def job(**options: Any) -> Job:
    return make_job("flink", options, ports=(4001, 4002))


def plan(**options: Any) -> Sequence[ProcessSpec]:
    return registry.engine("flink").plan(job(**options))


def roles(**options: Any) -> list[str]:
    return [spec.role for spec in plan(**options)]


def test_every_jvm_is_a_separate_process() -> None:
    assert roles() == ["jobmanager", "taskmanager-1", "taskmanager-2", "watcher"]


def test_spare_taskmanagers_start_after_the_job_has_taken_its_slots() -> None:
    assert roles(taskmanagers=1, spare=2) == ["jobmanager", "taskmanager-1", "watcher", "spare-1", "spare-2"]
    assert plan(spare=1)[-1].ready.kind == "log"


def test_spare_taskmanagers_do_not_raise_the_parallelism() -> None:
    assert cluster.settings(job(taskmanagers=3, slots=2, spare=1))["parallelism.default"] == "6"
    assert cluster.settings(job(parallelism=1))["parallelism.default"] == "1"


@pytest.mark.parametrize(
    ("options", "setting", "value"),
    [
        ({"checkpoint_ms": 250}, "execution.checkpointing.interval", "250 ms"),
        ({"buffer_timeout_ms": 0}, "execution.buffer-timeout.interval", "0 ms"),
        ({"object_reuse": False}, "pipeline.object-reuse", "false"),
        ({"slots": 3}, "taskmanager.numberOfTaskSlots", "3"),
        ({"state_backend": "rocksdb"}, "state.backend.type", "rocksdb"),
        ({"state_backend": "rocksdb", "slots": 2}, "taskmanager.memory.managed.size", "256m"),
        ({}, "taskmanager.memory.managed.size", "0m"),
        ({"heap_mb": 1024}, "taskmanager.memory.task.heap.size", "960m"),
        ({}, "rest.port", "4001"),
        ({}, "jobmanager.rpc.port", "4002"),
        ({}, "web.submit.enable", "false"),
        ({}, "pipeline.generic-types", "false"),
        ({}, "execution.checkpointing.dir", "file:///run/checkpoint"),
    ],
)
def test_options_become_settings(options: dict[str, Any], setting: str, value: str) -> None:
    assert cluster.settings(job(**options))[setting] == value


def test_taskmanagers_without_the_optimising_compiler() -> None:
    flag = "-XX:TieredStopAtLevel=1"
    assert [flag in spec.argv for spec in plan(jit="quick")[:3]] == [True, True, True]
    assert [flag in spec.argv for spec in plan()[:3]] == [True, False, False], "only the JobManager"


def test_the_garbage_collector_is_that_of_the_taskmanagers() -> None:
    for chosen, of_taskmanagers in (({}, "G1"), ({"gc": "Parallel"}, "Parallel"), ({"gc": "Serial"}, "Serial")):
        flags = [[word for word in spec.argv if word.endswith("GC")] for spec in plan(**chosen)[:3]]
        assert flags == [["-XX:+UseG1GC"], *[[f"-XX:+Use{of_taskmanagers}GC"]] * 2]


def test_at_least_once_applies_to_the_sink_only() -> None:
    for delivery in ("at-least-once", "exactly-once"):
        assert cluster.settings(job(delivery=delivery))["execution.checkpointing.mode"] == "EXACTLY_ONCE"


def test_user_settings_take_precedence() -> None:
    settings = cluster.settings(job(**{"heartbeat.timeout": "1 min", "web.submit.enable": True}))
    assert (settings["heartbeat.timeout"], settings["web.submit.enable"]) == ("1 min", "true")


def test_everything_listens_on_the_loopback_interface() -> None:
    settings = cluster.settings(job())
    assert {value for key, value in settings.items() if key.endswith(("host", "address"))} == {"127.0.0.1"}


def test_the_settings_are_written_as_yaml() -> None:
    (config,) = (text for path, text in plan()[0].files.items() if path.name == "config.yaml")
    assert '"rest.port": "4001"\n' in config


def test_the_class_path_has_the_api_the_connector_and_our_classes() -> None:
    argv = plan()[1].argv
    names = [Path(path).name for path in argv[argv.index("-cp") + 1].split(":")]
    for start in ("flink-dist-", "log4j-core-", "flink-sql-connector-kafka-", "jackson-core-", "flink-"):
        assert any(name.startswith(start) for name in names), start
    assert not any(name.startswith(("flink-table", "ecj")) for name in names)


def test_more_tasks_than_slots_are_refused() -> None:
    with pytest.raises(UsageError, match="parallelism 5 exceeds the number of slots"):
        scenarios.resolve("ospbench/latency", engine="flink", changes={"parallelism": "5", "spare": "3"})


@pytest.mark.parametrize("stage", ["ingest", "parse"])
def test_a_stateless_stage_cannot_be_customised(stage: str) -> None:
    with pytest.raises(Unsupported, match="stateless"):
        scenarios.resolve("ospbench/latency", engine="flink", changes={"stage": stage, "implementation": "customised"})


def test_a_missing_wheel_is_named_with_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "PACKAGE", "no-such-package-of-flink")
    with pytest.raises(EnvironmentProblem, match="pip install no-such-package-of-flink"):
        plan()


def test_the_transaction_timeout_must_exceed_the_checkpoint_interval() -> None:
    with pytest.raises(ValidationError, match="must be at least twice checkpoint_ms"):
        FlinkOptions.model_validate({"delivery": "exactly-once", "checkpoint_ms": 60_000})
    FlinkOptions.model_validate({"checkpoint_ms": 60_000})
    FlinkOptions.model_validate(
        {"delivery": "exactly-once", "checkpoint_ms": 60_000, "transaction_timeout_ms": 120_000}
    )


def test_memory_covers_all_processes() -> None:
    small = FlinkOptions.model_validate({"taskmanagers": 1, "slots": 1}).model_dump()
    large = FlinkOptions.model_validate({"taskmanagers": 1, "slots": 4, "state_backend": "rocksdb"}).model_dump()
    assert Flink().memory_mb(large) - Flink().memory_mb(small) == 3 * 64 + 4 * 128
