"""Kafka: an embedded broker on loopback, or yours. LogAppendTime timestamps everything."""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from streamgauge import jars
from streamgauge.contracts import Sender, Transport
from streamgauge.errors import EnvironmentProblem, UsageError, invalid
from streamgauge.jvm import kafka_clients
from streamgauge.jvm.java import find_java
from streamgauge.model import Positions, ProcessSpec, Stream
from streamgauge.transports.kafka import admission, broker, plain_reader
from streamgauge.transports.kafka.clients import ANSWER_S, Clients
from streamgauge.transports.kafka.topics import SEGMENT_BYTES, TOPIC_SETTINGS, TRIMMED_SETTINGS, offsets_json

if TYPE_CHECKING:
    from confluent_kafka import TopicPartition
    from pyspark.sql import DataFrame, SparkSession

CONFIG = ";config="
_RUN = re.compile(r"streamgauge\.([\w-]+-\d{8}-\d{6}-[0-9a-f]{4})[.-]")
"""The topics of a run, which its name is a part of."""
_LIVE_ANSWER_S = 2.0
_VISIBLE_ANSWER_S = 1.0
_READER = "streamgauge"
"""The group of the client that asks for ends and records; it never joins it."""


class Kafka(Transport):
    """``own`` is a broker that this run starts; otherwise ``bootstrap`` is an existing one."""

    name: ClassVar[str] = "kafka"
    title: ClassVar[str] = "Kafka"
    server_noun: ClassVar[str] = "broker"
    stream_noun: ClassVar[str] = "topic"
    jar_groups: ClassVar[tuple[str, ...]] = ("kafka",)
    transactional: ClassVar[bool] = True
    ports: ClassVar[int] = 2
    """Broker and controller."""
    memory_mb: ClassVar[int] = 800

    def __init__(
        self,
        bootstrap: str,
        *,
        own: bool,
        config: str = "",
        controller_port: int = 0,
        proxied: tuple[int, int] | None = None,
    ) -> None:
        """``config``: the file with the security of clients. ``proxied``: the port of the listener behind a proxy, and
        that of the proxy."""
        self.address = self.bootstrap = bootstrap
        self._config = config
        self.own = own
        self._controller_port = controller_port
        self._proxied = proxied
        self._created: list[str] = []
        self._clients = Clients(self.endpoints, own=own)

    @classmethod
    def client_versions(cls) -> dict[str, str]:
        return {"confluent-kafka": version("confluent-kafka")}

    @classmethod
    def check_address(cls, address: str) -> None:
        bootstrap, config = _parts(address)
        if config:
            kafka_clients.read(config).librdkafka  # noqa: B018  raises for what cannot be used
        hosts = [one.strip().rpartition(":") for one in bootstrap.split(",")]
        if not all(host and port.isascii() and port.isdigit() and int(port) < 65536 for host, _, port in hosts):
            raise invalid(f"--bootstrap {address}", "HOST:PORT, such as localhost:9092")

    @classmethod
    def secured(cls, address: str | None, config: Path) -> str:
        address = address or kafka_clients.read(str(config)).bootstrap
        if not address:
            raise UsageError(
                "--kafka-config needs the address of a broker",
                where=config,
                expected=f"--bootstrap HOST:PORT, or {kafka_clients.BOOTSTRAP} in the file",
            )
        return f"{address}{CONFIG}{config.expanduser().absolute()}"

    @classmethod
    def prepare(cls, yours: str | None, ports: Sequence[int]) -> Kafka:
        if yours is not None:
            bootstrap, config = _parts(yours)
            return cls(bootstrap, own=False, config=config)
        port, controller_port, *more = ports
        proxied = (more[0], more[1]) if more else None
        return cls(f"127.0.0.1:{port}", own=True, controller_port=controller_port, proxied=proxied)

    @classmethod
    def attach(cls, described: Mapping[str, Any]) -> Kafka:
        return cls(described["bootstrap"], own=False, config=described.get("config", ""))

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "own": self.own,
            **self.endpoints,
            "topic_settings": dict(self._topic_settings),
        }

    @property
    def _topic_settings(self) -> Mapping[str, str]:
        return TRIMMED_SETTINGS if self.trims else TOPIC_SETTINGS

    @property
    def endpoints(self) -> dict[str, str]:
        return {"bootstrap": self.bootstrap, **({"config": self._config} if self._config else {})}

    def client_ports(self) -> frozenset[int]:
        if not self.own:
            # As the brokers advertise themselves: a client leaves the bootstrap address once it has asked there.
            return frozenset(one.port for one in self._clients.metadata().brokers.values())
        port = int(self.bootstrap.rpartition(":")[2])
        return frozenset({port, self._proxied[1]} if self._proxied else {port})

    def behind_proxy(self) -> Kafka:
        assert self._proxied is not None
        return Kafka(f"127.0.0.1:{self._proxied[1]}", own=self.own)

    def plan(self, work_dir: Path, *, restarts: bool = False) -> Sequence[ProcessSpec]:
        if not self.own:
            return ()
        return broker.plan(
            work_dir,
            java=find_java().path,
            jars=jars.locations("kafka"),
            port=int(self.bootstrap.rpartition(":")[2]),
            controller_port=self._controller_port,
            proxied=self._proxied,
            restarts=restarts,
            segment_bytes=SEGMENT_BYTES if self.trims else None,
            joined_together=self.group_members > 1,
        )

    def check_reachable(self) -> None:
        if not self.own:
            admission.check(self._clients.settings, self._config)

    def create(self, streams: Sequence[Stream]) -> None:
        from confluent_kafka.admin import NewTopic

        leader = min(self._clients.metadata().brokers)
        topics = [
            NewTopic(
                stream.address,
                num_partitions=stream.partitions,
                # One broker leads every partition, so that one clock timestamps input and output.
                replica_assignment=[[leader]] * stream.partitions,
                config=dict(self._topic_settings),
            )
            for stream in streams
        ]
        self._created = [stream.address for stream in streams]
        for topic, future in self._clients.admin().create_topics(topics, operation_timeout=ANSWER_S).items():
            self._clients.result(future, f"cannot create topic {topic}", ANSWER_S)
        self.ends(streams)

    def remove(self) -> None:
        """Delete the topics that ``create`` made, and internal topics of the engine, named after the run's group.

        An embedded broker is discarded as a whole.
        """
        created, self._created = self._created, []
        if self.own or not created:
            return
        group = created[0].rpartition(".")[0]
        created += [topic for topic in self._clients.metadata().topics if topic.startswith(f"{group}-")]
        self.remove_streams(created)

    def left_behind(self, active: Collection[str]) -> list[str]:
        runs = {topic: found[1] for topic in self._clients.metadata().topics if (found := _RUN.match(topic))}
        return sorted(topic for topic, run in runs.items() if run not in active)

    def remove_streams(self, names: Sequence[str]) -> None:
        removals = self._clients.admin().delete_topics(list(names), operation_timeout=ANSWER_S) if names else {}
        for topic, future in removals.items():
            try:
                self._clients.result(future, f"cannot delete topic {topic}", ANSWER_S)
            except EnvironmentProblem:
                if topic in self._clients.metadata().topics:
                    raise

    def adopt(self, streams: Sequence[Stream]) -> None:
        self._created = [stream.address for stream in streams]

    def sender(self, streams: Sequence[Stream], queue_records: int, index: int = 0) -> Sender:
        from streamgauge.transports.kafka.sender import KafkaSender

        topics = {stream.name: stream.address for stream in streams}
        return KafkaSender(kafka_clients.settings_for(self.endpoints), topics, queue_records)

    def positions(self, streams: Sequence[Stream], group: str | None = None) -> Positions:
        try:
            ends = self._ask_ends(streams, timeout_s=_LIVE_ANSWER_S)
        except EnvironmentProblem:
            # The client may never answer again, although the broker that it has lost was started again.
            self._clients.replace_admin()
            raise
        appended = {name: sum(partitions.values()) for name, partitions in ends.items()}
        return Positions(appended, self._committed(group, streams) if group else {}, ends)

    def _committed(self, group: str, streams: Sequence[Stream]) -> dict[str, dict[int, int]]:
        """Empty if nothing was committed, the group does not exist yet, or the broker does not answer."""
        from confluent_kafka import TopicPartition

        inputs = {stream.address: stream for stream in streams if stream.role == "input"}
        wanted = [
            TopicPartition(topic, partition)
            for topic, stream in inputs.items()
            for partition in range(stream.partitions)
        ]
        what = f"cannot read the committed offsets of group {group}"
        # Not through the admin client, which crashed with a segmentation fault in librdkafka 2.16.0.
        try:
            committed = self._clients.answer(
                lambda: self._clients.reader(group).committed(wanted, timeout=_LIVE_ANSWER_S), what
            )
        except EnvironmentProblem:
            return {}
        by_stream: dict[str, dict[int, int]] = defaultdict(dict)
        for where in committed:
            if where.error is None and where.offset >= 0:
                by_stream[inputs[where.topic].name][where.partition] = where.offset
        return by_stream

    def ends(self, streams: Sequence[Stream]) -> dict[str, dict[int, int]]:
        """Retries until the deadline: the broker announces topics shortly before it leads them."""
        began = time.monotonic()
        while True:
            try:
                return self._ask_ends(streams, timeout_s=5.0)
            except EnvironmentProblem:
                waited_s = time.monotonic() - began
                if waited_s > ANSWER_S:
                    raise
                if waited_s > 1:
                    # The client may have cached that a partition has no leader; a new one has no cache.
                    self._clients.replace_admin()
            time.sleep(0.02)

    def _ask_ends(
        self, streams: Sequence[Stream], timeout_s: float, *, committed: bool = True
    ) -> dict[str, dict[int, int]]:
        from confluent_kafka import IsolationLevel, TopicPartition
        from confluent_kafka.admin import OffsetSpec

        wanted = {
            TopicPartition(stream.address, partition): OffsetSpec.latest()
            for stream in streams
            for partition in range(stream.partitions)
        }
        isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        answers = self._clients.admin().list_offsets(wanted, isolation_level=isolation, request_timeout=timeout_s)
        names = {stream.address: stream.name for stream in streams}
        ends: dict[str, dict[int, int]] = {stream.name: {} for stream in streams}
        for where, future in answers.items():
            what = f"cannot read the end offsets of topic {where.topic}"
            offset = self._clients.result(future, what, timeout_s).offset
            if offset < 0:
                # The client's way to report a timeout of a request for several partitions.
                raise EnvironmentProblem(what, where=self.bootstrap, got=f"no answer within {timeout_s:g} s")
            ends[names[where.topic]][where.partition] = offset
        return ends

    def hidden(self, stream: Stream) -> int:
        # In this order, so that records appended in between do not count as hidden.
        written = self._ask_ends([stream], _LIVE_ANSWER_S, committed=False)[stream.name]
        visible = self._ask_ends([stream], _LIVE_ANSWER_S)[stream.name]
        return sum(max(end - visible[partition], 0) for partition, end in written.items())

    def visible_ends(self, stream: Stream) -> dict[int, int]:
        """One request for all partitions: half the cost of querying watermarks or using the admin client."""
        from confluent_kafka import OFFSET_END, TopicPartition

        # In place of a time, the protocol interprets this number as the end of the partition.
        wanted = [TopicPartition(stream.address, partition, OFFSET_END) for partition in range(stream.partitions)]
        what = f"cannot read the end offsets of topic {stream.address}"
        offsets = self._clients.answer(partial(self._by_time, wanted, _VISIBLE_ANSWER_S), what)
        for where in offsets:
            if where.error is not None or where.offset < 0:
                raise EnvironmentProblem(what, where=self.bootstrap, got=where.error or where.offset)
        return {where.partition: where.offset for where in offsets}

    def offsets_at(self, streams: Sequence[Stream], moment_ms: int) -> dict[str, dict[int, int]]:
        from confluent_kafka import TopicPartition

        # Before the question: what is appended after this end was appended after the moment, too.
        ends = self.ends(streams)
        offsets: dict[str, dict[int, int]] = {}
        for stream in streams:
            wanted = [TopicPartition(stream.address, partition, moment_ms) for partition in range(stream.partitions)]
            what = f"cannot read the offsets of topic {stream.address} by time"
            found = self._clients.answer(partial(self._by_time, wanted, ANSWER_S), what)
            if problem := next((where.error for where in found if where.error is not None), None):
                raise EnvironmentProblem(what, where=self.bootstrap, got=problem)
            offsets[stream.name] = {
                # Without a record of that moment or later the answer is a negative number.
                where.partition: where.offset if where.offset >= 0 else ends[stream.name][where.partition]
                for where in found
            }
        return offsets

    def _by_time(self, wanted: Sequence[TopicPartition], timeout_s: float) -> Any:
        return self._clients.reader(_READER).offsets_for_times(list(wanted), timeout=timeout_s)

    def trim(self, stream: Stream, below: Mapping[int, int]) -> None:
        from confluent_kafka import TopicPartition

        wanted = [TopicPartition(stream.address, partition, offset) for partition, offset in below.items() if offset]
        removals = self._clients.admin().delete_records(wanted, request_timeout=ANSWER_S).values() if wanted else ()
        for future in removals:
            self._clients.result(future, f"cannot remove records from topic {stream.address}", ANSWER_S)

    def served_per_s(self, streams: Sequence[Stream], most_s: float) -> float | None:
        records = {(s.address, partition): end for s in streams for partition, end in self.ends([s])[s.name].items()}
        # A client of its own: while one thread consumes, requests of another thread wait, once for a minute.
        return plain_reader.served_per_s(partial(self._clients.new_reader, _READER), records, most_s)

    def read(
        self,
        spark: SparkSession,
        stream: Stream,
        ends: Mapping[int, int],
        *,
        begins: Mapping[int, int] | None = None,
        headers: bool = False,
    ) -> DataFrame:
        from pyspark.sql import functions as f

        settings = kafka_clients.java_settings_for(self.endpoints)
        frame = (
            spark.read.format("kafka")
            .options(**{f"kafka.{key}": value for key, value in settings.items()})
            .option("kafka.isolation.level", "read_committed")
            # Larger fetches than the default: reading takes a quarter less time.
            .option("kafka.max.poll.records", "10000")
            .option("kafka.max.partition.fetch.bytes", str(8 * 1024 * 1024))
            .option("includeHeaders", "true" if headers else "false")
            .option("subscribe", stream.address)
            .option("startingOffsets", "earliest" if begins is None else offsets_json(stream, begins))
            .option("endingOffsets", offsets_json(stream, ends))
            .load()
        )
        more = ["headers"] if headers else []
        return frame.select(
            "key", "value", *more, "partition", "offset", f.unix_millis("timestamp").alias("appended_ms")
        )


def _parts(address: str) -> tuple[str, str]:
    """``HOST:PORT;config=FILE`` as the address and the file with the security of clients, if there is one."""
    bootstrap, _, config = address.partition(CONFIG)
    return bootstrap, config
