"""Transactions on a real broker: when their records become visible, and how a run measures that."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from driving import Measure
from synthetic import START_NS, Output, SyntheticRun, message

from streamgauge.conformance.suite import Bench
from streamgauge.errors import EnvironmentProblem
from streamgauge.evaluate import evaluate
from streamgauge.measure.visibility import Visibility
from streamgauge.model import NS_PER_MS, Stream
from streamgauge.model.samples import PositionsSample, VisibleSample
from streamgauge.rundir import RunDir
from streamgauge.transports.kafka import Kafka

ENGINE = (sys.executable, str(Path(__file__).parent / "transactional_engine.py"))
DEADLINE_S = 60.0
LOOKS = 5


class Watched:
    """A stream whose end offsets are polled continuously."""

    def __init__(self, kafka: Kafka, stream: Stream) -> None:
        self._kafka = kafka
        self._stream = stream
        self._looked = threading.Semaphore(0)
        self._noted = threading.Condition()
        self.lines: list[VisibleSample] = []
        self.watching = Visibility(self._ends, self._note)

    def _ends(self) -> Mapping[int, int]:
        ends = self._kafka.visible_ends(self._stream)
        self._looked.release()
        return ends

    def _note(self, lines: Sequence[VisibleSample]) -> None:
        with self._noted:
            self.lines += lines
            self._noted.notify_all()

    def await_looks(self) -> None:
        """Wait for some polls that began after this call."""
        while self._looked.acquire(blocking=False):
            pass
        for _ in range(LOOKS):
            assert self._looked.acquire(timeout=DEADLINE_S)

    def await_ends(self, ends: Mapping[int, int]) -> None:
        with self._noted:
            reached = self._noted.wait_for(
                lambda: {line.partition: line.end for line in self.lines} == ends, DEADLINE_S
            )
            assert reached, self.lines


@pytest.fixture
def kafka(shared: Bench) -> Kafka:
    return Kafka.attach({"bootstrap": shared.transport_address})


@pytest.fixture
def watched(kafka: Kafka) -> Iterator[Watched]:
    stream = Stream("output", "visible-output", 2, "output")
    kafka.create([stream])
    watcher = Watched(kafka, stream)
    watcher.watching.begin()
    yield watcher
    watcher.watching.end()


def publish(producer: Producer, *partitions: int) -> None:
    producer.begin_transaction()
    for partition in partitions:
        producer.produce("visible-output", value=b"x", partition=partition)
    assert producer.flush(DEADLINE_S) == 0


def test_records_are_visible_when_their_transaction_is_committed(shared: Bench, watched: Watched, kafka: Kafka) -> None:
    producer = Producer({"bootstrap.servers": shared.transport_address, "transactional.id": "visible", "linger.ms": 0})
    producer.init_transactions(DEADLINE_S)
    publish(producer, 0, 0, 1)
    appended_ns = time.time_ns()
    watched.await_looks()
    assert watched.lines == [], "the broker has them, but they cannot be read yet"
    stream = Stream("output", "visible-output", 2, "output")
    assert kafka.hidden(stream) == 3
    committing_ns = time.time_ns()
    producer.commit_transaction(DEADLINE_S)
    watched.await_ends({0: 3, 1: 2})  # the commit marker takes an offset, too
    for line in watched.lines:
        assert appended_ns < line.since_ns, "a poll in between showed nothing"
        assert line.t_ns >= committing_ns
        assert line.t_ns - appended_ns >= committing_ns - appended_ns

    publish(producer, 1)
    producer.abort_transaction(DEADLINE_S)
    watched.await_ends({0: 3, 1: 4})
    assert kafka.hidden(stream) == 0
    assert kafka.visible_ends(stream) == kafka.ends([stream])["output"] == {0: 3, 1: 4}


def test_committed_records_count_as_consumed(shared: Bench, kafka: Kafka) -> None:
    streams = [Stream("flow", "committed-flow", 2, "input"), Stream("output", "committed-output", 1, "output")]
    kafka.create(streams)
    assert kafka.positions(streams, "committed").consumed is None, "the group does not exist yet"
    consumer = Consumer({"bootstrap.servers": shared.transport_address, "group.id": "committed"})
    consumer.commit(offsets=[TopicPartition("committed-flow", 1, 7)], asynchronous=False)
    assert kafka.positions(streams, "committed").consumed == 7
    consumer.commit(offsets=[TopicPartition("committed-flow", 0, 3)], asynchronous=False)
    consumer.commit(offsets=[TopicPartition("committed-output", 0, 100)], asynchronous=False)
    assert kafka.positions(streams, "committed").consumed == 10, "of the inputs only"
    assert kafka.positions(streams).consumed is None
    consumer.close()


def test_a_broker_that_does_not_answer_is_an_error(shared: Bench, kafka: Kafka) -> None:
    stream = Stream("output", "silent-output", 2, "output")
    kafka.create([stream])
    assert kafka.visible_ends(stream) == {0: 0, 1: 0}
    (broker,) = [process for process in shared.supervisor.processes() if process.role == "broker"]
    shared.supervisor.pause("broker")
    try:
        while psutil.Process(broker.pid).status() != psutil.STATUS_STOPPED:
            pass
        with pytest.raises(EnvironmentProblem, match="end offsets of topic silent-output"):
            kafka.positions([stream], "nobody")
        with pytest.raises(EnvironmentProblem, match="end offsets of topic silent-output"):
            kafka.visible_ends(stream)
    finally:
        shared.supervisor.resume("broker")
    assert kafka.ends([stream])["output"] == {0: 0, 1: 0}


def test_a_transactional_run(measure: Measure, shared: Bench) -> None:
    run, summary = measure("command", program=ENGINE, delivery="exactly-once", stage="ingest", quiet_s=2)
    assert (summary.verdict, summary.reasons) == ("VALID", [])
    results = summary.results
    assert results["matched"] == results["expected"] == 2500
    # The aborted record does not count as output: it would be unexpected.
    assert (results["duplicates"], results["unexpected"]) == (0, 0)
    assert run.outcome().drain == "quiet"

    visible_ms = stamps_ms(run)
    commit_ns = commits(run)
    rows = pq.read_table(run.recorded("output")).to_pylist()
    assert len(rows) == len(visible_ms) >= 2500
    for row in rows:
        at_ms = visible_ms[row["partition"], row["offset"]]
        assert at_ms >= row["appended_ms"]
        assert at_ms >= commit_ns[json.loads(row["value"])["n_seq"]] // NS_PER_MS

    # Each transaction delays its first record by half a second.
    assert summary.latency_ms["latest"]["max"] >= 500
    resolution = summary.visible_resolution_ms
    assert 0 < resolution["p50"] <= resolution["p99"] <= resolution["max"]

    last = run.samples(PositionsSample)[-1]
    assert last.consumed == last.appended["flow"] + last.appended["speed"], "as its group has committed"

    first = run.summary_path.read_bytes()
    run.summary_path.unlink()
    shared.evaluator.evaluate(run, lambda text: None)
    assert run.summary_path.read_bytes() == first, "evaluated again"


@pytest.mark.full
def test_undeclared_transactions_are_noticed_and_stamped(measure: Measure) -> None:
    run, summary = measure("command", program=ENGINE, stage="ingest")
    engine = run.manifest().engine
    assert (engine.delivery, engine.transactional) == ("at-least-once", False)
    assert (summary.verdict, summary.reasons) == ("VALID", [])
    assert any("command writes in transactions" in warning for warning in summary.warnings)
    # Each transaction delays its first record by half a second.
    assert summary.latency_ms["latest"]["max"] >= 500
    assert summary.visible_resolution_ms["max"] > 0


@pytest.mark.full
@pytest.mark.parametrize("positions", ["in the transaction", "ahead"])
def test_the_drain_waits_for_the_last_commit(measure: Measure, monkeypatch: pytest.MonkeyPatch, positions: str) -> None:
    """The second transaction ends 20 s after the first record. By then a drain would have ended by silence, because the
    load ends after 12 s. Uncommitted input, or results that cannot be read yet, must keep the drain waiting."""
    monkeypatch.setenv("HELD_S", "10")
    monkeypatch.setenv("POSITIONS", positions)
    run, summary = measure("command", program=ENGINE, delivery="exactly-once", stage="ingest", measured_s=10)
    outcome = run.outcome()
    assert outcome.drain == "quiet"
    assert outcome.drain_end_ns > run.samples(VisibleSample)[-1].t_ns
    assert summary.results["matched"] == summary.results["expected"] == 5500


def stamps_ms(run: RunDir) -> dict[tuple[int, int], int]:
    """When each output offset became visible, computed naively."""
    by_place: dict[tuple[int, int], int] = {}
    seen: dict[int, int] = {}
    recorded = {(row["partition"], row["offset"]) for row in pq.read_table(run.recorded("output")).to_pylist()}
    for line in run.samples(VisibleSample):
        partition = line.partition
        for offset in range(seen.get(partition, 0), line.end):
            if (partition, offset) in recorded:
                by_place[partition, offset] = line.t_ns // NS_PER_MS
        seen[partition] = line.end
    return by_place


def commits(run: RunDir) -> dict[int, int]:
    """When the commit of each record began, as reported by the engine."""
    commits_ns = {}
    for line in run.log("engine").read_text(encoding="utf-8").splitlines():
        if '"commit_ns"' in line:
            event: dict[str, Any] = json.loads(line[line.index("{") :])
            commits_ns |= dict.fromkeys(event["n_seq"], event["commit_ns"])
    return commits_ns


def line(partition: int, end: int, at_ms: int) -> VisibleSample:
    t_ns = START_NS + at_ms * NS_PER_MS
    return VisibleSample(t_ns=t_ns, since_ns=t_ns - 20 * NS_PER_MS, partition=partition, end=end)


def transactional() -> SyntheticRun:
    """Ten records per second, even ones in partition 0; each transaction commits half a second after its end."""
    made = SyntheticRun(delivery="exactly-once")
    made.outputs = [Output(n, 20, message(n), partition=n % 2) for n in made.inputs]
    made.visible = [
        line(partition, 5 * second, 1000 * second + 500 + 100 * partition)
        for second in range(1, 5)
        for partition in (0, 1)
    ]
    return made


def test_latency_counts_until_a_result_is_visible(spark: Any, tmp_path: Path) -> None:
    summary = evaluate(spark, transactional().write(tmp_path / "run"))
    assert (summary.verdict, summary.reasons) == ("VALID", [])
    assert summary.results["matched"] == summary.results["expected"] == 30
    # Records 10 … 19, due at 1.0 … 1.9 s, are visible at 2.5 s if even and at 2.6 s if odd:
    # 1500, 1500, 1300, 1300 … 700, 700; and those of the next second likewise.
    total = summary.latency_ms["total"]
    assert (total["count"], total["p50"], total["max"], total["mean"]) == (20, 1100.0, 1500.0, 1100.0)
    assert summary.latency_ms["latest"]["max"] == 1497.0
    assert summary.visible_resolution_ms == {"p50": 20.0, "p99": None, "max": 20.0}
    seconds = pq.read_table(tmp_path / "run/measures/seconds.parquet").to_pylist()
    assert [row["output"] for row in seconds][:6] == [0, 10, 10, 10, 10, 0]
    # In a second, on average 5.47 of its ten records wait, plus five and five of the previous one until 0.5 and 0.6 s.
    assert [row["backlog"] for row in seconds][:6] == pytest.approx([5.47, 10.97, 10.97, 10.97, 5.5, 0])


def test_results_that_never_became_visible_do_not_count(spark: Any, tmp_path: Path) -> None:
    """Records 30 to 39 belong to the tail; of 20 to 29 the odd ones stay hidden."""
    made = transactional()
    made.visible = [one for one in made.visible or () if not (one.partition == 1 and one.end >= 15)]
    summary = evaluate(spark, made.write(tmp_path / "run"))
    assert summary.results["matched"] == 25
    assert summary.results["unexpected"] == 0
    assert summary.verdict == "INVALID", "records were read that were never seen: not the engine's fault"
    assert "10 results were recorded, but it is not known when they became visible" in summary.reasons


def test_timestamps_of_this_machine_do_not_need_the_brokers_clock(spark: Any, tmp_path: Path) -> None:
    made = transactional()
    made.broker_ahead_ms = 50
    summary = evaluate(spark, made.write(tmp_path / "run"))
    assert summary.latency_ms["total"]["p50"] == 1100.0
    assert summary.latency_ms["latest"]["p50"] is None
    assert summary.latency_ms["generator_share"]["p50"] is None
    assert any("the processing latency is not known" in warning for warning in summary.warnings)
