"""The program's side of the protocol between the lab and its processes (docs/reference/protocol.md)."""

from __future__ import annotations

import json
import signal
import sys
import threading
from typing import Any

_lock = threading.Lock()


def emit(event: str, **fields: Any) -> None:
    """Send an event to the lab: one JSON object on one line of stdout."""
    line = json.dumps({"event": event, **fields}, separators=(",", ":"))
    with _lock:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def stop_on_sigterm() -> threading.Event:
    """An event that SIGTERM sets. SIGINT is ignored: the lab handles Ctrl-C."""
    asked_to_stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: asked_to_stop.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return asked_to_stop
