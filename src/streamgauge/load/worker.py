"""The load worker, a process of its own: ``python -m streamgauge.load.worker SETTINGS.json``.

It says ``ready`` when the transport answers and the first records are prepared, waits for
``{"do":"start","at_ns":…}`` on stdin, sends the plan, and says ``done``. SIGTERM or the end of stdin make it
stop early (``stopped``); what has left is in the ledger all the same.

The schedule is kept by the monotonic clock. Where the real-time clock stood against it is read once, at the
start, and all stamps are in that frame: a step of the real-time clock later on shifts neither schedule nor
stamps. The lab, which watches the clocks, makes such a run invalid.
"""

from __future__ import annotations

import gc
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from streamgauge import datasets, registry
from streamgauge.contracts import Sender
from streamgauge.errors import StreamgaugeError, UsageError
from streamgauge.load.ledger import Ledger
from streamgauge.load.pacer import MAX_SLICE, Pacer
from streamgauge.load.settings import Settings
from streamgauge.load.stock import Stock, block_size
from streamgauge.model import NS_PER_MS, NS_PER_S, QUEUE_RECORDS_MAX
from streamgauge.protocol import emit, stop_on_sigterm

ANSWER_S = 10.0
"""How long the transport may take to answer at the start."""
FINISH_S = 20.0
"""How long acknowledgements may take after the last record."""
STOP_S = 2.0
"""The same when the worker was told to stop early."""
PAUSE_S = 10.0
"""The client's queue holds this much load, for a transport that stalls, up to what memory allows."""

_STDIN = 0


class FrozenClock:
    """Real time, carried on by the monotonic clock from one reading of both."""

    def __init__(self) -> None:
        self.freeze()

    def freeze(self) -> None:
        """Read both clocks, the tightest of five."""
        readings = []
        for _ in range(5):
            before = time.monotonic_ns()
            real = time.time_ns()
            after = time.monotonic_ns()
            readings.append((after - before, real - (before + after) // 2))
        self._offset_ns = min(readings)[1]

    def now_ns(self) -> int:
        return time.monotonic_ns() + self._offset_ns


class Progress:
    """Tells the live view about once a second how far the load is."""

    def __init__(self, ledger: Ledger, now_ns: Callable[[], int]) -> None:
        self._ledger = ledger
        self._next_ns = now_ns() + NS_PER_S
        self._late_max_ns = 0

    def sent(self, late_ns: int) -> None:
        self._late_max_ns = max(self._late_max_ns, late_ns)

    def tell(self, now_ns: int, sent: int) -> None:
        if now_ns >= self._next_ns:
            self._next_ns = now_ns + NS_PER_S
            late_max_ms = round(self._late_max_ns / NS_PER_MS, 3)
            emit("progress", sent=sent, late_max_ms=late_max_ms, errors=self._ledger.errors)
            self._late_max_ns = 0


def send_plan(
    pacer: Pacer,
    stock: Stock,
    sender: Sender,
    ledger: Ledger,
    now_ns: Callable[[], int],
    stop: threading.Event,
) -> None:
    """Send every record of the plan at its moment, or as soon after it as possible."""
    progress = Progress(ledger, now_ns)
    while not pacer.done and not stop.is_set():
        if pacer.idle_ns():
            stock.add()
            _wait(pacer, sender)
        taken = pacer.take(min(MAX_SLICE, stock.reach(pacer.taken)))
        if taken:
            slice_ = stock.cut(taken.stop)
            sent_ns = now_ns()
            sender.send(slice_, ledger.add(taken, sent_ns).settle)
            progress.sent(sent_ns - pacer.due_ns(taken.start))
        sender.poll()
        ledger.write()
        progress.tell(now_ns(), pacer.taken)


def _wait(pacer: Pacer, sender: Sender) -> None:
    """Sleep until the next slice. Acknowledgements wake the poll, so that they are stamped when they come."""
    while idle_ns := pacer.idle_ns():
        if idle_ns >= NS_PER_MS:
            sender.poll(idle_ns // NS_PER_MS / 1_000)
        else:
            time.sleep(idle_ns / NS_PER_S)


def run(settings: Settings, commands: queue.SimpleQueue[bytes], stop: threading.Event) -> None:
    """Prepare, wait for the start, send, finish. Raises StreamgaugeError when that cannot be done."""
    plan = settings.plan
    dataset = datasets.make(settings.dataset, settings.seed, settings.dataset_rate_per_s)
    transport = registry.transport(settings.transport).attach(settings.described)
    sender = transport.sender(settings.streams, queue_records=min(round(plan.rate_per_s * PAUSE_S), QUEUE_RECORDS_MAX))
    sender.connect(ANSWER_S)
    stock = Stock(dataset, plan.records, block_size(plan.rate_per_s))
    while stock.add():
        pass
    clock = FrozenClock()
    ledger = Ledger(settings.ledger, clock.now_ns)
    # Garbage collection would stop the sending; nothing below makes reference cycles.
    gc.freeze()
    gc.disable()
    emit("ready")
    try:
        at_ns = _await_start(commands, stop)
        clock.freeze()
        pacer = Pacer(plan, at_ns, clock.now_ns)
        send_plan(pacer, stock, sender, ledger, clock.now_ns, stop)
        sender.finish(STOP_S if stop.is_set() else FINISH_S)
    finally:
        ledger.close()
    emit("done" if pacer.done else "stopped", sent=pacer.taken, errors=ledger.errors)


def _await_start(commands: queue.SimpleQueue[bytes], stop: threading.Event) -> int:
    """The moment to start at; any, when told to stop instead."""
    while not stop.is_set():
        try:
            line = commands.get(timeout=0.1)
        except queue.Empty:
            continue
        try:
            command = json.loads(line)
            if command["do"] == "start":
                return int(command["at_ns"])
        except (ValueError, TypeError, KeyError):
            pass
        raise UsageError(
            "not a command of the load worker",
            got=line.decode(errors="replace"),
            expected='{"do":"start","at_ns":…}',
        )
    return 0


def _read_commands(commands: queue.SimpleQueue[bytes], stop: threading.Event) -> None:
    """Lines of stdin, until it ends. Not through sys.stdin: a thread that holds it would hang the exit."""
    rest = b""
    while chunk := os.read(_STDIN, 4096):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            commands.put(line)
    stop.set()


def main(arguments: list[str]) -> int:
    stop = stop_on_sigterm()
    commands: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    try:
        if len(arguments) != 1:
            raise UsageError("the load worker takes one argument", got=" ".join(arguments), expected="SETTINGS.json")
        settings = Settings.read(Path(arguments[0]))
        threading.Thread(target=_read_commands, args=(commands, stop), daemon=True).start()
        run(settings, commands, stop)
    except StreamgaugeError as problem:
        emit("failed", message=problem.message())
        return 1
    except OSError as problem:
        # A full disk under the ledger, say.
        emit("failed", message=f"{problem.strerror}: {problem.filename or 'the ledger'}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
