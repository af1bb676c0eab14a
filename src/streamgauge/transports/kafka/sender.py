"""Sends slices of records to Kafka."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer

from streamgauge.contracts import Records
from streamgauge.errors import EnvironmentProblem

QUEUE_RECORDS_MIN = 100_000
RECORD_BYTES_MAX = 1_024
"""The client's queue is bounded in records and in bytes; this keeps bytes from being the tighter bound."""
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
    # Reports of success would cost more than sending: see _Delivery.
    "delivery.report.only.error": True,
}

_BY_KEY = -1
"""The partition argument that leaves the choice to the partitioner."""
_COMPLAIN_EVERY_S = 5.0


CLIENT_ID = "streamgauge.load"
"""So a broker's quotas and logs know the load from the systems under test."""


class _Delivery:
    """The delivery callback of all records of one slice.

    The client calls it for each record that failed, and holds a reference to it for each record that it has
    not reported on yet. So it goes away with the last report, which is when the slice is settled: every error
    is counted, and no Python code runs for a record that arrives.
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

    def __init__(self, bootstrap: str, topics: Mapping[str, str], queue_records: int) -> None:
        self._bootstrap = bootstrap
        self._topics = dict(topics)
        self._complained_s = -_COMPLAIN_EVERY_S
        queue_records = max(QUEUE_RECORDS_MIN, queue_records)
        self._producer = Producer(
            {
                **PRODUCER_SETTINGS,
                "bootstrap.servers": bootstrap,
                "client.id": CLIENT_ID,
                "queue.buffering.max.messages": queue_records,
                "queue.buffering.max.kbytes": queue_records * RECORD_BYTES_MAX // 1_000,
                "error_cb": self._complain,
                # A client without a broker repeats itself many times a second; error_cb is told the same.
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
                hint="check that the broker runs and that the address is its advertised listener",
            ) from None
        for topic in self._topics.values():
            if topic not in topics or topics[topic].error is not None:
                raise EnvironmentProblem("the topic does not exist", where=self._bootstrap, got=topic)

    def send(self, slice_: Mapping[str, Records], settled: Callable[[int], None]) -> None:
        """See Sender.send."""
        delivery = _Delivery(settled)
        # One by one is faster than produce_batch, which wants a dict for each record and looks six keys up in it.
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
            # What is purged is reported as failed; the short flush serves these reports.
            self._producer.purge()
            self._producer.flush(1.0)

    def _complain(self, error: KafkaError) -> None:
        now_s = time.monotonic()
        if now_s - self._complained_s >= _COMPLAIN_EVERY_S:
            self._complained_s = now_s
            sys.stderr.write(f"kafka client: {error.str()}\n")
            sys.stderr.flush()
