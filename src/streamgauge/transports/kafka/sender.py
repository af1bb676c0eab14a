"""Sends slices of records to Kafka."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from streamgauge.contracts import Records
from streamgauge.errors import EnvironmentProblem

QUEUE_RECORDS_MIN = 100_000
RECORD_BYTES_MAX = 1_024
"""The client's queue is bounded in records and in bytes; this keeps the limit in bytes out of the way."""
LINGER_MS = 1
MESSAGE_TIMEOUT_MS = 120_000

PRODUCER_SETTINGS: Mapping[str, Any] = {
    "acks": "all",
    "enable.idempotence": True,
    "compression.type": "lz4",
    "linger.ms": LINGER_MS,
    "batch.size": 1_000_000,
    "batch.num.messages": 10_000,
    # The partitioner of the Java client, so that topics are co-partitioned for every engine.
    "partitioner": "murmur2_random",
    "message.timeout.ms": MESSAGE_TIMEOUT_MS,
    # Success callbacks would cost more than sending: see _Delivery.
    "delivery.report.only.error": True,
}

_BY_KEY = -1
"""Leaves the choice of the partition to the partitioner."""
_REPORT_EVERY_S = 5.0


CLIENT_ID = "streamgauge.load"
"""Lets the broker's quotas and logs distinguish the load from the systems under test."""


class _Delivery:
    """The delivery callback of all records of one slice.

    The client calls it for each record that failed, and holds a reference to it for each record that is still in
    flight. It is therefore deleted when the slice is settled: every error is counted, and no Python code runs for a
    record that succeeds.
    """

    __slots__ = ("errors", "settled")

    def __init__(self, settled: Callable[[int], None]) -> None:
        self.errors = 0
        self.settled = settled

    def __call__(self, _error: KafkaError, _message: object) -> None:
        self.errors += 1

    def __del__(self) -> None:
        self.settled(self.errors)


class KafkaSender:
    """Implements contracts.Sender. A full queue refuses records, and never blocks."""

    def __init__(self, client: Mapping[str, Any], topics: Mapping[str, str], queue_records: int) -> None:
        """``client`` has the address and the security."""
        self._bootstrap = client["bootstrap.servers"]
        self._topics = dict(topics)
        self._reported_s = -_REPORT_EVERY_S
        queue_records = max(QUEUE_RECORDS_MIN, queue_records)
        self._producer = Producer(
            {
                **PRODUCER_SETTINGS,
                **client,
                "client.id": CLIENT_ID,
                "queue.buffering.max.messages": queue_records,
                "queue.buffering.max.kbytes": queue_records * RECORD_BYTES_MAX // 1_000,
                "error_cb": self._report_error,
                # Without a broker the client logs many times a second; error_cb gets the same errors.
                "log_level": 0,
            }
        )

    def connect(self, timeout_s: float) -> None:
        """See Sender.connect."""
        try:
            topics = self._producer.list_topics(timeout=timeout_s).topics
        except KafkaException as problem:
            raise EnvironmentProblem(
                f"the Kafka broker did not answer within {timeout_s:g} s",
                where=self._bootstrap,
                got=problem.args[0].str(),
                hint="check that the broker is running and that the address is its advertised listener",
            ) from None
        for topic in self._topics.values():
            if topic not in topics or topics[topic].error is not None:
                raise EnvironmentProblem("the topic does not exist", where=self._bootstrap, got=topic)

    def send(self, slice_: Mapping[str, Records], settled: Callable[[int], None]) -> None:
        """See Sender.send."""
        delivery = _Delivery(settled)
        # Faster than produce_batch, which needs a dict for each record and looks up six keys in it.
        produce = self._producer.produce
        for stream, (_, keys, values, headers) in slice_.items():
            topic = self._topics[stream]
            if headers is None:
                for key, value in zip(keys, values, strict=True):
                    try:
                        produce(topic, value, key, _BY_KEY, delivery)
                    except (BufferError, KafkaException):
                        delivery.errors += 1
                continue
            for key, value, header in zip(keys, values, headers, strict=True):
                try:
                    produce(topic, value, key, _BY_KEY, delivery, headers=header)
                except (BufferError, KafkaException):
                    delivery.errors += 1

    def poll(self, timeout_s: float = 0.0) -> None:
        """See Sender.poll."""
        self._producer.poll(timeout_s)

    def finish(self, timeout_s: float) -> None:
        """See Sender.finish."""
        if self._producer.flush(timeout_s):
            # Purged records are reported as failed; the short flush delivers these reports.
            self._producer.purge()
            self._producer.flush(1.0)

    def serve(self, stop: threading.Event) -> None:
        """Readers fetch from the broker."""

    def _report_error(self, error: KafkaError) -> None:
        now_s = time.monotonic()
        if now_s - self._reported_s >= _REPORT_EVERY_S:
            self._reported_s = now_s
            sys.stderr.write(f"kafka client: {error.str()}\n")
            sys.stderr.flush()
