"""Small child processes for the tests of the supervisor, and checks that they are gone."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

from streamgauge.model import ProcessSpec, Ready, Stop
from streamgauge.processes import proctable
from streamgauge.processes.proctable import Identity

DEADLINE_S = 60.0
PREAMBLE = """
import json, os, signal, subprocess, sys, time
def say(event, **fields): print(json.dumps({"event": event, **fields}), flush=True)
"""
ON_READY = Ready("event", "ready", DEADLINE_S)

UNTIL_STDIN_ENDS = "say('ready'); sys.stdin.read()"
IGNORES_SIGTERM = "signal.signal(signal.SIGTERM, signal.SIG_IGN); say('ready'); time.sleep(600)"
STUBBORN = """
signal.signal(signal.SIGTERM, lambda *_: say('asked'))
say('ready')
while True: signal.pause()
"""

FAMILY = """
def child(leave):
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        leave()
        os.write(ready, b"x")
        time.sleep(600)
    return pid
read, ready = os.pipe()
pids = [child(lambda: None), child(lambda: os.setpgid(0, 0)), child(os.setsid)]
for _ in pids: os.read(read, 1)
say('ready', pids=pids)
"""
"""Has a child in its process group, one in another group, and one in another session; all ignore SIGTERM."""


def python(code: str, role: str = "engine", **fields: Any) -> ProcessSpec:
    fields = {"group": "engine", "ready": ON_READY, "stop": Stop("terminate", DEADLINE_S), **fields}
    return ProcessSpec(role=role, argv=[sys.executable, "-c", PREAMBLE + code], **fields)


def identities(pids: list[int]) -> list[Identity]:
    known = [proctable.identity(pid) for pid in pids]
    assert None not in known
    return [identity for identity in known if identity is not None]


def all_gone(processes: list[Identity]) -> bool:
    return not any(proctable.is_alive(process) for process in processes)


def await_true(condition: Callable[[], bool]) -> None:
    """Fails instead of hanging if the condition does not become true."""
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "timed out"
        time.sleep(0.02)
