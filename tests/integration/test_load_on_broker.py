"""The load worker and the Kafka sender on a real broker: the ledger matches the topics."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Producer

from streamgauge.conformance.suite import Bench
from streamgauge.load.worker import PRIORITY
from streamgauge.model import Stream
from streamgauge.transports.kafka import Kafka, sender
from streamgauge.transports.kafka.sender import KafkaSender
from streamgauge.workloads.traffic.data import Traffic

_fresh = count()


@pytest.fixture
def kafka(shared: Bench) -> Kafka:
    return Kafka.attach({"bootstrap": shared.transport_address})


@pytest.fixture
def streams(kafka: Kafka) -> list[Stream]:
    number = next(_fresh)
    made = [Stream(name, f"load-{number}-{name}", 2, "input") for name in Traffic.streams]
    kafka.create(made)
    return made


def held(kafka: Kafka, streams: list[Stream]) -> int:
    return sum(sum(partitions.values()) for partitions in kafka.ends(streams).values())


def goes_first(pid: int) -> bool:
    """Whether the process, and its session if any, has priority."""
    autogroup = Path(f"/proc/{pid}/autogroup")
    return psutil.Process(pid).nice() == PRIORITY and (
        not autogroup.exists() or autogroup.read_text().endswith(f"nice {PRIORITY}\n")
    )


@pytest.fixture
def worker(
    kafka: Kafka, streams: list[Stream], tmp_path: Path
) -> Callable[..., tuple[list[dict[str, Any]], dict[str, list[int]]]]:
    def run(seconds: float, *, stop_early: bool = False) -> tuple[list[dict[str, Any]], dict[str, list[int]]]:
        settings, ledger = tmp_path / "settings.json", tmp_path / "worker-0.parquet"
        content = {
            "transport": kafka.describe(),
            "streams": [{"name": stream.name, "address": stream.address} for stream in streams],
            "workload": {"name": "traffic/ingest", "seed": 1, "parameters": {"keys": "dataset"}},
            "plan": {"rate_per_s": 2_000, "warmup_s": 0.0, "measured_s": seconds, "tail_s": 0.0},
            "ledger": str(ledger),
            "worker": {"index": 0, "of": 1},
        }
        settings.write_text(json.dumps(content))
        argv = [sys.executable, "-m", "streamgauge.load.worker", str(settings)]
        pipe = subprocess.PIPE
        with subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, start_new_session=True) as process:
            assert process.stdin and process.stdout
            events = [json.loads(process.stdout.readline())]
            assert events[0]["goes_first"] is goes_first(process.pid), "it reports its priority"
            process.stdin.write(json.dumps({"do": "start", "at_ns": time.time_ns()}) + "\n")
            process.stdin.flush()
            if stop_early:
                events.append(json.loads(process.stdout.readline()))
                process.send_signal(signal.SIGTERM)
            events += map(json.loads, process.stdout)
        assert process.returncode == 0
        return events, pq.read_table(ledger).to_pydict()

    return run


def test_every_record_is_in_the_topics_and_in_the_ledger(
    worker: Callable[..., Any], kafka: Kafka, streams: list[Stream]
) -> None:
    events, ledger = worker(1.5)
    assert events[0]["event"] == "ready"
    assert events[-1] == {"event": "done", "sent": 3_000, "errors": 0, "last_sent_ns": ledger["sent_ns"][-1]}
    assert kafka.ends(streams).keys() == {"flow", "speed"}
    assert held(kafka, streams) == 3_000
    sent = [n for first, size in zip(ledger["first"], ledger["count"], strict=True) for n in range(first, first + size)]
    assert sent == list(range(3_000))
    for sent_ns, acked_ns in zip(ledger["sent_ns"], ledger["acked_ns"], strict=True):
        assert sent_ns < acked_ns


def test_the_speed_of_a_broker_is_seen_in_what_it_serves(kafka: Kafka, streams: list[Stream]) -> None:
    assert kafka.served_per_s(streams, 1.0) is None, "nothing is there yet"
    producer = Producer({"bootstrap.servers": kafka.address, "queue.buffering.max.messages": 1_000_000})
    for number in range(300_000):
        producer.produce(streams[number % 2].address, value=b"x" * 60)
    assert producer.flush(60) == 0
    # In more than one fetch, so that there are two moments.
    served = kafka.served_per_s(streams, 3.0)
    assert served is not None and served > 0


def test_an_early_stop_leaves_a_complete_ledger(
    worker: Callable[..., Any], kafka: Kafka, streams: list[Stream]
) -> None:
    events, ledger = worker(600.0, stop_early=True)
    assert [event["event"] for event in events][:2] == ["ready", "progress"]
    sent = {"sent": sum(ledger["count"]), "last_sent_ns": ledger["sent_ns"][-1]}
    assert events[-1] == {"event": "stopped", "errors": 0, **sent}
    assert held(kafka, streams) == sum(ledger["count"])


def is_stopped(thread: int) -> bool:
    """On Linux a thread has its own status; elsewhere only the process has one."""
    try:
        return psutil.Process(thread).status() == psutil.STATUS_STOPPED
    except psutil.NoSuchProcess:
        return True


def test_errors_are_counted_for_every_record_of_a_slice(
    shared: Bench, kafka: Kafka, streams: list[Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "PRODUCER_SETTINGS", {**sender.PRODUCER_SETTINGS, "message.timeout.ms": 1_000})
    sending = KafkaSender(
        {"bootstrap.servers": shared.transport_address}, {stream.name: stream.address for stream in streams}, 0
    )
    sending.connect(20.0)
    dataset = Traffic(1, 10)
    settled: list[int] = []
    sending.send(dataset.build(0, 30), settled.append)
    while not settled:
        sending.poll(0.1)
    assert settled == [0]
    (broker,) = [process for process in shared.supervisor.processes() if process.role == "broker"]
    os.kill(broker.pid, signal.SIGSTOP)
    try:
        # The signal takes a moment, and a thread that still runs could answer.
        while not all(is_stopped(thread.id) for thread in psutil.Process(broker.pid).threads()):
            pass
        sending.send(dataset.build(30, 40), settled.append)
        while len(settled) < 2:
            sending.poll(0.1)
    finally:
        os.kill(broker.pid, signal.SIGCONT)
    assert settled == [0, 40]


def test_a_full_queue_refuses_and_never_blocks(
    shared: Bench, kafka: Kafka, streams: list[Stream], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "QUEUE_RECORDS_MIN", 1)
    monkeypatch.setattr(sender, "PRODUCER_SETTINGS", {**sender.PRODUCER_SETTINGS, "linger.ms": 2_000})
    sending = KafkaSender(
        {"bootstrap.servers": shared.transport_address}, {stream.name: stream.address for stream in streams}, 100
    )
    sending.connect(20.0)
    settled: list[int] = []
    sending.send(Traffic(1, 10).build(0, 250), settled.append)
    sending.finish(20.0)
    assert settled == [150]
    assert held(kafka, streams) == 100
