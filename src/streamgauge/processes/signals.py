"""Signals that ask the command line to end."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def signals_as_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP act like Ctrl-C; a signal that is already ignored (nohup) stays ignored."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    numbers = [n for n in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    with _handling(numbers, interrupt):
        yield


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Defers signals that would end this process until the block is done."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python delivers signals to the main thread only.
        return
    waiting: list[int] = []
    try:
        with _handling(_ENDING, lambda number, frame: waiting.append(number)):
            yield
    finally:
        if waiting:
            signal.raise_signal(waiting[0])


@contextlib.contextmanager
def _handling(numbers: Iterable[int], handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    previous = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in previous.items():
            signal.signal(number, former)
