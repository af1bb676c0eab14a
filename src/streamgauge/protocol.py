"""The program's side of the protocol between the lab and its processes (docs/reference/protocol.md)."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Mapping
from typing import Any

Offsets = dict[str, dict[str, int]]
"""By the address of an input and its partition."""

_lock = threading.Lock()


def emit(event: str, **fields: Any) -> None:
    """Send an event to the lab: one JSON object on one line of stdout."""
    line = json.dumps({"event": event, **fields}, separators=(",", ":"))
    with _lock:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def emit_progress(offsets: Mapping[str, Mapping[str, int]]) -> None:
    """How many records of each partition of each input were consumed."""
    consumed = sum(offset for partitions in offsets.values() for offset in partitions.values())
    emit("progress", consumed=consumed, offsets=offsets)


def stop_on_sigterm() -> threading.Event:
    """An event that SIGTERM sets. SIGINT is ignored: the lab handles Ctrl-C."""
    asked_to_stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked_to_stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return asked_to_stop
