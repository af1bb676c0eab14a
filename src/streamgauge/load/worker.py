"""The load worker, a process of its own: ``python -m streamgauge.load.worker SETTINGS.json``.

It says ``ready`` when the transport answers and the first records are prepared, waits for
``{"do":"start","at_ns":…}`` on stdin, sends its share of the plan, and says ``done``. ``{"do":"end","at_ns":…}`` cuts
the plan off at that moment. SIGTERM or the end of stdin make it stop at once (``stopped``); what has left is in the
ledger all the same.

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

from streamgauge import registry
from streamgauge.contracts import Sender
from streamgauge.errors import StreamgaugeError, UsageError
from streamgauge.load.ledger import Ledger
from streamgauge.load.pacer import MAX_SLICE, Pacer
from streamgauge.load.settings import Settings
from streamgauge.load.share import Share
from streamgauge.load.stock import Stock, block_size
from streamgauge.model import NS_PER_MS, NS_PER_S, QUEUE_RECORDS_MAX, QUEUE_S
from streamgauge.protocol import emit, stop_on_sigterm

ANSWER_S = 10.0
"""How long the transport may take to answer at the start."""
FINISH_S = 20.0
"""How long acknowledgements may take after the last record."""
STOP_S = 2.0
"""The same when the worker was told to stop early."""
WAIT_S = 0.005

PRIORITY = -5
"""Nice value that is asked for: three shares of the cores where others have one. More would starve the transport, which
has to take what is sent."""
AUTOGROUP = Path("/proc/self/autogroup")
"""Linux may divide the cores between sessions first: nice values then only count inside a session, and the session has
one of its own, here."""

_STDIN = 0

Commands = queue.SimpleQueue[bytes]


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


def send_share(
    share: Share,
    pacer: Pacer,
    stock: Stock,
    sender: Sender,
    ledger: Ledger,
    now_ns: Callable[[], int],
    commands: Commands,
    stop: threading.Event,
    *,
    unsettled_max: int | None = None,
) -> None:
    """Send every record of the share at its moment, or as soon after it as possible.

    ``unsettled_max`` is for a load without a schedule: it waits for the transport instead of overrunning it.
    """
    progress = Progress(ledger, now_ns)
    while not pacer.done and not stop.is_set():
        if pacer.idle_ns():
            stock.add()
            _wait(pacer, sender)
        if unsettled_max is not None and pacer.taken_records - ledger.settled_records > unsettled_max:
            sender.poll(WAIT_S)
            ledger.write()
            progress.tell(now_ns(), pacer.taken_records)
            continue
        first = share.n_seq(pacer.taken_records)
        records = pacer.take(min(MAX_SLICE, stock.reach(first)))
        if records:
            sequence = range(first, first + len(records))
            slice_ = stock.cut(sequence.stop)
            sent_ns = now_ns()
            sender.send(slice_, ledger.add(sequence, sent_ns).settle)
            progress.sent(sent_ns - pacer.due_ns(records.start) if share.plan.scheduled else 0)
        sender.poll()
        ledger.write()
        progress.tell(now_ns(), pacer.taken_records)
        if not commands.empty():
            pacer.end_at(_moment(commands.get(), "end"))


def _wait(pacer: Pacer, sender: Sender) -> None:
    """Sleep until the next slice. Acknowledgements wake the poll, so that they are stamped when they come."""
    while idle_ns := pacer.idle_ns():
        if idle_ns >= NS_PER_MS:
            sender.poll(idle_ns // NS_PER_MS / 1_000)
        else:
            time.sleep(idle_ns / NS_PER_S)


def run(settings: Settings, commands: Commands, stop: threading.Event) -> None:
    """Prepare, wait for the start, send, finish. Raises StreamgaugeError when that cannot be done."""
    # Before the client's threads are made, which inherit it.
    goes_first = _ask_for_priority()
    plan = settings.plan
    dataset = registry.dataset(settings.workload, settings.parameters, settings.seed, plan)
    transport = registry.transport(settings.transport).attach(settings.described)
    queue_records = min(plan.most_within(QUEUE_S + settings.pause_s), QUEUE_RECORDS_MAX) // settings.of
    sender = transport.sender(settings.streams, queue_records=queue_records)
    sender.connect(ANSWER_S)
    share = Share(plan, settings.index, settings.of, block_size(plan.busiest_per_s))
    stock = Stock(dataset, share)
    while stock.add():
        pass
    clock = FrozenClock()
    ledger = Ledger(settings.ledger, clock.now_ns)
    # Garbage collection would stop the sending; nothing below makes reference cycles.
    gc.freeze()
    gc.disable()
    emit("ready", goes_first=goes_first)
    try:
        at_ns = _await_start(commands, stop)
        clock.freeze()
        pacer = Pacer(share, at_ns, clock.now_ns)
        unsettled_max = None if plan.scheduled else queue_records // 2
        send_share(share, pacer, stock, sender, ledger, clock.now_ns, commands, stop, unsettled_max=unsettled_max)
        sender.finish(STOP_S if stop.is_set() else FINISH_S)
    finally:
        ledger.close()
    emit(
        "done" if pacer.done else "stopped",
        sent=pacer.taken_records,
        errors=ledger.errors,
        last_sent_ns=ledger.last_sent_ns,
    )


def _ask_for_priority() -> bool:
    """Be woken before the engine where both share the cores: a load from another machine would not wait for it either.

    Most systems grant that to their administrator only; others go without.
    """
    try:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
        if AUTOGROUP.exists() and os.getsid(0) == os.getpid():
            AUTOGROUP.write_text(str(PRIORITY))
    except OSError:
        return False
    return True


def _await_start(commands: Commands, stop: threading.Event) -> int:
    """The moment to start at; any, when told to stop instead."""
    while not stop.is_set():
        try:
            line = commands.get(timeout=0.1)
        except queue.Empty:
            continue
        return _moment(line, "start")
    return 0


def _moment(line: bytes, wanted: str) -> int:
    """The moment that a command names."""
    try:
        command = json.loads(line)
        if command["do"] == wanted:
            return int(command["at_ns"])
    except (ValueError, TypeError, KeyError):
        pass
    raise UsageError(
        "not a command of the load worker",
        got=line.decode(errors="replace"),
        expected=f'{{"do":"{wanted}","at_ns":…}}',
    )


def _read_commands(commands: Commands, stop: threading.Event) -> None:
    """Lines of stdin, until it ends. Not through sys.stdin: a thread that holds it would hang the exit."""
    rest = b""
    while chunk := os.read(_STDIN, 4096):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            commands.put(line)
    stop.set()


def main(arguments: list[str]) -> int:
    stop = stop_on_sigterm()
    commands: Commands = queue.SimpleQueue()
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
