"""Spark on transport *queue*: a streaming source and sink in Python, on Arrow batches.

A task reads its range of offsets, and sends its results, over a connection that the tasks before it in the same Python
process have used: opened for each task, it would be gone before anybody has seen what it carried. What a batch has read
is acknowledged when Spark plans the next one.
"""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)

from streamgauge import queue_protocol as wire

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

FORMAT = "streamgauge-queue"
_ANSWER_S = 30.0
_FETCH_RECORDS = 100_000
_FRAME_BYTES = 1_000_000

Layout = Sequence[tuple[str, str]]
"""Name and numpy type of each field of a record."""


def read(spark: SparkSession, job: Mapping[str, Any], stream: str, layout: Layout, schema: str) -> DataFrame:
    """The fields in the schema of the records of a stream."""
    spark.dataSource.register(QueueSource)
    return (
        spark.readStream.format(FORMAT)
        .schema(schema)
        .option("queues", job["endpoints"]["queues"])
        .option("stream", stream)
        .option("layout", json.dumps(layout))
        .option("most", job["options"]["batch_records"])
        .load()
    )


def write(writer: DataStreamWriter, job: Mapping[str, Any]) -> DataStreamWriter:
    """Keys and values go to the collector."""
    [stream] = job["outputs"]
    return writer.format(FORMAT).option("collector", job["endpoints"]["collector"]).option("stream", stream)


class QueueSource(DataSource):  # type: ignore[misc]
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def streamReader(self, schema: StructType) -> Reader:
        return Reader(dict(self.options), schema.names)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Writer:
        return Writer(dict(self.options))


class Range(InputPartition):  # type: ignore[misc]
    """Records of one queue."""

    def __init__(self, place: int, start: int, end: int) -> None:
        self.place, self.start, self.end = place, start, end


class Reader(DataSourceStreamReader):  # type: ignore[misc]
    """An offset is the number of records of each queue, by its place."""

    def __init__(self, options: Mapping[str, str], names: Sequence[str]) -> None:
        self._queues = options["queues"].split(",")
        self._stream = options["stream"]
        self._layout = [(name, kind) for name, kind in json.loads(options["layout"])]
        self._names = list(names)
        most = int(options["most"])
        self._most = max(most // len(self._queues), 1) if most else 0
        self._planning: dict[int, socket.socket] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_planning": {}}

    def initialOffset(self) -> dict[str, int]:
        return {str(place): 0 for place in range(len(self._queues))}

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        ends = {}
        for place, begin in start.items():
            connection = self._connection(int(place))
            connection.sendall(wire.REQUEST.pack(wire.LOOK, 0, 0))
            end = wire.ENDS.unpack(wire.receive(connection, wire.ENDS.size))[2]
            ends[place] = min(end, begin + self._most) if self._most else end
        return ends

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[InputPartition]:
        return [Range(int(place), start[place], last) for place, last in end.items() if last > start[place]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        import numpy as np
        import pyarrow as pa

        assert isinstance(partition, Range)
        record = np.dtype(self._layout)
        with _borrowed(self._queues[partition.place], self._stream) as connection:
            offset = partition.start
            while offset < partition.end:
                most = min(_FETCH_RECORDS, partition.end - offset)
                connection.sendall(wire.REQUEST.pack(wire.FETCH, most, offset))
                _, count, gone = wire.ANSWER.unpack(wire.receive(connection, wire.ANSWER.size))
                if gone:
                    raise RuntimeError(f"records from {offset} on are gone from the queue of {self._stream}")
                offset += count
                fields = np.frombuffer(wire.receive(connection, count * record.itemsize), record)
                columns = [_column(np.ascontiguousarray(fields[name])) for name in self._names]
                yield pa.RecordBatch.from_arrays(columns, self._names)

    def commit(self, end: dict[str, int]) -> None:
        for place, offset in end.items():
            self._connection(int(place)).sendall(wire.REQUEST.pack(wire.ACKNOWLEDGE, 0, offset))

    def _connection(self, place: int) -> socket.socket:
        """Of the process that plans batches, which lives as long as the query."""
        if place not in self._planning:
            self._planning[place] = _connected(self._queues[place], self._stream)
        return self._planning[place]


class Writer(DataSourceStreamArrowWriter):  # type: ignore[misc]
    """Sends results in frames, and waits until the collector has each of them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._collector, self._stream = options["collector"], options["stream"]

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        with _borrowed(self._collector, self._stream) as connection:
            frame: list[bytes] = []
            size = 0
            for batch in iterator:
                keys, values = (batch.column(name).cast("binary").to_pylist() for name in ("key", "value"))
                for key, value in zip(keys, values, strict=True):
                    frame += (wire.RESULT.pack(len(key), len(value)), key, value)
                    size += wire.RESULT.size + len(key) + len(value)
                    if size >= _FRAME_BYTES:
                        _push(connection, frame, size)
                        frame, size = [], 0
            if frame:
                _push(connection, frame, size)
        return WriterCommitMessage()

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """Each task has already been answered."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:
        """What was sent stays: a batch that is repeated has duplicates."""


def _column(values: np.ndarray) -> pa.Array:
    """Numbers, or bytes."""
    import pyarrow as pa

    if values.dtype.kind != "V":
        return pa.array(values)
    fixed = pa.binary(values.dtype.itemsize)
    return pa.Array.from_buffers(fixed, len(values), [None, pa.py_buffer(values)]).cast(pa.binary())


_idle: dict[tuple[str, str], list[socket.socket]] = {}
"""Of this process, by address and stream: connections over which everything asked for has arrived."""


@contextlib.contextmanager
def _borrowed(address: str, stream: str) -> Iterator[socket.socket]:
    """A connection for one task. One that failed, or that a task gave up on, is not used again."""
    idle = _idle.setdefault((address, stream), [])
    connection = idle.pop() if idle else _connected(address, stream)
    try:
        yield connection
    except BaseException:
        connection.close()
        raise
    idle.append(connection)


def _connected(address: str, stream: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return wire.connect((host, int(port)), stream, _ANSWER_S)


def _push(connection: socket.socket, frame: Sequence[bytes], size: int) -> None:
    connection.sendall(wire.LENGTH.pack(size) + b"".join(frame))
    wire.receive(connection, wire.COUNT.size)
