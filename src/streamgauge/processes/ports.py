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
    """Distinct free ports of 127.0.0.1. A process never gets the same port twice."""
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
    """Raises PortTaken if the logs show that a process failed to start because its port was in use."""
    if port := refused_port((run.log(spec.role) for spec in processes), ports):
        raise PortTaken(
            "a port of this run is in use by another program",
            where=f"127.0.0.1:{port}",
            got=f"{problem.what}: cannot bind the port",
            hint="run the same command again",
            log_tail=problem.log_tail,
        ) from None


def refused_port(logs: Iterable[Path], ports: Iterable[int]) -> int | None:
    """The port that a process could not bind according to its log; None if no log mentions one.

    A port is free when it is chosen, but another program may take it before the process starts.
    """
    numbers = "|".join(map(str, ports))
    # "failed to bind to 127.0.0.1:PORT", "BindException: Could not start … in port range PORT".
    bind_failure = re.compile(rf"bind.*\b({numbers})\b".encode(), re.IGNORECASE)
    for log in logs if numbers else ():
        if log.is_file() and (match := bind_failure.search(log.read_bytes())):
            return int(match[1])
    return None
