"""Where records come from and copies of them go: Kafka topics, or queues and their collector."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition

from streamgauge import queue_protocol as wire
from streamgauge.codec import Message
from streamgauge.jvm.kafka_clients import settings_for
from streamgauge.protocol import Offsets

LOOK_S = 0.05
_ANSWER_S = 20.0
_PAUSE_S = 0.001
"""Between two looks at empty queues. A request for records would wait for the first one, and hold up due copies."""


class Arrived(NamedTuple):
    """A record, and where the next one of its partition is."""

    stream: str
    partition: int
    next_offset: int
    message: Message


class Clients(Protocol):
    """All raise OSError or RuntimeError when the transport is gone."""

    def start(self, *, at_the_end: bool) -> Offsets:
        """Begin at the start of all input or at its end; returns what is skipped."""

    def take(self, most: int, wait_s: float) -> list[Arrived]:
        """Up to so many records; waits for the first."""

    def publish(self, message: Message, value: bytes | None) -> None: ...

    def flush(self) -> None:
        """Hand over what was published so far."""

    def close(self) -> None: ...


def connect(job: Mapping[str, Any], *, headers: bool) -> Clients:
    return QueueClients(job) if job["transport"] == "queue" else KafkaClients(job, headers=headers)


class KafkaClients:
    def __init__(self, job: Mapping[str, Any], *, headers: bool) -> None:
        self._headers = headers
        self._output = job.get("output")
        self._failures: list[str] = []
        client = settings_for(job["endpoints"])
        self._consumer = Consumer(
            {
                **client,
                "group.id": job["run"],
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 100,
                "queued.min.messages": 100_000,
            }
        )
        self._producer = Producer(
            {
                **client,
                "enable.idempotence": True,
                "linger.ms": 0,
                "queue.buffering.max.messages": 2_000_000,
                "on_delivery": lambda error, _: self._failures.append(error.str()) if error else None,
            }
        )
        topics = job["inputs"].values()
        self._places = [TopicPartition(topic, partition) for topic in topics for partition in range(job["partitions"])]

    def start(self, *, at_the_end: bool) -> Offsets:
        offsets: Offsets = {place.topic: {} for place in self._places}
        ends = {}
        for place in self._places if at_the_end else ():
            ends[place] = self._consumer.get_watermark_offsets(place, timeout=_ANSWER_S)[1]
            offsets[place.topic][str(place.partition)] = ends[place]
        self._consumer.assign(
            [TopicPartition(at.topic, at.partition, ends.get(at, OFFSET_BEGINNING)) for at in self._places]
        )
        self._consumer.list_topics(timeout=_ANSWER_S)
        return offsets

    def take(self, most: int, wait_s: float) -> list[Arrived]:
        first = self._consumer.poll(wait_s)
        more = self._consumer.consume(most - 1, timeout=0) if first is not None and most > 1 else []
        arrived = []
        for record in [] if first is None else [first, *more]:
            if record.error():
                raise RuntimeError(record.error().str())
            headers = (record.headers() or ()) if self._headers else ()
            message = Message(record.key(), record.value(), headers)
            arrived.append(Arrived(record.topic(), record.partition(), record.offset() + 1, message))
        return arrived

    def publish(self, message: Message, value: bytes | None) -> None:
        """Waits while the queue is full: preloaded input can be read faster than results can be published."""
        while self._output is not None:
            try:
                self._producer.produce(self._output, value=value, key=message.key)
            except BufferError:
                self._producer.poll(LOOK_S)
            else:
                return

    def flush(self) -> None:
        self._producer.poll(0)
        if self._failures:
            raise RuntimeError(f"cannot publish a result: {self._failures[0]}")

    def close(self) -> None:
        self._producer.flush(10)
        self._consumer.close()


class QueueClients:
    """A record is acknowledged when it is read."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        addresses = [_address(queue) for queue in job["endpoints"]["queues"].split(",")]
        self._stream_addresses = job["inputs"]
        self._places = [(stream, number) for stream in job["inputs"] for number in range(len(addresses))]
        self._queues = {
            (stream, number): wire.open_stream(addresses[number], stream, _ANSWER_S) for stream, number in self._places
        }
        self._offsets = dict.fromkeys(self._places, 0)
        [output] = job["outputs"]
        self._collector, _ = wire.open_stream(_address(job["endpoints"]["collector"]), output, _ANSWER_S)
        self._frame: list[bytes] = []

    def start(self, *, at_the_end: bool) -> Offsets:
        skipped: Offsets = {address: {} for address in self._stream_addresses.values()}
        for stream, number in self._places if at_the_end else ():
            end = self._offsets[stream, number] = self._end((stream, number))
            skipped[self._stream_addresses[stream]][str(number)] = end
        return skipped

    def take(self, most: int, wait_s: float) -> list[Arrived]:
        until_s = time.monotonic() + wait_s
        while True:
            arrived: list[Arrived] = []
            for place in self._places:
                if (waiting := self._end(place) - self._offsets[place]) and len(arrived) < most:
                    arrived += self._fetch(place, min(waiting, most - len(arrived)))
            # Under a limit, each of them is the first in its turn.
            self._places = self._places[1:] + self._places[:1]
            left_s = until_s - time.monotonic()
            if arrived or left_s <= 0:
                return arrived
            time.sleep(min(_PAUSE_S, left_s))

    def _end(self, place: tuple[str, int]) -> int:
        connection, _ = self._queues[place]
        connection.sendall(wire.REQUEST.pack(wire.LOOK, 0, 0))
        end: int = wire.ENDS.unpack(wire.receive(connection, wire.ENDS.size))[2]
        return end

    def _fetch(self, place: tuple[str, int], most: int) -> list[Arrived]:
        (connection, width), offset, (stream, number) = self._queues[place], self._offsets[place], place
        connection.sendall(wire.REQUEST.pack(wire.FETCH, most, offset))
        _, count, gone = wire.ANSWER.unpack(wire.receive(connection, wire.ANSWER.size))
        if gone:
            raise RuntimeError(f"records from {offset} on are gone from the queue of {stream}")
        records = bytes(wire.receive(connection, count * width))
        self._offsets[place] = offset + count
        connection.sendall(wire.REQUEST.pack(wire.ACKNOWLEDGE, 0, offset + count))
        values = [records[start : start + width] for start in range(0, len(records), width)]
        address = self._stream_addresses[stream]
        return [Arrived(address, number, after, Message(None, value)) for after, value in enumerate(values, offset + 1)]

    def publish(self, message: Message, value: bytes | None) -> None:
        value = value or b""
        self._frame += (wire.RESULT.pack(0, len(value)), value)

    def flush(self) -> None:
        if self._frame:
            frame = b"".join(self._frame)
            self._frame = []
            self._collector.sendall(wire.LENGTH.pack(len(frame)) + frame)
            wire.receive(self._collector, wire.COUNT.size)

    def close(self) -> None:
        self.flush()
        for connection, _ in self._queues.values():
            connection.sendall(wire.REQUEST.pack(wire.LEAVE, 0, 0))
            connection.close()
        self._collector.close()


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)
