"""Free TCP ports of the loopback interface."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable
from pathlib import Path

from streamgauge.errors import PortTaken, StreamgaugeError
from streamgauge.model import ProcessSpec
from streamgauge.rundir import RunDir

_handed_out: set[int] = set()


def free_ports(count: int) -> tuple[int, ...]:
    """Different ports of 127.0.0.1 that nobody listens on. This process never gets one of them twice."""
    return tuple(free_port() for _ in range(count))


def free_port() -> int:
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        if port not in _handed_out:
            _handed_out.add(port)
            return port


def check_bound(run: RunDir, processes: Iterable[ProcessSpec], ports: Iterable[int], problem: StreamgaugeError) -> None:
    """Raises PortTaken where their logs say that this is why a process did not start: not its own failure."""
    if port := refused_port((run.log(spec.role) for spec in processes), ports):
        raise PortTaken(
            "another program took a port of this run",
            where=f"127.0.0.1:{port}",
            got=f"{problem.what}: it could not bind the port",
            hint="the same command again",
            log_tail=problem.log_tail,
        ) from None


def refused_port(logs: Iterable[Path], ports: Iterable[int]) -> int | None:
    """The port among these that a process could not bind, as one of the logs says; None when no log does.

    A port is free when it is chosen, but another program may take it before the process that it was chosen for.
    """
    numbers = "|".join(map(str, ports))
    # "failed to bind to 127.0.0.1:PORT", "BindException: Could not start … in port range PORT".
    bind_failure = re.compile(rf"bind.*\b({numbers})\b".encode(), re.IGNORECASE)
    for log in logs if numbers else ():
        if log.is_file() and (match := bind_failure.search(log.read_bytes())):
            return int(match[1])
    return None
