"""The transport without a broker."""

from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from streamgauge.errors import EnvironmentProblem
from streamgauge.model import Stream
from streamgauge.transports import kafka
from streamgauge.transports.kafka import Kafka
from streamgauge.transports.kafka.clients import Clients


def test_a_client_that_never_answers_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The futures of a client whose broker was killed may never complete."""
    transport = Kafka("127.0.0.1:9", own=False)
    never: Any = SimpleNamespace(list_offsets=lambda wanted, **_: {where: Future[Any]() for where in wanted})
    monkeypatch.setattr(transport._clients, "_admin", never)
    monkeypatch.setattr(kafka, "_LIVE_ANSWER_S", 0.01)
    with pytest.raises(EnvironmentProblem, match="end offsets of topic t"):
        transport.positions([Stream("flow", "t", 1, "input")])


def test_a_client_that_did_not_answer_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that has lost its broker may never answer again, although the broker is back."""
    transport = Kafka("127.0.0.1:9", own=False)
    monkeypatch.setattr(kafka, "_LIVE_ANSWER_S", 0.01)
    never: Any = SimpleNamespace(list_offsets=lambda wanted, **_: {where: Future[Any]() for where in wanted})
    monkeypatch.setattr(transport._clients, "_admin", never)
    with pytest.raises(EnvironmentProblem):
        transport.positions([Stream("flow", "t", 1, "input")])
    assert transport._clients._admin is None


def properties(transport: Kafka, **more: bool) -> dict[str, str]:
    (text,) = transport.plan(Path("/work"), **more)[0].files.values()
    return dict(line.split("=", 1) for line in text.splitlines())


def test_only_a_run_with_a_cut_has_a_second_listener() -> None:
    plain, behind = Kafka.prepare(None, (1, 2)), Kafka.prepare(None, (1, 2, 3, 4))
    assert properties(plain)["listeners"] == "PLAINTEXT://127.0.0.1:1,CONTROLLER://127.0.0.1:2"
    assert "listener.security.protocol.map" not in properties(plain)
    assert properties(behind)["listeners"].endswith(",PROXIED://127.0.0.1:3")
    assert properties(behind)["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1,PROXIED://127.0.0.1:4"
    assert behind.endpoints == {"bootstrap": "127.0.0.1:1"}
    assert behind.behind_proxy().endpoints == {"bootstrap": "127.0.0.1:4"}


def test_only_a_broker_that_is_started_again_forgets_itself_sooner() -> None:
    transport = Kafka.prepare(None, (1, 2))
    assert "broker.session.timeout.ms" not in properties(transport)
    assert properties(transport, restarts=True)["broker.session.timeout.ms"] == "2000"


def test_the_ports_of_its_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the brokers advertise: clients leave the bootstrap address once they have asked there."""
    assert Kafka.prepare(None, (1, 2)).client_ports() == {1}
    assert Kafka.prepare(None, (1, 2, 3, 4)).client_ports() == {1, 4}
    yours = Kafka.prepare("127.0.0.1:9", ())
    brokers = {number: SimpleNamespace(port=port) for number, port in enumerate((9092, 9093, 9092))}
    monkeypatch.setattr(yours._clients, "metadata", lambda: SimpleNamespace(brokers=brokers))
    assert yours.client_ports() == {9092, 9093}


def test_only_where_records_are_removed_files_are_small_and_soon_deleted() -> None:
    plain, trimmed = Kafka.prepare(None, (1, 2)), Kafka.prepare(None, (1, 2))
    trimmed.trims = True
    assert "log.segment.bytes" not in properties(plain)
    assert int(properties(trimmed)["log.segment.bytes"]) == 16 * 1024 * 1024
    assert int(properties(trimmed)["log.retention.check.interval.ms"]) <= 10_000
    assert "segment.bytes" not in plain.describe()["topic_settings"]
    assert trimmed.describe()["topic_settings"]["segment.bytes"] == properties(trimmed)["log.segment.bytes"]


def test_the_end_stands_for_a_moment_after_all_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end is that from before the question: what came since was appended after the moment."""
    transport = Kafka("127.0.0.1:9", own=False)
    asked: list[str] = []

    def ends(streams: Any) -> dict[str, dict[int, int]]:
        asked.append("ends")
        return {"flow": {0: 70, 1: 80}}

    def by_time(wanted: Any, timeout: float) -> list[Any]:
        asked.append("times")
        offsets = {0: 55, 1: -1}
        return [SimpleNamespace(partition=one.partition, offset=offsets[one.partition], error=None) for one in wanted]

    monkeypatch.setattr(transport, "ends", ends)
    monkeypatch.setattr(transport._clients, "reader", lambda _: SimpleNamespace(offsets_for_times=by_time))
    assert transport.offsets_at([Stream("flow", "t", 2, "input")], 1000) == {"flow": {0: 55, 1: 80}}
    assert asked == ["ends", "times"]


def test_a_client_that_another_thread_replaces_is_still_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads made one at the same time; while that of the other was being destroyed, a third replaced both."""
    clients = Clients({"bootstrap": "127.0.0.1:1"}, own=True)

    class Other:
        def __del__(self) -> None:
            clients.replace_admin()

    def make(*given: object, **more: object) -> object:
        monkeypatch.setattr(clients, "_admin", Other())
        return object()

    monkeypatch.setattr("confluent_kafka.admin.AdminClient", make)
    assert clients.admin() is not None
