"""A generator's side: puts records into its queues, which its engine's readers empty."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from streamgauge.contracts import Records
from streamgauge.errors import EnvironmentProblem
from streamgauge.packed import Packed
from streamgauge.transports.queue.events import EventQueue
from streamgauge.transports.queue.files import events_file, handed_file
from streamgauge.transports.queue.listener import LOOPBACK
from streamgauge.transports.queue.server import GONE_S, QueueServer

_LOOK_S = 0.1


class QueueSender:
    """Implements contracts.Sender.

    ``widths`` are the bytes of a record, by stream. When more than ``bound`` records wait, or a reader does not come
    back, ``give_out`` is called, once, with the reason: the run is then to be ended. The files are
    ``STREAM-PARTITION.parquet`` and ``STREAM-PARTITION-handed.parquet`` in ``directory``.
    """

    def __init__(
        self,
        widths: Mapping[str, int],
        port: int,
        directory: Path,
        partition: int,
        bound: int,
        give_out: Callable[[str], None],
    ) -> None:
        self._port, self._bound, self._give_out = port, bound, give_out
        self._gave_out = False
        self._looked_s = 0.0
        self._server: QueueServer | None = None
        self._events = {
            name: events_file(directory / f"{name}-{partition}.parquet", width) for name, width in widths.items()
        }
        handed = {name: handed_file(directory / f"{name}-{partition}-handed.parquet") for name in widths}
        self._queues = {
            name: EventQueue(width, lambda *item, file=handed[name]: file.add(item, 1))
            for name, width in widths.items()
        }
        self._files = [*self._events.values(), *handed.values()]

    def connect(self, timeout_s: float) -> None:
        """Readers can connect from now on. Raises EnvironmentProblem when the port is taken."""
        try:
            self._server = QueueServer(self._queues, self._port)
        except OSError as problem:
            raise EnvironmentProblem(
                "the queue cannot listen",
                where=f"{LOOPBACK}:{self._port}",
                got=problem.strerror,
                expected="a free port",
            ) from None

    def send(self, slice_: Mapping[str, Records], settled: Callable[[int], None]) -> None:
        """See Sender.send. A record is settled when it is in the queue."""
        for stream, records in slice_.items():
            values = records.values
            self._put(stream, values.memory if isinstance(values, Packed) else memoryview(b"".join(values)))
        settled(0)

    def poll(self, timeout_s: float = 0.0) -> None:
        """Wait, and look whether the readers are still there."""
        if timeout_s:
            time.sleep(timeout_s)
        self._look()

    def finish(self, timeout_s: float) -> None:
        """Everything is settled at once."""

    def serve(self, stop: threading.Event) -> None:
        """Serve what is left until told to stop, then complete the files. Raises OSError if that fails."""
        while not stop.wait(_LOOK_S):
            self._look()
        assert self._server is not None
        self._server.close()
        for file in self._files:
            file.close()

    def _put(self, stream: str, records: memoryview) -> None:
        queue = self._queues[stream]
        first, at_ns = queue.ends.end, time.time_ns()
        queue.put(records)
        self._events[stream].add((first, records, at_ns), len(records) // queue.width)
        waiting = sum(one.waiting for one in self._queues.values())
        if waiting > self._bound:
            self._report(f"the queues overflowed: {waiting:,} records waited, more than {self._bound:,}")

    def _look(self) -> None:
        now_s = time.monotonic()
        if self._server is not None and now_s - self._looked_s >= _LOOK_S:
            self._looked_s = now_s
            if stream := self._server.dropped():
                self._report(f"a reader of {stream} dropped its connection and was gone for {GONE_S:g} s")

    def _report(self, reason: str) -> None:
        if not self._gave_out:
            self._gave_out = True
            self._give_out(reason)
