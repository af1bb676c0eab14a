"""What the Kafka Streams engine plans and refuses, before anything is started."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engine_jobs import make_job
from pydantic import ValidationError

from streamgauge import registry
from streamgauge.engines.kafka_streams import KafkaStreams, KafkaStreamsOptions
from streamgauge.errors import Unsupported
from streamgauge.model import ProcessSpec
from streamgauge.studies import scenario as scenarios


def plan(**options: Any) -> list[ProcessSpec]:
    return list(KafkaStreams().plan(make_job("kafka-streams", options)))


def test_it_is_registered() -> None:
    assert isinstance(registry.engine("kafka-streams"), KafkaStreams)


def test_every_instance_is_a_process_with_its_own_state_directory() -> None:
    specs = plan(instances=3)
    assert [spec.role for spec in specs] == ["streams-1", "streams-2", "streams-3"]
    assert [spec.argv[-2] for spec in specs] == ["/run/streams-1", "/run/streams-2", "/run/streams-3"]
    assert {spec.argv[-1] for spec in specs} == {"/run/job.json"}
    assert {(spec.ready.kind, spec.ready.value) for spec in specs} == {("event", "ready")}


def test_the_job_file_is_written_once_and_holds_every_option() -> None:
    first, second = plan()
    [text] = first.files.values()
    assert second.files == {}
    assert set(json.loads(text)["options"]) == set(KafkaStreamsOptions.model_fields)
    assert json.loads(text)["group"] == "streamgauge.run"


def test_every_instance_has_the_configured_heap() -> None:
    for spec in plan(heap_mb=300):
        assert {"-Xms300m", "-Xmx300m"} <= set(spec.argv)


def test_instances_start_side_by_side_and_are_awaited_with_the_last() -> None:
    assert [spec.side_by_side for spec in plan(instances=3)] == [True, True, False]


def test_without_the_optimising_compiler() -> None:
    flag = "-XX:TieredStopAtLevel=1"
    assert all(flag in spec.argv for spec in plan(jit="quick"))
    assert not any(flag in spec.argv for spec in plan())


def test_every_instance_has_the_configured_garbage_collector() -> None:
    for chosen, name in (({}, "G1"), ({"gc": "Parallel"}, "Parallel"), ({"gc": "Serial"}, "Serial")):
        for spec in plan(**chosen):
            assert [word for word in spec.argv if word.endswith("GC")] == [f"-XX:+Use{name}GC"]


def test_native_settings_are_collected() -> None:
    options = KafkaStreamsOptions.model_validate(
        {"threads": 2, "producer.batch.size": 204_800, "max.task.idle.ms": "7", "producer.enable.idempotence": True}
    )
    assert options.threads == 2
    assert options.conf == {
        "producer.batch.size": "204800",
        "max.task.idle.ms": "7",
        "producer.enable.idempotence": "true",
    }


@pytest.mark.parametrize("name", ["processing.guarantee", "application.id", "bootstrap.servers", "state.dir"])
def test_reserved_settings_are_refused(name: str) -> None:
    with pytest.raises(ValidationError, match=f"{name} cannot be set directly"):
        KafkaStreamsOptions.model_validate({name: "x"})


@pytest.mark.parametrize(
    "wrong", [{"instances": 0}, {"delivery": "at-most-once"}, {"thread": 1}, {"commit_ms": 0}, {"gc": "Z"}]
)
def test_wrong_options_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        KafkaStreamsOptions.model_validate(wrong)


def test_a_stateless_stage_cannot_be_customised() -> None:
    with pytest.raises(Unsupported, match="stateless"):
        scenarios.resolve(
            "ospbench/latency", engine="kafka-streams", changes={"stage": "parse", "implementation": "customised"}
        )


def test_delivery_is_at_least_once_by_default() -> None:
    assert KafkaStreamsOptions().delivery == KafkaStreams.traits.delivery == "at-least-once"
    assert KafkaStreams.traits.transactional
