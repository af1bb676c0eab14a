"""Kafka Streams on a real broker: its internal topics, refused settings, and an instance that dies."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from driving import Measure

from streamgauge.conformance.suite import Bench
from streamgauge.errors import UsageError
from streamgauge.processes.supervisor import Supervisor
from streamgauge.transports.kafka import Kafka

pytestmark = pytest.mark.engine("kafka-streams")

BAD = {"lost", "wrong", "unexpected", "duplicates", "unfinished"}


def topics(shared: Bench) -> set[str]:
    return set(AdminClient({"bootstrap.servers": shared.transport_address}).list_topics(timeout=20).topics)


@pytest.mark.full
def test_nothing_is_repartitioned_and_no_topic_is_left(
    shared: Bench, measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: set[str] = set()
    remove = Kafka.remove

    def look_and_remove(transport: Kafka) -> None:
        seen.update(topics(shared))
        remove(transport)

    monkeypatch.setattr(Kafka, "remove", look_and_remove)
    _, summary = measure("kafka-streams", stage="sliding", emit="close", cache_mb=0)
    run = f"streamgauge.{summary.run}"
    internal = {topic.removeprefix(f"{run}-") for topic in seen if topic.startswith(f"{run}-")}
    assert internal == {"join-this-join-store-changelog", "join-other-join-store-changelog", "windows-changelog"}
    assert not any(topic.startswith(run) for topic in topics(shared))
    results = summary.results
    assert results["matched"] == results["expected"] > 0
    assert results["intermediate"] == results["duplicates"] == 0, "a closed window is published once"


@pytest.mark.parametrize("state_store", ["memory", pytest.param("rocksdb", marks=pytest.mark.full)])
def test_state_is_where_it_was_asked_for(measure: Measure, monkeypatch: pytest.MonkeyPatch, state_store: str) -> None:
    seen: list[Path] = []
    stop = Supervisor.stop_group

    def look_and_stop(supervisor: Supervisor, group: str) -> None:
        if group == "engine":
            seen.extend(supervisor.work_dir.rglob("0_0/windows"))
        stop(supervisor, group)

    monkeypatch.setattr(Supervisor, "stop_group", look_and_stop)
    _, summary = measure("kafka-streams", stage="tumbling", state_store=state_store)
    assert summary.results["matched"] == summary.results["expected"] > 0
    assert bool(seen) is (state_store == "rocksdb")


def test_a_setting_that_kafka_does_not_know_is_refused(measure: Measure) -> None:
    with pytest.raises(UsageError, match=r"unknown Kafka Streams setting: producer\.linger\.mss"):
        measure("kafka-streams", **{"producer.linger.mss": "1"})


@pytest.mark.full
def test_a_value_that_kafka_refuses_is_reported(measure: Measure) -> None:
    _, summary = measure("kafka-streams", **{"producer.acks": "9"})
    assert summary.verdict == "FAILED"
    assert any(re.match("process streams-1 .*acks", reason) for reason in summary.reasons)


@pytest.mark.full
@pytest.mark.parametrize("state_store", ["rocksdb", "memory"])
@pytest.mark.parametrize("implementation", ["customised", "built-in"])
def test_exactly_once_survives_the_death_of_an_instance(
    measure: Measure, implementation: str, state_store: str
) -> None:
    _, summary = measure(
        "kafka-streams",
        faults=("kill streams-2 at 40%",),
        stage="tumbling",
        implementation=implementation,
        state_store=state_store,
        delivery="exactly-once",
        instances=2,
        measured_s=15,
    )
    assert summary.verdict == "VALID", summary.reasons
    assert summary.faults[0].took_effect
    results = summary.results
    assert {word: n for word, n in results.items() if n and word in BAD} == {}
    assert results["matched"] == results["expected"] > 0


@pytest.mark.full
def test_windows_before_a_gap_in_the_records_are_published(measure: Measure) -> None:
    """The first record after the gap closes them, and is beyond Kafka Streams' default retention."""
    _, summary = measure(
        "kafka-streams",
        faults=("pause load for 4s at 40%",),
        attempts=1,
        stage="tumbling",
        emit="close",
        cache_mb=0,
        measured_s=10,
    )
    assert summary.verdict == "INVALID", "the load was late"
    results = summary.results
    assert results["matched"] == results["expected"] > 0


@pytest.mark.full
def test_a_replayed_message_is_not_joined_with_itself(measure: Measure) -> None:
    """At-least-once: results are duplicated, but none is wrong."""
    _, summary = measure(
        "kafka-streams",
        faults=("kill streams-2 at 40%",),
        stage="join",
        implementation="customised",
        instances=2,
        cache_mb=0,
        commit_ms=4000,
        rate_per_s=4000,
        measured_s=15,
    )
    assert summary.verdict == "VALID", summary.reasons
    assert summary.faults[0].took_effect
    results = summary.results
    assert results["duplicates"] > 0
    assert (results["wrong"], results["lost"], results["unexpected"]) == (0, 0, 0)
    assert results["matched"] == results["expected"] > 0
