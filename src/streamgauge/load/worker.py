"""The load worker process: ``python -m streamgauge.load.worker SETTINGS.json``.

It emits ``ready`` when the transport answers and the first records are built, waits for
``{"do":"start","at_ns":…}`` on stdin, sends its share of the plan, and emits ``done``. ``{"do":"end","at_ns":…}`` cuts
the plan off at that moment. SIGTERM or the end of stdin stops it at once (``stopped``); the ledger still covers what
was sent.

The schedule follows the monotonic clock. Its offset to the real-time clock is read once, at the start, and all
timestamps use it: a later step of the real-time clock shifts neither schedule nor timestamps. The lab, which watches
the clocks, marks such a run INVALID.
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
from streamgauge.load.buffer import RecordBuffer, block_size
from streamgauge.load.ledger import Ledger
from streamgauge.load.pacer import MAX_SLICE, Pacer
from streamgauge.load.settings import Settings
from streamgauge.load.share import Share
from streamgauge.model import NS_PER_MS, NS_PER_S, QUEUE_RECORDS_MAX, QUEUE_S
from streamgauge.protocol import emit, stop_on_sigterm

ANSWER_S = 10.0
"""Time limit for the transport to answer at the start."""
FINISH_S = 20.0
"""Time limit for acknowledgements after the last record."""
STOP_S = 2.0
"""The same after an early stop."""
WAIT_S = 0.005
LOOK_NS = 100 * NS_PER_MS
"""How often a worker that has nothing to send looks at its commands."""

PRIORITY = -5
"""Requested nice value: three times the CPU share of others. More would starve the transport, which has to accept the
load."""
AUTOGROUP = Path("/proc/self/autogroup")
"""Linux may divide the CPU between sessions first: nice values then only apply within a session, and this file holds
the session's own."""

_STDIN = 0

Commands = queue.SimpleQueue[bytes]


class FrozenClock:
    """Real time, extrapolated by the monotonic clock from one reading of both."""

    def __init__(self) -> None:
        self.freeze()

    def freeze(self) -> None:
        """Read both clocks; the tightest of five readings counts."""
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
    """Reports progress for the live view about once a second."""

    def __init__(self, ledger: Ledger, now_ns: Callable[[], int]) -> None:
        self._ledger = ledger
        self._next_ns = now_ns() + NS_PER_S
        self._late_max_ns = 0

    def sent(self, late_ns: int) -> None:
        self._late_max_ns = max(self._late_max_ns, late_ns)

    def report(self, now_ns: int, sent: int) -> None:
        if now_ns >= self._next_ns:
            self._next_ns = now_ns + NS_PER_S
            late_max_ms = round(self._late_max_ns / NS_PER_MS, 3)
            emit("progress", sent=sent, late_max_ms=late_max_ms, errors=self._ledger.errors)
            self._late_max_ns = 0


def send_share(
    share: Share,
    pacer: Pacer,
    buffer: RecordBuffer,
    sender: Sender,
    ledger: Ledger,
    now_ns: Callable[[], int],
    commands: Commands,
    stop: threading.Event,
    *,
    unsettled_max: int | None = None,
) -> None:
    """Send every record of the share when it is due, or as soon after that as possible.

    ``unsettled_max`` limits the records in flight of a load without a schedule, so that it does not overrun the
    transport.
    """
    progress = Progress(ledger, now_ns)
    while not pacer.done and not stop.is_set():
        if not commands.empty():
            pacer.end_at(_moment(commands.get(), "end"))
        if pacer.idle_ns():
            buffer.add()
            if not _wait(pacer, sender):
                ledger.write()
                progress.report(now_ns(), pacer.taken_records)
                continue
        if unsettled_max is not None and pacer.taken_records - ledger.settled_records > unsettled_max:
            sender.poll(WAIT_S)
            ledger.write()
            progress.report(now_ns(), pacer.taken_records)
            continue
        first = share.n_seq(pacer.taken_records)
        records = pacer.take(min(MAX_SLICE, buffer.reach(first)))
        if records:
            sequence = range(first, first + len(records))
            slice_ = buffer.cut(sequence.stop)
            sent_ns = now_ns()
            sender.send(slice_, ledger.add(sequence, sent_ns).settle)
            progress.sent(sent_ns - pacer.due_ns(records.start) if share.plan.scheduled else 0)
        sender.poll()
        ledger.write()
        progress.report(now_ns(), pacer.taken_records)


def _wait(pacer: Pacer, sender: Sender) -> bool:
    """Sleep until the next slice; returns whether it is due.

    Acknowledgements wake the poll, so they are timestamped on arrival. One of many workers at a low rate has nothing to
    send for half a minute, so it returns after a tenth of a second to look at its commands.
    """
    until_ns = time.monotonic_ns() + LOOK_NS
    while idle_ns := pacer.idle_ns():
        pause_ns = min(idle_ns, until_ns - time.monotonic_ns())
        if pause_ns <= 0:
            return False
        if pause_ns >= NS_PER_MS:
            sender.poll(pause_ns // NS_PER_MS / 1_000)
        else:
            time.sleep(pause_ns / NS_PER_S)
    return True


def run(settings: Settings, commands: Commands, stop: threading.Event) -> None:
    """Prepare, wait for the start, send, finish. Raises StreamgaugeError when that cannot be done."""
    # Before the client starts its threads, which inherit the priority.
    goes_first = _ask_for_priority()
    plan = settings.plan
    dataset = registry.dataset(settings.workload, settings.parameters, settings.seed, plan)
    transport = registry.transport(settings.transport).attach(settings.described)
    queue_records = min(plan.most_within(QUEUE_S + settings.pause_s), QUEUE_RECORDS_MAX) // settings.of
    sender = transport.sender(settings.streams, queue_records, settings.index)
    sender.connect(ANSWER_S)
    share = Share(plan, settings.index, settings.of, block_size(plan.busiest_per_s))
    buffer = RecordBuffer(dataset, share)
    while buffer.add():
        pass
    clock = FrozenClock()
    ledger = Ledger(settings.ledger, clock.now_ns, settings.part_s)
    # Garbage collection would pause sending; nothing below creates reference cycles.
    gc.freeze()
    gc.disable()
    emit("ready", goes_first=goes_first)
    try:
        at_ns = _await_start(commands, stop)
        clock.freeze()
        pacer = Pacer(share, at_ns, clock.now_ns)
        unsettled_max = None if plan.scheduled else queue_records // 2
        send_share(share, pacer, buffer, sender, ledger, clock.now_ns, commands, stop, unsettled_max=unsettled_max)
        sender.finish(STOP_S if stop.is_set() else FINISH_S)
    finally:
        ledger.close()
    emit(
        "done" if pacer.done else "stopped",
        sent=pacer.taken_records,
        errors=ledger.errors,
        last_sent_ns=ledger.last_sent_ns,
    )
    sender.serve(stop)


def _ask_for_priority() -> bool:
    """Get scheduled before the engine on shared cores: a load from another machine would not wait for it either.

    Most systems allow this for root only; returns whether it was granted.
    """
    try:
        os.setpriority(os.PRIO_PROCESS, 0, PRIORITY)
        if AUTOGROUP.exists() and os.getsid(0) == os.getpid():
            AUTOGROUP.write_text(str(PRIORITY))
    except OSError:
        return False
    return True


def _await_start(commands: Commands, stop: threading.Event) -> int:
    """The start time from the command; 0 if told to stop instead."""
    while not stop.is_set():
        try:
            line = commands.get(timeout=0.1)
        except queue.Empty:
            continue
        return _moment(line, "start")
    return 0


def _moment(line: bytes, wanted: str) -> int:
    """The time in a command."""
    try:
        command = json.loads(line)
        if command["do"] == wanted:
            return int(command["at_ns"])
    except (ValueError, TypeError, KeyError):
        pass
    raise UsageError(
        "invalid command for the load worker",
        got=line.decode(errors="replace"),
        expected=f'{{"do":"{wanted}","at_ns":…}}',
    )


def _read_commands(commands: Commands, stop: threading.Event) -> None:
    """Read lines until the end of stdin. Not through sys.stdin: a thread that holds it would block the exit."""
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
        # For example a full disk while writing the ledger.
        emit("failed", message=f"{problem.strerror}: {problem.filename or 'the ledger'}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
