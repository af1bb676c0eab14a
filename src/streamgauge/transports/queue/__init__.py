"""A transport without a broker: queues in the memory of the load workers, and a collector of results.

Every load worker is one partition of every input; the output has one partition. Nothing is on disk between them.
"""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from streamgauge import queue_protocol as wire
from streamgauge.contracts import Sender, Transport
from streamgauge.errors import EnvironmentProblem, UsageError
from streamgauge.jvm.spark import literal_path
from streamgauge.model import TRANSPORT_GROUP, Positions, ProcessSpec, Ready, Stop, Stream
from streamgauge.transports.queue.listener import LOOPBACK

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ANSWER_S = 5.0
_NO_SLICES = "records that were read are gone"


class Queue(Transport):
    name: ClassVar[str] = "queue"
    title: ClassVar[str] = "Queue"
    server_noun: ClassVar[str] = "collector"
    stream_noun: ClassVar[str] = "queue"
    in_load: ClassVar[bool] = True
    stamps_handing: ClassVar[bool] = True
    complete_when_stopped: ClassVar[bool] = True
    memory_mb: ClassVar[int] = 150
    own = True

    def __init__(self, ports: Sequence[int], directory: Path) -> None:
        """``ports``: the collector's, then that of each load worker. ``directory``: where the files are."""
        self._ports = tuple(ports)
        self._directory = directory
        self.address = f"{LOOPBACK}:{ports[0]}"
        self._connections: dict[tuple[int, str], socket.socket] = {}
        self._lock = threading.Lock()

    @classmethod
    def client_versions(cls) -> Mapping[str, str]:
        return {}

    @classmethod
    def check_address(cls, address: str) -> None:
        raise UsageError(
            "the queues are started by each run", got=address, hint="leave out --bootstrap, or --set transport=kafka"
        )

    @classmethod
    def prepare(cls, yours: str | None, ports: Sequence[int]) -> Self:
        if yours is not None:
            cls.check_address(yours)
        return cls(ports, Path())

    @classmethod
    def attach(cls, described: Mapping[str, Any]) -> Self:
        transport = cls(described["ports"], Path(described["directory"]))
        transport.widths, transport.bound_records = described["widths"], described["bound_records"]
        return transport

    def describe(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "own": True,
            "ports": list(self._ports),
            "directory": str(self._directory),
            "widths": dict(self.widths),
            "bound_records": self.bound_records,
        }

    @property
    def endpoints(self) -> Mapping[str, str]:
        return {
            "queues": ",".join(f"{LOOPBACK}:{port}" for port in self._ports[1:]),
            "collector": self.address,
        }

    def client_ports(self) -> frozenset[int]:
        return frozenset(self._ports)

    def behind_proxy(self) -> Self:
        raise UsageError(
            "a connection to a queue cannot be cut",
            hint="pause or kill a process instead, or --set transport=kafka",
        )

    def plan(self, work_dir: Path, *, restarts: bool = False) -> Sequence[ProcessSpec]:
        self._directory = work_dir / "queue"
        module = "streamgauge.transports.queue.collector"
        return (
            ProcessSpec(
                role="collector",
                group=TRANSPORT_GROUP,
                argv=[sys.executable, "-P", "-m", module, str(self._ports[0]), str(self._directory), "output"],
                # Makes the directory.
                files={self._directory / "README": "What passed the queues and the collector.\n"},
                ready=Ready("event", "ready", timeout_s=30),
                stop=Stop("stdin", grace_s=60),
            ),
        )

    def create(self, streams: Sequence[Stream]) -> None:
        """The load workers have them."""

    def remove(self) -> None:
        """They end with their processes; only connections are left to close."""
        with self._lock:
            for connection in self._connections.values():
                connection.close()
            self._connections.clear()

    def adopt(self, streams: Sequence[Stream]) -> None:
        """There is nothing to remove."""

    def partitions(self, role: Literal["input", "output"], asked: int, generators: int) -> int:
        return generators if role == "input" else 1

    def sender(self, streams: Sequence[Stream], queue_records: int, index: int = 0) -> Sender:
        from streamgauge.protocol import emit
        from streamgauge.transports.queue.sender import QueueSender

        def give_out(reason: str) -> None:
            emit("gave-out", message=reason)

        widths = {stream.name: self.widths[stream.name] for stream in streams}
        return QueueSender(widths, self._ports[1 + index], self._directory, index, self.bound_records, give_out)

    def positions(self, streams: Sequence[Stream], group: str | None = None) -> Positions:
        """What was handed over counts as consumed. Raises EnvironmentProblem."""
        ends: dict[str, dict[int, int]] = {}
        handed: dict[str, dict[int, int]] = {}
        for stream in streams:
            if stream.role == "output":
                ends[stream.name] = {0: self._results(stream)}
            else:
                looks = {place: self._look(place, stream) for place in range(stream.partitions)}
                ends[stream.name] = {place: look.end for place, look in looks.items()}
                handed[stream.name] = {place: look.handed for place, look in looks.items()}
        return Positions({name: sum(of.values()) for name, of in ends.items()}, handed, ends)

    def ends(self, streams: Sequence[Stream]) -> dict[str, dict[int, int]]:
        """Of the inputs when the load workers have ended."""
        import pyarrow.parquet as pq

        ends: dict[str, dict[int, int]] = {}
        for stream in streams:
            if stream.role == "output":
                ends[stream.name] = {0: self._results(stream)}
                continue
            try:
                ends[stream.name] = {
                    place: pq.read_metadata(self._events(stream, place)).num_rows for place in range(stream.partitions)
                }
            except OSError as problem:
                raise EnvironmentProblem(
                    "a load worker has not written its records", where=self._directory, got=str(problem)
                ) from None
        return ends

    def visible_ends(self, stream: Stream) -> Mapping[int, int]:
        return {0: self._results(stream)}

    def hidden(self, stream: Stream) -> int:
        return 0

    def offsets_at(self, streams: Sequence[Stream], moment_ms: int) -> Mapping[str, Mapping[int, int]]:
        raise EnvironmentProblem("a run on queues cannot be evaluated in slices", got=_NO_SLICES)

    def trim(self, stream: Stream, below: Mapping[int, int]) -> None:
        raise EnvironmentProblem("a run on queues cannot be evaluated in slices", got=_NO_SLICES)

    def read(
        self,
        spark: SparkSession,
        stream: Stream,
        ends: Mapping[int, int],
        *,
        begins: Mapping[int, int] | None = None,
        headers: bool = False,
    ) -> DataFrame:
        from functools import reduce

        from pyspark.sql import functions as f

        def of_partition(rows: DataFrame, partition: int) -> DataFrame:
            return rows.withColumn("partition", f.lit(partition))

        if stream.role == "output":
            frames = [of_partition(spark.read.parquet(literal_path(self._directory / f"{stream.name}.parquet")), 0)]
        else:
            frames = [
                of_partition(self._stamped(spark, self._events(stream, place)), place)
                for place in range(stream.partitions)
            ]
        below = reduce(
            lambda one, other: one | other,
            ((f.col("partition") == place) & (f.col("offset") < end) for place, end in ends.items()),
        )
        return reduce(lambda one, other: one.unionByName(other), frames).where(below)

    def _stamped(self, spark: SparkSession, events: Path) -> DataFrame:
        """The records of a queue with the moment at which each was handed over first; null if it never was."""
        import pyarrow.parquet as pq

        from streamgauge.transports.queue.stamping import SCHEMA, stamp

        handed = pq.read_table(events.with_stem(f"{events.stem}-handed"))
        records = spark.read.parquet(literal_path(events)).select("value", "offset", "appended_ms")
        return records.mapInArrow(stamp(*(handed[name].to_numpy() for name in ("first", "count", "handed_ns"))), SCHEMA)

    def _events(self, stream: Stream, place: int) -> Path:
        return self._directory / f"{stream.name}-{place}.parquet"

    def _look(self, place: int, stream: Stream) -> wire.Ends:
        answer = self._ask(1 + place, stream.name, wire.REQUEST.pack(wire.LOOK, 0, 0), wire.ENDS.size)
        return wire.Ends(*wire.ENDS.unpack(answer))

    def _results(self, stream: Stream) -> int:
        answer = self._ask(0, stream.name, wire.LENGTH.pack(0), wire.COUNT.size)
        count: int = wire.COUNT.unpack(answer)[0]
        return count

    def _ask(self, port: int, stream: str, question: bytes, size: int) -> bytes:
        """Over a connection that is kept. Raises EnvironmentProblem."""
        key = port, stream
        with self._lock:
            try:
                if key not in self._connections:
                    self._connections[key] = wire.connect((LOOPBACK, self._ports[port]), stream, _ANSWER_S)
                self._connections[key].sendall(question)
                return bytes(wire.receive(self._connections[key], size))
            except (OSError, wire.Closed) as problem:
                if connection := self._connections.pop(key, None):
                    connection.close()
                raise EnvironmentProblem(
                    f"the {'queue' if port else 'collector'} of {stream} does not answer",
                    where=f"{LOOPBACK}:{self._ports[port]}",
                    got=str(problem) or "the connection was closed",
                ) from None
