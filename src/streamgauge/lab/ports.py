"""Free TCP ports of the loopback interface."""

from __future__ import annotations

import socket

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
